package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Uses returns what is known of the use of their GPUs by the jobs that hold some.
func (c *Core) Uses() map[job.ID][]job.GPUNow {
	all := map[job.ID][]job.GPUNow{}
	for _, id := range c.jobs.activeIDs() {
		if uses := c.jobs.active(id).usesNow(); uses != nil {
			all[id] = uses
		}
	}
	return all
}

// Entitlement is where a user stands.
func (c *Core) Entitlement(uid int, now time.Time) job.Entitlement {
	half := c.policy.Sched.HalfLife
	a := c.accounts.user(uid)
	if a == nil { // one that was never asked for gets no place in the book by being looked at
		a = c.accounts.unknown(uid)
	}
	s := job.Entitlement{User: a.Name, HalfLife: half, Used: a.Used(sched.At(now), half), Share: weight(a)}
	s.Waits = c.jobs.queuedOf(uid)
	s.Everyone, s.Shares = s.Used, s.Share
	for _, other := range c.accounts.all() { // in no order: these are sums
		if other.UID >= 0 && other.UID != uid && (other.Jobs > 0 || c.jobs.queuedOf(other.UID) > 0) {
			s.Everyone += other.Used(sched.At(now), half)
			s.Shares += weight(other)
		}
	}
	for _, q := range c.policy.Quotas.Groups {
		s.Grouped = s.Grouped || q.Share > 0
	}
	s.Quotas = c.quotasOf(a, "", s.Waits, now)
	for _, g := range a.Groups {
		s.Quotas = append(s.Quotas, c.quotasOf(g, g.Name, -1, now)...)
	}
	s.Limits = c.classLimits()
	return s
}

// weight is what a user counts for in fair share.
func weight(a *sched.Account) int { return cmp.Or(a.Share, 1) }

// unknown is the account of a user whom no job has named since the daemon began, with what is
// on record of it. It is in no book.
func (l *accountBook) unknown(uid int) *sched.Account {
	a := &sched.Account{UID: uid}
	if u, ok := l.past[accountKey(a)]; ok {
		a.Restore(time.Duration(u.Micro)*time.Microsecond, sched.At(u.At))
		a.RestoreUsed(time.Duration(u.Counts.Charge) * time.Microsecond)
	}
	l.apply(a)
	return a
}

// quotasOf lists the quotas of a user or group, and what its running jobs have of each;
// waits below 0 is of a group, whose waiting jobs are not counted here.
func (c *Core) quotasOf(a *sched.Account, group string, waits int, now time.Time) (list []job.QuotaUse) {
	mem, cpus := int64(0), int64(0)
	for _, id := range c.jobs.activeIDs() {
		if l := c.jobs.active(id); slices.Contains(l.accounts(), a) {
			mem, cpus = mem+l.job.Request.MemBytes, cpus+int64(l.job.CPUs())
		}
	}
	add := func(what job.QuotaKind, has, most int64) {
		if most > 0 || group == "" {
			list = append(list, job.QuotaUse{Group: group, What: what, Has: has, Most: most})
		}
	}
	add(job.QuotaGPUs, int64(a.Milli), int64(a.MaxMilli))
	add(job.QuotaRunning, int64(a.Jobs), int64(a.MaxJobs))
	add(job.QuotaMem, mem, a.MaxMem)
	add(job.QuotaCPUs, cpus, int64(a.MaxCPUs))
	if waits >= 0 {
		add(job.QuotaQueued, int64(waits), int64(c.accounts.quota(a).Queued))
	}
	used := a.GPUTime(sched.At(now), c.policy.Sched.HalfLife)
	add(job.QuotaUsage, int64(used/time.Second), int64(a.MaxUsage/time.Second))
	return list
}

// classLimits is the longest time limit of each class, the highest class first.
func (c *Core) classLimits() (list []job.ClassLimit) {
	for class := job.Interactive; class >= job.Scavenger; class-- {
		most := c.policy.MaxTime
		if m := c.policy.ClassMaxTime[class]; m > 0 && (most == 0 || m < most) {
			most = m
		}
		list = append(list, job.ClassLimit{Class: class, Most: job.Span(most)})
	}
	return list
}
