package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Account is a user or a group. It records what the account's running jobs have, its past use and
// its quotas. The caller must call Start and Finish (usage.go) when the account's jobs start and
// end.
type Account struct {
	UID    int    // -1 for a group
	Name   string // shown in messages
	Groups []*Account

	MaxMilli int           // the most GPUs of running jobs, in thousandths; 0: no limit
	MaxJobs  int           // the most running jobs; 0: no limit
	MaxMem   int64         // the most host memory of running jobs; 0: no limit
	MaxCPUs  int           // the most CPUs of running jobs; 0: no limit
	MaxUsage time.Duration // the most decayed GPU time; 0: no limit
	Share    int           // weight in fair share; 0 counts as 1 for a user, and as none for a group
	Barred   string        // why none of the account's jobs may start; "": they may

	Jobs  int // number of running jobs
	Milli int // GPUs of running jobs, in thousandths
	host  hostShare

	usage usage
	clock cappedClock

	entered bool    // the account is part of the current pass; the fields below belong to that pass
	used    int64   // decayed use, in milliseconds of a GPU
	within  totals  // sums over a group's active members
	factor  float64 // fair-share factor
	newJobs,
	newMilli int // given to jobs that this pass starts
	newHost      hostShare
	over         bool // the account's GPU time is used up
	unbounded    bool // no quota of the account or of its groups applies
	failedShapes int  // for how many shapes of its jobs no reservation was possible
	place        quotaPlace
	gpuJobOpen   bool // a waiting GPU job of this account is within all quotas
	cpuJobOpen   bool // a waiting job without GPUs is within all quotas
	heldSizes    int  // number of sizes, from the largest down, at which quotas hold back every job
}

// isMember reports whether the account belongs to the group of this name.
func (a *Account) isMember(group string) bool {
	return slices.ContainsFunc(a.Groups, func(g *Account) bool { return g.Name == group })
}

// quotaAccounts yields the accounts whose quotas apply to the account's jobs: the account itself
// and its groups.
func (a *Account) quotaAccounts(yield func(*Account) bool) {
	if !yield(a) {
		return
	}
	for _, g := range a.Groups {
		if !yield(g) {
			return
		}
	}
}

// isCapped reports whether a quota of the account or of one of its groups refuses a job of the
// given amount. None refuses a parked job that returns to its GPUs: it counts already.
func (a *Account) isCapped(n *amount) bool {
	if n.slot == noSlot {
		return false
	}
	for q := range a.quotaAccounts {
		if q.full(n) {
			return true
		}
	}
	return a.Barred != ""
}

func (a *Account) full(n *amount) bool {
	return a.over && n.milli > 0 || !a.allowsJob(a.inUse(), n)
}

// runningUse returns what the account's running jobs use of its quotas.
func (a *Account) runningUse() *quotaUse { return &quotaUse{a.Jobs, a.Milli, a.host} }

// inUse returns the sum of what runningUse returns and what the current pass has given to the
// account.
func (a *Account) inUse() *quotaUse {
	host := hostShare{mem: a.host.mem + a.newHost.mem, cpus: a.host.cpus + a.newHost.cpus}
	return &quotaUse{a.Jobs + a.newJobs, a.Milli + a.newMilli, host}
}

// hasQuota reports whether the account has a quota for what its jobs use at the same time.
func (a *Account) hasQuota() bool {
	return a.MaxJobs > 0 || a.MaxMilli > 0 || a.MaxMem > 0 || a.MaxCPUs > 0
}

// isUnbounded reports whether no quota can refuse a job of the account during this pass.
func (a *Account) isUnbounded() bool {
	for q := range a.quotaAccounts {
		if q.over || q.hasQuota() {
			return false
		}
	}
	return a.Barred == ""
}

// allowsJob reports whether the quotas allow a job of the given amount in addition to the given
// use.
func (a *Account) allowsJob(u *quotaUse, n *amount) bool {
	switch {
	case n.slot == noSlot:
		return true
	case a.MaxJobs > 0 && u.jobs >= a.MaxJobs:
		return false
	case a.MaxMem > 0 && n.mem > 0 && u.mem+n.mem > a.MaxMem:
		return false
	case a.MaxCPUs > 0 && n.cpus > 0 && u.cpus+n.cpus > a.MaxCPUs:
		return false
	}
	return a.MaxMilli == 0 || n.milli == 0 || u.milli+n.quota <= a.MaxMilli
}

// cpusLeft returns the number of CPUs that the account's quota leaves for further jobs.
func (a *Account) cpusLeft() int {
	if a.MaxCPUs == 0 {
		return unlimited
	}
	return a.MaxCPUs - a.host.cpus - a.newHost.cpus
}

// addPlaced counts a job that the pass starts for the account.
func (a *Account) addPlaced(milli int, h hostShare) {
	for q := range a.quotaAccounts {
		q.newJobs++
		q.newMilli += milli
		q.newHost.mem += h.mem
		q.newHost.cpus += h.cpus
	}
}

// label returns the account's name in messages.
func (a *Account) label() job.Message {
	if a.UID < 0 {
		return job.Say("detail/group", a.Name)
	}
	return job.Text(a.Name)
}
