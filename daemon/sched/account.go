package sched

import (
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

	entered bool    // into the pass, of which the following are
	used    int64   // decayed, in milliseconds of a GPU
	within  sums    // of a group: of its active members
	factor  float64 // of this pass
	newJobs,
	newMilli int // given out by this pass
	newHost      hostShare
	over         bool // its GPU time is used up
	unbounded    bool // nothing bounds what it and its groups have
	failedShapes int  // for how many of its shapes nothing could be kept
	place        quotaPlace
	gpuJobOpen   bool // at a quota at most: one of its waiting GPU jobs is within all of them
	cpuJobOpen   bool // the same of a job that asks no GPU
	heldSizes    int  // of how many sizes, the largest, all that waits is not
}

// Member reports whether the account is the group or in it.
func (a *Account) member(group string) bool {
	return slices.ContainsFunc(a.Groups, func(g *Account) bool { return g.Name == group })
}

// quotas yields whose quotas the jobs of the account count in: its own and its groups'.
func (a *Account) quotas(yield func(*Account) bool) {
	if !yield(a) {
		return
	}
	for _, g := range a.Groups {
		if !yield(g) {
			return
		}
	}
}

// capped reports whether the account or one of its groups may not start a job of
// this amount.
func (a *Account) capped(n *amount) bool {
	for q := range a.quotas {
		if q.full(n) {
			return true
		}
	}
	return a.Barred != ""
}

func (a *Account) full(n *amount) bool {
	return a.over && n.milli > 0 || !a.holds(a.inUse(), n)
}

// running is what the account's running jobs count for in its quotas.
func (a *Account) running() *quotaUse { return &quotaUse{a.Jobs, a.Milli, a.host} }

// inUse is the same with what the pass gave out.
func (a *Account) inUse() *quotaUse {
	host := hostShare{a.host.mem + a.newHost.mem, a.host.cpus + a.newHost.cpus}
	return &quotaUse{a.Jobs + a.newJobs, a.Milli + a.newMilli, host}
}

// bounded reports whether the account has quotas of what it has at once.
func (a *Account) bounded() bool {
	return a.MaxJobs > 0 || a.MaxMilli > 0 || a.MaxMem > 0 || a.MaxCPUs > 0
}

// isUnbounded reports whether no job of the account is kept back, whatever the pass gives out.
func (a *Account) isUnbounded() bool {
	for q := range a.quotas {
		if q.over || q.bounded() {
			return false
		}
	}
	return a.Barred == ""
}

// holds reports whether the quotas leave room for a job of this amount beside such use.
func (a *Account) holds(u *quotaUse, n *amount) bool {
	switch {
	case a.MaxJobs > 0 && u.jobs >= a.MaxJobs:
		return false
	case a.MaxMem > 0 && n.mem > 0 && u.mem+n.mem > a.MaxMem:
		return false
	case a.MaxCPUs > 0 && n.cpus > 0 && u.cpus+n.cpus > a.MaxCPUs:
		return false
	}
	return a.MaxMilli == 0 || n.milli == 0 || u.milli+n.quota <= a.MaxMilli
}

// cpusLeft is how many CPUs the account's jobs may have beside those that they have.
func (a *Account) cpusLeft() int {
	if a.MaxCPUs == 0 {
		return unlimited
	}
	return a.MaxCPUs - a.host.cpus - a.newHost.cpus
}

// addPlaced counts a job that the pass gives to the account.
func (a *Account) addPlaced(milli int, h hostShare) {
	for q := range a.quotas {
		q.newJobs++
		q.newMilli += milli
		q.newHost.mem += h.mem
		q.newHost.cpus += h.cpus
	}
}

// called is what a message calls the account.
func (a *Account) label() job.Message {
	if a.UID < 0 {
		return job.Say("detail/group", a.Name)
	}
	return job.Text(a.Name)
}
