package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// heldByScheduler is the name in Held of a job that waits because its account is gone.
const heldByScheduler = "the scheduler"

// accountGone holds a job whose start found out that another account has its owner's number, or
// its person's, now, and with it all jobs of the account that is gone which wait, or whose tasks do. Nobody can tell
// an account that was renamed from one that was removed, but an administrator, who releases what
// is to run as the other one. It returns why.
func (c *Core) accountGone(l *trackedJob, heir job.Account, now time.Time) (why job.Message) {
	was := l.job.NameOf(heir.UID)
	if was == nil || job.Nameless(heir.UID, heir.User) {
		return why
	}
	gone := *was
	hold := func(l *trackedJob) {
		l.job.Heir, l.job.Held, l.job.HeldOver = &heir, heldByScheduler, true
		l.job.Owed = false
		c.step.markDirty(l)
	}
	hold(l)
	waits := func(o *trackedJob) bool { return o != l && (o.state() == job.Queued || o.state() == job.Spawned) }
	c.jobs.each(waits, func(o *trackedJob) {
		if name := o.job.NameOf(heir.UID); o.job.Heir == nil && name != nil && *name == gone {
			hold(o)
			c.consider(o, now)
		}
	})
	return whyGone(l.job)
}

// accountNamed gives all jobs of a number, which were submitted while the directory did not answer,
// the name of their account.
func (c *Core) accountNamed(named job.Account) {
	c.jobs.each(anyJob, func(o *trackedJob) {
		if name := o.job.NameOf(named.UID); name != nil && job.Nameless(named.UID, *name) && !o.job.IsSubordinate(named.UID) {
			setName(o.job, named)
			c.step.markDirty(o)
		}
	})
	if a := c.accounts.user(named.UID); a != nil {
		c.accounts.rename(a, named.User)
		c.step.replan()
	}
}

// handOver gives a job that an administrator releases to the account that has the number, whose
// quota it counts for from then on.
func (c *Core) handOver(j *job.Job, now time.Time) {
	if j.Heir != nil {
		setName(j, *j.Heir)
		j.Heir = nil
		c.enroll(j.Owner, j.Principal, now)
	}
}

// setName sets the name that a job has on record of an account.
func setName(j *job.Job, a job.Account) {
	if j.Principal != nil { // others may have the same one
		own := *j.Principal
		j.Principal = &own
	}
	name := j.NameOf(a.UID)
	if j.Held == *name && !j.HeldOver {
		j.Held = a.User
	}
	*name = a.User
}

// whyGone says whose number an account's is now.
func whyGone(j *job.Job) job.Message {
	return job.Say("detail/heir", *j.NameOf(j.Heir.UID), j.Heir.UID, j.Heir.User)
}
