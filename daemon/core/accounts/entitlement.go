package accounts

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Entitlement returns a user's use of GPUs, and what is left of the user's quotas.
func (b *Book) Entitlement(uid int, now time.Time) job.Entitlement {
	half := b.policy.Sched.HalfLife
	a := b.User(uid)
	if a == nil { // a question about an unknown user does not add an account to the book
		a = b.unknownAccount(uid)
	}
	s := job.Entitlement{User: a.Name, HalfLife: half, Used: a.Used(sched.At(now), half), Share: weight(a)}
	s.Waits = b.jobs.QueuedOf(uid)
	s.Everyone, s.Shares = s.Used, s.Share
	for _, other := range b.allAccounts() { // in any order, since the results are sums
		if other.UID >= 0 && other.UID != uid && (other.Jobs > 0 || b.jobs.QueuedOf(other.UID) > 0) {
			s.Everyone += other.Used(sched.At(now), half)
			s.Shares += weight(other)
		}
	}
	for _, q := range b.policy.Quotas.Groups {
		s.Grouped = s.Grouped || q.Share > 0
	}
	s.Quotas = b.quotasOf(a, "", s.Waits, now)
	for _, g := range a.Groups {
		s.Quotas = append(s.Quotas, b.quotasOf(g, g.Name, -1, now)...)
	}
	for class := job.Interactive; class >= job.Scavenger; class-- {
		most := b.policy.MaxTime
		if m := b.policy.ClassMaxTime[class]; m > 0 && (most == 0 || m < most) {
			most = m
		}
		s.Limits = append(s.Limits, job.ClassLimit{Class: class, Most: job.Span(most)})
	}
	return s
}

// weight returns a user's weight in fair share.
func weight(a *sched.Account) int { return cmp.Or(a.Share, 1) }

// unknownAccount returns an account, with its recorded use, for a user who has had no jobs since
// the daemon's start. It does not add this account to the book.
func (b *Book) unknownAccount(uid int) *sched.Account {
	a := &sched.Account{UID: uid}
	if u, ok := b.past[keyOf(a)]; ok {
		a.Restore(time.Duration(u.Micro)*time.Microsecond, sched.At(u.At))
		a.RestoreUsed(time.Duration(u.Counts.Charge) * time.Microsecond)
	}
	b.apply(a)
	return a
}

// quotasOf lists the quotas of a user or group, with their use. The argument waits is the number of
// the user's waiting jobs. A group's waiting jobs are not counted here, and waits is then negative.
func (b *Book) quotasOf(a *sched.Account, group string, waits int, now time.Time) (list []job.QuotaUse) {
	mem, cpus := int64(0), int64(0)
	for l := range b.jobs.Live() {
		if slices.Contains(l.Accounts(), a) {
			mem, cpus = mem+l.PromisedMem(), cpus+int64(l.CPUs())
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
		add(job.QuotaQueued, int64(waits), int64(b.quota(a).Queued))
	}
	used := a.GPUTime(sched.At(now), b.policy.Sched.HalfLife)
	add(job.QuotaUsage, int64(used/time.Second), int64(a.MaxUsage/time.Second))
	return list
}
