package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// hold keeps a queued job from starting, or lets it go. What an administrator
// holds only administrators release, also where its owner holds it as well.
func (c *Core) hold(l *trackedJob, e Command, now time.Time) *job.Refusal {
	if l.action == inLine && e.What.Kind == job.CommandRelease {
		return nil // nobody holds it
	}
	c.backInQueue(l, now)
	j := l.job
	others := j.HeldOver && !e.Who.Admin
	switch {
	case e.What.Kind == job.CommandRelease && others:
		return job.Refuse("forbidden/held", j.Called(), j.Held)
	case e.What.Kind == job.CommandRelease:
		if !c.handOver(j, now) {
			j.Held, j.HeldOver = "", false
		}
		forgiveFailures(j)
	case !others:
		j.Held, j.HeldOver = e.Who.User, !e.Who.Is(j.Owner)
		j.Owed = false
	}
	c.step.markDirty(l)
	c.consider(l, now)
	return nil
}

// canHold reports whether a command holds a job that waits for its turn to be started, or lets go one that was held
// there. It goes back to the queue held, also where its unit is stopped first, which may take a while.
func (l *trackedJob) canHold(e *Command) bool {
	switch e.What.Kind {
	case job.CommandHold:
		return l.action == inLine
	case job.CommandRelease:
		return l.job.State == job.Ending && l.job.Held != "" && l.job.Stop != job.StopCancel
	}
	return false
}

// backInQueue has a job that waits for its turn to be started, and is shown as queued, be so.
func (c *Core) backInQueue(l *trackedJob, now time.Time) {
	if l.action == inLine {
		c.standBack(l, job.Say("detail/changed"), now)
	}
}

// forgiveFailures lets as many more tasks of an array fail as may.
func forgiveFailures(j *job.Job) {
	if j.Tasks != nil && j.Tasks.Failures > 0 {
		counts := *j.Tasks
		counts.Failures = 0
		j.Tasks = &counts
	}
}

// requeue stops a running job and sends it to the end of the queue.
func (c *Core) requeue(l *trackedJob, by string, now time.Time) *job.Refusal {
	if l.job.State != job.Running || l.job.Stop != "" {
		return job.Refuse("conflict/no-requeue", l.job.Called(), l.shown())
	}
	if l.job.Recovered {
		return job.Refuse("conflict/recovered", l.job.Called())
	}
	c.requestStop(l, job.StopRequeue, by, now)
	return nil
}

// changed is a job with what it is to ask, which is allowed.
type changed struct {
	l    *trackedJob
	asks job.Submission
	open []job.Dependency // that it is to wait for
	more bool             // than another label
}

// update changes queued jobs, of which there are several where they are an array and tasks of it, the array last:
// all of them, or none where the change of one is refused.
func (c *Core) update(list []*trackedJob, e Command, now time.Time) *job.Refusal {
	if e.What.Change == nil {
		return job.Refuse("usage/no-change")
	}
	machine := c.snapshot(now)                                   // the same for all of what may be an array of thousands
	all, edges, bytes := make([]changed, len(list)), 0, int64(0) // those of the ones before count
	for i, l := range list {
		to, refusal := c.changedAs(l, &e, machine, now)
		if refusal == nil {
			refusal = c.deps.edgesQuota(l.job, len(to.open), len(l.job.Pending)-edges)
		}
		after := *l.job
		after.Label, after.Request = to.asks.Label, to.asks.Request
		if refusal == nil {
			refusal = c.bytesQuota(&after, l.weight-bytes)
		}
		if refusal != nil {
			return refusal
		}
		all[i], edges, bytes = to, edges+len(to.open)-len(l.job.Pending), bytes+after.Weight()-l.weight
	}
	for i := range all {
		l := all[i].l
		before := job.Asked(&l.job.Label, &l.job.Request)
		l.job.Label = all[i].asks.Label
		if all[i].more { // else it keeps its turn, and what it counts for
			c.backInQueue(l, now)
			c.change(&all[i], now)
		}
		c.jobs.removeBytes(l)
		c.jobs.addBytes(l)
		c.step.markUpdated(l, e.Who, before)
	}
	return nil
}

// changedAs is a job as a change would have it, if it may be so.
func (c *Core) changedAs(
	l *trackedJob, e *Command, machine *sched.Snapshot, now time.Time,
) (out changed, refusal *job.Refusal) {
	ch := e.What.Change
	out = changed{l: l, asks: job.Submission{
		Owner: l.job.Owner, Principal: l.job.Principal, Admin: e.Who.Admin, Label: l.job.Label, Request: l.job.Request,
	}, open: l.job.Pending}
	s := &out.asks
	raised := s.Request.Priority.Raised()
	switch {
	case l.job.Tasks != nil:
		s.Request.Array = cloneArray(s.Request.Array)
	case e.What.Job != l.job.ID: // its array is changed
		own := *ch
		own.ArrayLimit, own.MaxFailures = nil, nil
		ch = &own
	case ch.ArrayLimit != nil || ch.MaxFailures != nil:
		return out, job.Refuse("usage/no-array", l.job.Called())
	}
	ch.Apply(s)
	if out.more = len(ch.Others("Name", "Comment")) > 0; !out.more {
		return out, nil
	}
	if ch.GPUMemBytes != nil {
		s.Request.AutoMem = false
		c.fillGPUMem(s, now)
	}
	if s.Request.DefaultedMem && ch.GPUMilli != nil {
		s.Request.MemBytes = 0 // the site's default depends on it
	}
	c.applyDerivedDefaults(s)
	if ch.After != nil && l.shown() == job.Queued { // an array whose tasks are all jobs waits for none
		if out.open, refusal = c.pending(*ch.After, e.What.Ended); refusal != nil {
			return out, refusal
		}
		if c.isCycle(l.job.ID, out.open) {
			return out, job.Refuse("usage/circle", l.job.Called())
		}
	}
	mayRaise := raised && ch.Priority == nil
	if mayRaise && !c.mayRaise(s) && larger(&l.job.Request, &s.Request) {
		return out, job.Refuse("forbidden/raised", l.job.Called())
	}
	return out, c.admitChange(s, mayRaise, machine)
}

// larger reports whether a changed request asks more of the machine than before.
func larger(old, now *job.Request) bool {
	limit := func(r *job.Request) int {
		if r.Array == nil || r.Array.Limit == 0 {
			return job.MaxTasks
		}
		return r.Array.Limit
	}
	more := func(a, b int64) bool { return a > 0 && (b == 0 || b > a) } // 0 means no limit
	return now.GPUMilli > old.GPUMilli || now.GPUMemBytes > old.GPUMemBytes || limit(now) > limit(old) ||
		more(old.MemBytes, now.MemBytes) || more(int64(old.CPUs), int64(now.CPUs)) ||
		more(int64(old.TimeLimit), int64(now.TimeLimit))
}

// admitChange is admit without the bounds on how many jobs wait. A priority
// that was raised before and is not touched may stay.
func (c *Core) admitChange(s *job.Submission, mayRaise bool, machine *sched.Snapshot) *job.Refusal {
	if err := s.Request.Err(); err != nil {
		return job.Refuse("usage/form", err)
	}
	if refusal := c.allowed(s, mayRaise); refusal != nil {
		return refusal
	}
	s.Request.MemMilli = sched.MemoryPart(machine, &s.Request)
	return sched.Infeasible(machine, c.accounts.of(s.Owner, s.Principal), &s.Request)
}

// change puts the changed request in the old one's place. A job that asks something else is owed nothing any
// more. An array whose tasks are all jobs is in no queue.
func (c *Core) change(to *changed, now time.Time) {
	l, s := to.l, &to.asks
	waits := l.job.State == job.Queued
	if waits {
		c.deps.unfollow(l)
		c.settleCapped(l, now)
		if larger(&l.job.Request, &s.Request) { // else whoever comes early with little would go first with much
			l.job.QueuedAt = now
			l.job.AwayAt = time.Time{}
		}
		c.jobs.changeClass(l, s.Request.Priority.Class)
	}
	l.job.Owed = false
	l.job.Request = s.Request
	l.job.Expected = 0
	if l.job.Tasks != nil {
		c.resetThrottle(l)
	}
	if waits {
		c.markCapped(l, now)
		l.job.Pending = to.open
		c.deps.follow(l)
		c.consider(l, now)
	}
}

// resetThrottle applies another limit of an array for it and its tasks.
func (c *Core) resetThrottle(l *trackedJob) {
	id, limit := l.job.ID, l.job.Request.Array.Limit
	c.jobs.dropThrottle(id)
	l.throttle = c.jobs.throttle(id, limit)
	for _, t := range c.jobs.tasks(id) {
		t.job.Request.Array = l.job.Request.Array
		if t.throttle = l.throttle; t.throttle != nil && t.job.State.Live() {
			t.throttle.Left--
		}
		if t.job.State == job.Queued && c.planning.Has(t.job.ID) {
			c.planning.Remove(t.job.ID)
			c.planning.Push(c.waiting(t))
		}
	}
}

func cloneArray(a *job.Array) *job.Array {
	b := *a
	b.Ranges, b.Params = slices.Clone(a.Ranges), slices.Clone(a.Params)
	return &b
}
