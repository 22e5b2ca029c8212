package sched

import (
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Account is a user or a group: what it runs, what it has used and what it may
// have. Whoever makes it keeps the counts of what runs up to date by Start and
// Finish (usage.go).
type Account struct {
	UID    int    // -1 for a group
	Name   string // for people
	Groups []*Account

	MaxMilli int           // of running jobs; 0: no bound
	MaxJobs  int           // running; 0: no bound
	MaxMem   int64         // host memory of running jobs; 0: no bound
	MaxCPUs  int           // of running jobs; 0: no bound
	MaxUsage time.Duration // of decayed GPU time; 0: no bound
	Share    int           // weight in fair share; 0 is 1 for a user, and for a group none: it does not count
	Barred   string        // why none of its jobs may start; "": they may

	Jobs  int // running
	Milli int // of running jobs
	host  hostShare

	usage usage
	clock cappedClock

	excess float64 // of this pass: use in shares of the machine
	factor float64 // of this pass
	newJobs,
	newMilli int // given out by this pass
	newHost      hostShare
	over         bool   // its GPU time is used up
	allowed      uint64 // the reservations of administrators that are open to it, as bits
	failedShapes int    // for how many of its shapes nothing could be kept
}

// Member reports whether the account is the group or in it.
func (a *Account) member(group string) bool {
	return slices.ContainsFunc(a.Groups, func(g *Account) bool { return g.Name == group })
}

// beginPass prepares a user's account and its groups for a pass. Capacity is the
// most GPU time that the machine can have given to anyone. The factor is the
// geometric mean of the user's own and those of the groups that have a share, so
// that a user in no such group counts as a group of one.
func (a *Account) beginPass(now Instant, half time.Duration, capacity float64) {
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
	a.beginCounts()
	a.failedShapes = 0
	a.excess, a.over = 0, false
	if half <= 0 {
		return
	}
	used := float64(a.Used(now, half))
	if capacity > 0 {
		a.excess = min(used/capacity/float64(max(a.Share, 1)), maxExponent)
	}
	a.over = a.MaxUsage > 0 && a.GPUTime(now, half) >= a.MaxUsage
}

// beginCounts forgets what a pass gave out.
func (a *Account) beginCounts() { a.newJobs, a.newMilli, a.newHost = 0, 0, hostShare{} }

// maxExponent keeps the factor far from the end of floating point.
const maxExponent = 64

// capped reports whether the account or one of its groups may not start a job of
// these needs.
func (a *Account) capped(n *needs) bool {
	if a.Barred != "" || a.full(n) {
		return true
	}
	for _, g := range a.Groups {
		if g.full(n) {
			return true
		}
	}
	return false
}

func (a *Account) full(n *needs) bool {
	switch {
	case a.over && n.milli > 0:
		return true
	case a.MaxJobs > 0 && a.Jobs+a.newJobs >= a.MaxJobs:
		return true
	case a.MaxMem > 0 && n.mem > 0 && a.host.mem+a.newHost.mem+n.mem > a.MaxMem:
		return true
	case n.cpus > 0 && n.cpus > a.cpusLeft():
		return true
	}
	return a.MaxMilli > 0 && n.milli > 0 && a.Milli+a.newMilli+n.quota > a.MaxMilli
}

// cpusLeft is how many CPUs the account's jobs may have beside those that they have.
func (a *Account) cpusLeft() int {
	if a.MaxCPUs == 0 {
		return endless
	}
	return a.MaxCPUs - a.host.cpus - a.newHost.cpus
}

// addPlaced counts a job that the pass gives to the account.
func (a *Account) addPlaced(milli int, h hostShare) {
	a.countPlaced(milli, h)
	for _, g := range a.Groups {
		g.countPlaced(milli, h)
	}
}

func (a *Account) countPlaced(milli int, h hostShare) {
	a.newJobs++
	a.newMilli += milli
	a.newHost.mem += h.mem
	a.newHost.cpus += h.cpus
}

// called is what a message calls the account.
func (a *Account) called() job.Message {
	if a.UID < 0 {
		return job.Say("detail/group", a.Name)
	}
	return job.Text(a.Name)
}
