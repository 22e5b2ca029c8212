package sched

import (
	"math"
	"slices"
	"time"
)

// Account is a user or a group: what it runs, what it has used and what it may
// have. Whoever makes it keeps the counts of what runs up to date by Start and
// Finish.
type Account struct {
	UID    int    // -1 for a group
	Name   string // for people
	Groups []*Account

	MaxMilli int           // of running jobs; 0: no bound
	MaxJobs  int           // running; 0: no bound
	MaxUsage time.Duration // of decayed GPU time; 0: no bound
	Share    int           // weight in fair share; 0 is 1 for a user, and for a group none: it does not count

	Jobs  int // running
	Milli int // of running jobs

	usage usage

	excess float64 // of this pass: use in shares of the machine
	factor float64 // of this pass
	newJobs,
	newMilli int // given out by this pass
	over bool // its GPU time is used up
}

// usage is decayed GPU time in GPU-nanoseconds: that of jobs that have ended,
// and, in closed form, that of those which run. With decay d(t) = 2^(-t/H) a
// job of rate r that runs since s has used r·(H/ln 2)·(1 - d(now-s)) by now:
// debt is the sum of r·d(now-s).
type usage struct {
	at         Instant
	done, debt float64
	rate       float64
}

// Decay returns what is left after a time of something with a half-life.
func decay(passed, half time.Duration) float64 {
	if half <= 0 {
		return 1
	}
	return math.Exp2(-max(0, float64(passed)) / float64(half))
}

func (u *usage) move(now Instant, half time.Duration) {
	if now <= u.at {
		return // a clock that went back changes nothing
	}
	d := decay(time.Duration(now-u.at), half)
	u.done, u.debt, u.at = u.done*d, u.debt*d, now
}

// Restore sets what ended jobs had used at a moment.
func (a *Account) Restore(used time.Duration, at Instant) {
	a.usage = usage{at: at, done: float64(used)}
}

// Start counts a job of a size that runs since a moment, at most now. Rate is
// the GPUs it is charged for.
func (a *Account) Start(milli int, rate float64, since, now Instant, half time.Duration) {
	a.Jobs++
	a.Milli += milli
	a.usage.move(now, half)
	a.usage.rate += rate
	a.usage.debt += rate * decay(time.Duration(a.usage.at-since), half)
}

// Finish undoes Start with the same values and keeps the use. It returns what
// ended jobs have used by now.
func (a *Account) Finish(milli int, rate float64, since, now Instant, half time.Duration) time.Duration {
	a.Jobs--
	a.Milli -= milli
	u := &a.usage
	u.move(now, half)
	rest := decay(time.Duration(u.at-since), half)
	u.rate -= rate
	u.debt -= rate * rest
	u.done += rate * lifetime(time.Duration(u.at-since), rest, half)
	if a.Jobs == 0 {
		u.rate, u.debt = 0, 0 // what rounding left
	}
	return time.Duration(u.done)
}

// lifetime is the integral of the decay over a job's run.
func lifetime(ran time.Duration, rest float64, half time.Duration) float64 {
	if half <= 0 {
		return max(0, float64(ran))
	}
	return float64(half) / math.Ln2 * (1 - rest)
}

// Used returns the decayed GPU time used by now.
func (a *Account) Used(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	if half <= 0 {
		return time.Duration(u.done)
	}
	return time.Duration(u.done + float64(half)/math.Ln2*max(0, u.rate-u.debt))
}

// Member tells whether the account is the group or in it.
func (a *Account) member(group string) bool {
	return slices.ContainsFunc(a.Groups, func(g *Account) bool { return g.Name == group })
}

// begin prepares a user's account and its groups for a pass. Capacity is the
// most GPU time that the machine can have given to somebody. The factor is the
// geometric mean of the user's own and those of the groups that have a share, so
// that somebody in no such group counts as a group of one.
func (a *Account) begin(now Instant, half time.Duration, capacity float64) {
	a.measure(now, half, capacity)
	sum, n := a.excess, 1.0
	for _, g := range a.Groups {
		g.measure(now, half, capacity)
		if g.Share > 0 {
			sum, n = sum+g.excess, n+1
		}
	}
	a.factor = math.Exp2(-sum / n)
}

// measure finds what the account has used by now.
func (a *Account) measure(now Instant, half time.Duration, capacity float64) {
	a.newJobs, a.newMilli, a.excess, a.over = 0, 0, 0, false
	if half <= 0 {
		return
	}
	used := float64(a.Used(now, half))
	if capacity > 0 {
		a.excess = min(used/capacity/float64(max(a.Share, 1)), maxExponent)
	}
	a.over = a.MaxUsage > 0 && used >= float64(a.MaxUsage)
}

// maxExponent keeps the factor far from the end of floating point.
const maxExponent = 64

// capped tells whether the account or one of its groups may not start a job of
// the size.
func (a *Account) capped(milli int) bool {
	if a.full(milli) {
		return true
	}
	for _, g := range a.Groups {
		if g.full(milli) {
			return true
		}
	}
	return false
}

func (a *Account) full(milli int) bool {
	switch {
	case a.over && milli > 0:
		return true
	case a.MaxJobs > 0 && a.Jobs+a.newJobs >= a.MaxJobs:
		return true
	}
	return a.MaxMilli > 0 && milli > 0 && a.Milli+a.newMilli+milli > a.MaxMilli
}

// take counts a job that the pass gives to the account.
func (a *Account) take(milli int) {
	a.newJobs++
	a.newMilli += milli
	for _, g := range a.Groups {
		g.newJobs++
		g.newMilli += milli
	}
}
