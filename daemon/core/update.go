package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// hold holds or releases a queued job. If an administrator holds the job, only administrators can
// release it, even if the job's owner asked for a hold as well.
func (c *Core) hold(l *tracked.Job, e Command, now time.Time) *job.Refusal {
	if l.Action == tracked.InLine && e.What.Kind == job.CommandRelease {
		return nil // nobody holds the job
	}
	c.backInQueue(l, now)
	j := l.Job
	others := j.HeldOver && !e.Who.Admin
	switch {
	case e.What.Kind == job.CommandRelease && others:
		return job.Refuse("forbidden/held", j.Called(), j.Held)
	case e.What.Kind == job.CommandRelease:
		if !c.handOver(j, now) {
			j.Held, j.HeldOver = "", false
		}
		if j.Tasks != nil && j.Tasks.Failures > 0 { // the failures of the array are counted from 0 again
			counts := *j.Tasks
			counts.Failures = 0
			j.Tasks = &counts
		}
	case !others:
		j.Held, j.HeldOver = e.Who.User, !e.Who.Is(j.Owner)
		j.Owed = false
	}
	c.step.markDirty(l)
	c.queue.Consider(l, now)
	return nil
}

// canHold reports whether a hold or a release applies to a job that is not queued. A hold applies
// to a placed job that waits for its turn to start. The job then returns to the queue as held, but
// its unit may have to be stopped first, which can take some time. During this time, a release
// applies to the job.
func canHold(l *tracked.Job, e *Command) bool {
	switch e.What.Kind {
	case job.CommandHold:
		return l.Action == tracked.InLine
	case job.CommandRelease:
		return l.State == job.Ending && l.Held != "" && l.Stop != job.StopCancel
	}
	return false
}

// backInQueue moves a placed job back to the queue while the job waits for its turn to start. Such
// a job is shown as queued anyway.
func (c *Core) backInQueue(l *tracked.Job, now time.Time) {
	if l.Action == tracked.InLine {
		c.returnUnstarted(l, job.Say("detail/changed"), now)
	}
}

// requeue stops a running job and moves it to the end of the queue.
func (c *Core) requeue(l *tracked.Job, by string, now time.Time) *job.Refusal {
	if l.State != job.Running || l.Stop != "" {
		return job.Refuse("conflict/no-requeue", l.Called(), l.Shown())
	}
	if l.Recovered {
		return job.Refuse("conflict/recovered", l.Called())
	}
	c.requestStop(l, job.StopRequeue, by, now)
	return nil
}

// changedJob is a job with its new options, after they were found to be permitted.
type changedJob struct {
	l    *tracked.Job
	asks job.Submission
	open []job.Dependency // the dependencies that are not met yet
	more bool             // whether more than the label changes
}

// update changes queued jobs: one job, or some tasks of an array and then the array itself. If it
// refuses one of the changes, it changes none of the jobs.
func (c *Core) update(list []*tracked.Job, e Command, now time.Time) *job.Refusal {
	if e.What.Change == nil {
		return job.Refuse("usage/no-change")
	}
	machine := c.queue.Snapshot(now)                                // only once, since there may be thousands of tasks
	all, edges, bytes := make([]changedJob, len(list)), 0, int64(0) // edges and bytes are sums over the changes so far
	for i, l := range list {
		to, refusal := c.changedAs(l, &e, machine, now)
		if refusal == nil {
			refusal = c.deps.EdgesQuota(l.Job, len(to.open), len(l.Pending)-edges)
		}
		after := *l.Job
		after.Label, after.Request = to.asks.Label, to.asks.Request
		if refusal == nil {
			refusal = c.jobs.BytesQuota(&after, l.Weighed-bytes, c.policy.MaxBytes)
		}
		if refusal != nil {
			return refusal
		}
		all[i], edges, bytes = to, edges+len(to.open)-len(l.Pending), bytes+after.Weight()-l.Weighed
	}
	for i := range all {
		l := all[i].l
		before := job.Asked(&l.Label, &l.Request)
		l.Label = all[i].asks.Label
		if all[i].more { // otherwise only the label changes, and the job keeps its place and its charge
			c.backInQueue(l, now)
			c.change(&all[i], now)
		}
		c.jobs.RemoveBytes(l)
		c.jobs.AddBytes(l)
		c.step.markUpdated(l, e.Who, before)
	}
	return nil
}

// changedAs returns a job with a change applied, or a refusal if the change is not allowed.
func (c *state) changedAs(
	l *tracked.Job, e *Command, machine *sched.Snapshot, now time.Time,
) (out changedJob, refusal *job.Refusal) {
	ch := e.What.Change
	out = changedJob{l: l, asks: job.Submission{
		Owner: l.Owner, Principal: l.Principal, Admin: e.Who.Admin, Label: l.Label, Request: l.Request,
	}, open: l.Pending}
	s := &out.asks
	raised := s.Request.Priority.Raised()
	switch {
	case l.Tasks != nil:
		own := *s.Request.Array
		own.Ranges, own.Params = slices.Clone(own.Ranges), slices.Clone(own.Params)
		s.Request.Array = &own
	case e.What.Job != l.ID: // the change was sent for the job's array
		own := *ch
		own.ArrayLimit, own.MaxFailures = nil, nil
		ch = &own
	case ch.ArrayLimit != nil || ch.MaxFailures != nil:
		return out, job.Refuse("usage/no-array", l.Called())
	}
	ch.Apply(s)
	if out.more = len(ch.Others("Name", "Comment")) > 0; !out.more {
		return out, nil
	}
	if ch.GPUMemBytes != nil {
		s.Request.AutoMem = false
		c.queue.FillGPUMem(s, now)
	}
	if s.Request.DefaultedMem && ch.GPUMilli != nil {
		s.Request.MemBytes = 0 // the default is computed anew from the changed request
	}
	c.applyDerivedDefaults(s)
	if ch.After != nil && l.Shown() == job.Queued { // once all of its tasks are jobs, an array waits for no other job
		if out.open, refusal = c.pending(*ch.After, e.What.Ended); refusal != nil {
			return out, refusal
		}
		if c.isCycle(l.ID, out.open) {
			return out, job.Refuse("usage/circle", l.Called())
		}
	}
	mayRaise := raised && ch.Priority == nil
	if mayRaise && !c.mayRaise(s) && isLarger(&l.Request, &s.Request) {
		return out, job.Refuse("forbidden/raised", l.Called())
	}
	return out, c.admitChange(s, mayRaise, machine)
}

// isLarger reports whether a changed request asks for more than the old one.
func isLarger(old, now *job.Request) bool {
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

// admitChange does what admit does, but without the limits on waiting jobs. If the change leaves a
// raised priority as it is, mayRaise is true and the priority may remain.
func (c *state) admitChange(s *job.Submission, mayRaise bool, machine *sched.Snapshot) *job.Refusal {
	if err := s.Request.Err(); err != nil {
		return job.Refuse("usage/form", err)
	}
	if refusal := c.checkRules(s, mayRaise); refusal != nil {
		return refusal
	}
	s.Request.MemMilli = sched.MemoryPart(machine, &s.Request)
	return sched.Infeasible(machine, c.accounts.Of(s.Owner, s.Principal), &s.Request)
}

// change replaces a job's request. The job loses the precedence that markOwed gave it. If the job
// is an array whose tasks are all jobs, it is not in the queue, so no place changes.
func (c *Core) change(to *changedJob, now time.Time) {
	l, s := to.l, &to.asks
	waits := l.State == job.Queued
	if waits {
		c.deps.Unfollow(l)
		c.queue.SettleCapped(l, now)
		// Otherwise users could queue small requests early and enlarge them later, or leave a full lane.
		if isLarger(&l.Request, &s.Request) || l.Request.Lane != s.Request.Lane {
			l.QueuedAt = now
			l.AwayAt = time.Time{}
		}
		c.jobs.ChangeClass(l, s.Request.Priority.Class)
	}
	l.Owed = false
	c.changeLanes(l, &s.Request)
	l.Expected = 0
	if waits {
		c.queue.MarkCapped(l, now)
		l.Pending = to.open
		c.deps.Follow(l)
		c.queue.Consider(l, now)
	}
}

// changeLanes gives a job its new request. If the job is an array, its tasks get the array's new
// limit.
func (c *Core) changeLanes(l *tracked.Job, r *job.Request) {
	tasks := c.jobs.Tasks(l.ID)
	c.jobs.Lanes.Change(append(tasks, l), func() {
		l.Request = *r
		for _, t := range tasks {
			t.Request.Array = r.Array
		}
	})
	for _, t := range tasks {
		c.queue.Repush(t)
	}
}
