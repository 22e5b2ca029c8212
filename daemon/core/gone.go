package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// heldByScheduler is the value of Held for a job whose account is gone.
const heldByScheduler = "the scheduler"

// accountGone handles a start that failed because another account now has the number of the job's
// owner or person. It holds all jobs of the lost account, and returns the reason for that.
func (c *Core) accountGone(l *tracked.Job, heir job.Account, now time.Time) (why job.Message) {
	was := l.NameOf(heir.UID)
	if was == nil || job.Nameless(heir.UID, heir.User) {
		return why
	}
	c.keepFrom(l, heir)
	c.holdGone(*was, heir, now)
	return whyGone(l.Job)
}

// holdGone holds the waiting jobs of a lost account, and arrays with waiting tasks. Only an
// administrator can tell whether the account was renamed or removed, and may release the jobs to
// the new account.
func (c *Core) holdGone(gone string, heir job.Account, now time.Time) {
	waits := func(o *tracked.Job) bool { return o.State == job.Queued || o.State == job.Spawned }
	for _, o := range c.jobs.Sorted(waits) {
		if name := o.NameOf(heir.UID); o.Heir == nil && name != nil && *name == gone {
			c.keepFrom(o, heir)
			c.queue.Consider(o, now)
		}
	}
}

// keepFrom holds a job that would now run as another account. If somebody holds the job already,
// this hold remains.
func (c *lifecycle) keepFrom(l *tracked.Job, heir job.Account) {
	if l.Heir = &heir; l.Held == "" {
		l.Held, l.HeldOver = heldByScheduler, true
	}
	l.Owed = false
	c.step.markDirty(l)
}

// WaitingAccounts returns the accounts of waiting jobs that match a query. Each account has the
// name that its first such job has on record. If the account was renamed later, that is its old
// name.
func (c *state) WaitingAccounts(q job.Query, now time.Time) (list []job.Account) {
	first := map[int]*tracked.Job{}
	selected, _ := c.selectJobs(&q, now)
	for _, l := range selected {
		waits := l.State == job.Queued || l.State == job.Spawned
		if o := first[l.Owner.UID]; waits && (o == nil || l.ID < o.ID) {
			first[l.Owner.UID] = l
		}
	}
	for _, l := range first {
		if l.Heir == nil { // if Heir is set, the core knows already that another account has the number
			list = append(list, job.Account{UID: l.Owner.UID, User: l.Owner.User})
		}
		if l.Heir == nil && l.Principal != nil {
			list = append(list, *l.Principal)
		}
	}
	return list
}

// accountNamed sets an account's name in those of its jobs that were submitted while nobody could
// look the name up.
func (c *Core) accountNamed(named job.Account) {
	for _, o := range c.jobs.Sorted(tracked.AnyJob) {
		if name := o.NameOf(named.UID); name != nil && job.Nameless(named.UID, *name) && !o.IsSubordinate(named.UID) {
			setName(o.Job, named)
			c.step.markDirty(o)
		}
	}
	if a := c.accounts.User(named.UID); a != nil {
		c.accounts.Rename(a, named.User)
		c.step.replan()
	}
}

// handOver is called when an administrator releases a job. It gives the job to the account that now
// has the number of the job's account. From then on the job counts towards that account's quota.
// handOver reports whether somebody else still holds the job.
func (c *lifecycle) handOver(j *job.Job, now time.Time) (held bool) {
	if j.Heir == nil {
		return false
	}
	setName(j, *j.Heir)
	j.Heir = nil
	c.accounts.Enroll(j.Owner, j.Principal, now)
	return j.Held != heldByScheduler
}

// setName sets the recorded name of an account in a job.
func setName(j *job.Job, a job.Account) {
	if j.Principal != nil { // other jobs may share it
		own := *j.Principal
		j.Principal = &own
	}
	name := j.NameOf(a.UID)
	if j.Held == *name && !j.HeldOver {
		j.Held = a.User
	}
	*name = a.User
}

// whyGone says which account has the number of the job's account now.
func whyGone(j *job.Job) job.Message {
	return job.Say("detail/heir", *j.NameOf(j.Heir.UID), j.Heir.UID, j.Heir.User)
}
