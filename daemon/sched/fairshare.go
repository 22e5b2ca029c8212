package sched

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"
)

// totals describes accounts that compete with each other. The sum of their use is in whole
// milliseconds, so that it does not depend on the order of the accounts.
type totals struct {
	share, used int64
	larger      []rival // those with waiting jobs and a share above the smallest possible one
	ordered     bool    // see order
}

// rival is an account that may set others back.
type rival struct {
	*Account
	highest float64 // the highest excess of this account and those before it, once they are in order
}

func (s *totals) add(a *Account, waits bool) {
	s.share += a.weight()
	s.used += a.used
	if waits && a.weight() > 1 {
		s.larger = append(s.larger, rival{Account: a})
	}
}

func (s *totals) clear() { *s = totals{larger: s.larger[:0]} }

// weight returns the account's share, as its weight in a comparison with other accounts.
func (a *Account) weight() int64 { return int64(max(a.Share, 1)) }

// evenPart dampens small amounts of use. Each account is treated as if, in addition, it had used
// its fair part of the whole machine for this fraction of a half-life. With a half-life of a week,
// that is an hour.
const evenPart = 1.0 / (7 * 24)

// excessUse returns by how much the account's use is above its fair part of the sum, relative to
// that part: -1 if the account used nothing, 0 if it used exactly its part.
func (s *totals) excessUse(a *Account, even float64) float64 {
	entitled := float64(a.weight()) / float64(s.share)
	return (float64(a.used)+even*entitled)/(float64(s.used)+even)/entitled - 1
}

// An account is set back by setBackGain times what its excess is above that of the others. The
// ratio of the shares to the power of setBackPower limits the result.
const (
	setBackGain  = 32
	setBackPower = 2
)

// exponent returns the account's excess. While accounts with larger shares have jobs waiting, an
// account whose excess is above that of each of them is set back, which makes the exponent higher.
// The limit is lower if none of the others has had its fair part: they may not want it.
func (s *totals) exponent(a *Account, even float64) float64 {
	s.order(even)
	own := s.excessUse(a, even)
	n, _ := slices.BinarySearchFunc(s.larger, a.weight(), func(o rival, w int64) int { return cmp.Compare(w, o.weight()) })
	if n == 0 || s.larger[n-1].highest >= own {
		return own
	}
	highest, share := s.larger[n-1].highest, s.larger[0].weight()
	limit := setBackPower * math.Log2(float64(share)/float64(a.weight())) * min(1, 1+highest)
	return own + min(setBackGain*(own-highest), limit)
}

// order puts the accounts with larger shares in the order of their shares, the largest first. So an
// account is not compared with each of the others.
func (s *totals) order(even float64) {
	if s.ordered {
		return
	}
	s.ordered = true
	slices.SortFunc(s.larger, func(x, y rival) int { return cmp.Compare(y.weight(), x.weight()) })
	highest := -1.0
	for i := range s.larger {
		highest = max(highest, s.excessUse(s.larger[i].Account, even))
		s.larger[i].highest = highest
	}
}

// maxExponent keeps the factor within the range of floating-point numbers.
const maxExponent = 64

// yieldActive yields the users with waiting or running jobs, some more than once.
func (p *pass) yieldActive() iter.Seq[*Account] {
	return func(yield func(*Account) bool) {
		for a := range p.q.accounts {
			if !yield(a) {
				return
			}
		}
		for i := range p.s.Running {
			if !yield(p.s.Running[i].Account) {
				return
			}
		}
	}
}

// beginAccounts computes what the active users and their groups have used. From that it computes
// the users' factors.
func (p *pass) beginAccounts() {
	for a := range p.yieldActive() {
		a.entered = false
		for _, g := range a.Groups {
			g.entered = false
		}
	}
	top := &p.top
	top.clear()
	for a := range p.yieldActive() {
		p.enter(a, top)
	}
	even := float64(max(1, len(p.s.GPUs))) * float64(p.s.Policy.HalfLife) / float64(time.Millisecond) * evenPart
	for a := range p.yieldActive() {
		a.factor, a.unbounded = 1, a.isUnbounded()
		if p.s.Policy.HalfLife > 0 {
			a.factor = math.Exp2(-min(a.exponent(top, even), maxExponent))
		}
	}
}

// enter adds an active user to the sum of each of the user's groups that has a share, and adds each
// such group once to the top sum. If the user has no such group, enter adds the user to the top
// sum.
func (p *pass) enter(a *Account, top *totals) {
	if a.entered {
		return
	}
	a.beginPass(p.s.Now, p.s.Policy.HalfLife)
	alone, waits := true, p.q.accounts[a] > 0
	for _, g := range a.Groups {
		first := !g.entered
		if first {
			g.beginPass(p.s.Now, p.s.Policy.HalfLife)
		}
		if g.Share <= 0 {
			continue
		}
		alone = false
		if g.within.add(a, waits); first {
			top.add(g, waits)
		}
	}
	if alone {
		top.add(a, waits)
	}
}

// beginPass resets what an earlier pass noted about the account, and computes what the account has
// used by now.
func (a *Account) beginPass(now Instant, half time.Duration) {
	a.beginCounts()
	a.entered, a.over, a.failedShapes = true, false, 0
	a.place, a.heldSizes = quotaPlace{}, 0
	a.gpuJobOpen, a.cpuJobOpen = false, false
	a.used = 0
	a.within.clear()
	if half > 0 {
		a.used = int64(a.Used(now, half) / time.Millisecond)
		a.over = a.MaxUsage > 0 && a.GPUTime(now, half) >= a.MaxUsage
	}
}

func (a *Account) beginCounts() { a.newJobs, a.newMilli, a.newHost = 0, 0, hostShare{} }

// exponent returns the user's excess. A user may be in groups with a share. For each of these
// groups, the group's own excess and the user's excess within the group are added, and exponent
// returns the mean of these sums.
func (a *Account) exponent(top *totals, even float64) float64 {
	sum, n := 0.0, 0.0
	for _, g := range a.Groups {
		if g.Share > 0 {
			sum += top.exponent(g, even) + g.within.exponent(a, even)
			n++
		}
	}
	if n == 0 {
		return top.exponent(a, even)
	}
	return sum / n
}
