package sched

import (
	"iter"
	"math"
	"time"
)

// sums are of accounts that share something. Use is in whole milliseconds, so that
// the order of adding does not matter.
type sums struct{ share, used int64 }

func (s *sums) add(a *Account) {
	s.share += a.weight()
	s.used += a.used
}

// weight is the account's part among those it shares with.
func (a *Account) weight() int64 { return int64(max(a.Share, 1)) }

// evenPart is of what part of a half-life all are taken to have used the whole machine
// besides, each as much as it is entitled to, so that little use decides little: an hour of
// a week.
const evenPart = 1.0 / (7 * 24)

// excess is how much more than its part the account has had of what all in the sum had,
// as a share of that part: -1 where it had nothing, 0 where it had its part.
func (s *sums) excess(a *Account, even float64) float64 {
	entitled := float64(a.weight()) / float64(s.share)
	return (float64(a.used)+even*entitled)/(float64(s.used)+even)/entitled - 1
}

// maxExponent keeps the factor far from the end of floating point.
const maxExponent = 64

// active are the accounts of users who wait or run something, some more than once.
func (p *pass) active() iter.Seq[*Account] {
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

// beginAccounts computes what has been used by those who are active and their groups, and
// what follows from it.
func (p *pass) beginAccounts() {
	for a := range p.active() {
		a.entered = false
		for _, g := range a.Groups {
			g.entered = false
		}
	}
	top := sums{}
	for a := range p.active() {
		p.enter(a, &top)
	}
	even := float64(max(1, len(p.s.GPUs))) * float64(p.s.Policy.HalfLife) / float64(time.Millisecond) * evenPart
	for a := range p.active() {
		a.factor, a.unbounded = 1, a.isUnbounded()
		if p.s.Policy.HalfLife > 0 {
			a.factor = math.Exp2(-min(a.exponent(&top, even), maxExponent))
		}
	}
}

// enter counts an active user among those it shares with: the other members of its groups
// that have a share, or all users in no such group and those groups.
func (p *pass) enter(a *Account, top *sums) {
	if a.entered {
		return
	}
	a.beginPass(p.s.Now, p.s.Policy.HalfLife)
	alone := true
	for _, g := range a.Groups {
		first := !g.entered
		if first {
			g.beginPass(p.s.Now, p.s.Policy.HalfLife)
		}
		if g.Share <= 0 {
			continue
		}
		alone = false
		if g.within.add(a); first {
			top.add(g)
		}
	}
	if alone {
		top.add(a)
	}
}

// beginPass finds what the account has used by now.
func (a *Account) beginPass(now Instant, half time.Duration) {
	a.beginCounts()
	a.entered, a.over, a.failedShapes = true, false, 0
	a.place, a.heldSizes = quotaPlace{}, 0
	a.gpuJobOpen, a.cpuJobOpen = false, false
	a.used, a.within = 0, sums{}
	if half > 0 {
		a.used = int64(a.Used(now, half) / time.Millisecond)
		a.over = a.MaxUsage > 0 && a.GPUTime(now, half) >= a.MaxUsage
	}
}

// beginCounts forgets what a pass gave out.
func (a *Account) beginCounts() { a.newJobs, a.newMilli, a.newHost = 0, 0, hostShare{} }

// exponent is the excess of a user, or the mean over its groups that have a share of the group's
// and its own within it.
func (a *Account) exponent(top *sums, even float64) float64 {
	sum, n := 0.0, 0.0
	for _, g := range a.Groups {
		if g.Share > 0 {
			sum += top.excess(g, even) + g.within.excess(a, even)
			n++
		}
	}
	if n == 0 {
		return top.excess(a, even)
	}
	return sum / n
}
