package sched

import (
	"math"
	"slices"
	"time"
)

// activeUsers returns each user with waiting or running jobs, once.
func activeUsers(s *Snapshot, waiting []*Waiting) []*Account {
	var users []*Account
	add := func(a *Account) {
		if !slices.Contains(users, a) {
			users = append(users, a)
		}
	}
	for _, w := range waiting {
		add(w.Account)
	}
	for _, x := range s.Running {
		add(x.Account)
	}
	return users
}

// factor returns a user's fair-share factor. It is 2^-x, where x is the amount by which the user's
// use is above the user's part, relative to that part.
func (r *reference) factor(a *Account) float64 {
	if r.s.Policy.HalfLife <= 0 {
		return 1
	}
	var top []*Account
	members := map[*Account][]*Account{}
	for _, u := range r.users {
		shared := withShare(u)
		for _, g := range shared {
			if members[g] == nil {
				top = append(top, g)
			}
			members[g] = append(members[g], u)
		}
		if len(shared) == 0 {
			top = append(top, u)
		}
	}
	shared := withShare(a)
	if len(shared) == 0 {
		return math.Exp2(-min(64, r.exponent(a, top)))
	}
	sum := 0.0
	for _, g := range shared {
		sum += r.exponent(g, top) + r.exponent(a, members[g])
	}
	return math.Exp2(-min(64, sum/float64(len(shared))))
}

func withShare(a *Account) []*Account {
	return slices.DeleteFunc(slices.Clone(a.Groups), func(g *Account) bool { return g.Share < 1 })
}

// exponent returns an account's excess. If the excess is above that of each waiting account with a
// larger share, the account is set back.
func (r *reference) exponent(a *Account, among []*Account) float64 {
	own, highest, largest := r.excess(a, among), -1.0, 0
	for _, o := range among {
		waits := slices.ContainsFunc(r.waiting, func(w *Waiting) bool { return w.Account == o || slices.Contains(w.Account.Groups, o) })
		if waits && o.Share > max(1, a.Share) {
			highest, largest = max(highest, r.excess(o, among)), max(largest, o.Share)
		}
	}
	if largest == 0 || highest >= own {
		return own
	}
	limit := 2 * math.Log2(float64(largest)/float64(max(1, a.Share))) * min(1, 1+highest)
	return own + min(32*(own-highest), limit)
}

// excess returns by how much an account's use is above its part of the use of the listed accounts.
func (r *reference) excess(a *Account, among []*Account) float64 {
	used := func(a *Account) float64 { return float64(a.Used(r.s.Now, r.s.Policy.HalfLife) / time.Millisecond) }
	shares, all := 0, 0.0
	for _, x := range among {
		shares += max(1, x.Share)
		all += used(x)
	}
	hour := math.Max(1, float64(len(r.s.GPUs))) * float64(r.s.Policy.HalfLife/time.Millisecond) * (1.0 / 168)
	part := float64(max(1, a.Share)) / float64(shares)
	return (used(a)+hour*part)/(all+hour)/part - 1
}

// refMeasure returns the run time that is the divisor of a job's wait in the job's score.
func refMeasure(w *Waiting) time.Duration {
	if !(w.Request.Preemptible || w.Parks || w.Returns) || w.Effort == 0 {
		return powerOfTwo(w.Expected)
	}
	for step := time.Second; ; step *= 2 {
		for _, d := range []time.Duration{step * 3 / 4, step} {
			if d >= w.Effort {
				return d
			}
		}
	}
}
