package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/queue"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// suspend suspends or resumes a running job. A suspended job keeps its GPUs and memory, and the
// time for which it is suspended does not count towards its limit. Only administrators can resume a
// job that an administrator suspended. A job that its owner suspended also resumes by itself after
// some time.
func (c *Core) suspend(l *tracked.Job, e Command, now time.Time) *job.Refusal {
	j := l.Job
	on := e.What.Kind == job.CommandSuspend
	switch {
	case j.Tasks != nil:
		return job.Refuse("conflict/array-suspend", j.ID)
	case j.Park != job.NotParked:
		return job.Refuse("conflict/parked", j.Called())
	case on && j.IsSuspended():
		return job.Refuse("conflict/suspended", j.Called(), j.SuspendedBy)
	case !on && !j.IsSuspended():
		return job.Refuse("conflict/not-suspended", j.Called())
	case j.State != job.Running || j.Stop != "":
		return job.Refuse("conflict/no-suspend", j.Called(), l.Shown())
	case !on && j.Over && !e.Who.Admin:
		return job.Refuse("forbidden/suspended", j.Called(), j.SuspendedBy)
	case !on:
		c.resumeJob(l, now)
		return nil
	case !e.Who.Admin:
		if refusal := c.maySuspend(l, now); refusal != nil {
			return refusal
		}
	}
	l.Suspended = tracked.Demand{}
	j.SuspendedAt, j.SuspendedBy, j.Endless = now, e.Who.User, e.Who.Admin
	j.Over, j.Freezes = !e.Who.Is(j.Owner), true
	c.step.markDirty(l)
	c.storeKept(l)
	c.step.act(Freeze{Job: j.ID, Attempt: j.Attempt.Number})
	c.step.replan()
	return nil
}

// resumeJob resumes a suspended job.
func (c *lifecycle) resumeJob(l *tracked.Job, now time.Time) {
	l.Resume(now)
	c.step.markDirty(l)
	c.storeKept(l)
	c.step.act(Freeze{Job: l.ID, Attempt: l.Attempt.Number, Thaw: true})
	c.step.replan()
}

// maySuspend refuses a suspension by the job's owner if the suspension would end at once, or if it
// would delay jobs of others that wait for the job's GPUs.
func (c *state) maySuspend(l *tracked.Job, now time.Time) *job.Refusal {
	halted := *l.Job
	halted.SuspendedAt = now
	most, end := c.policy.MaxSuspend, c.queue.LatestEnd(l, now)
	until, ahead := c.queue.SuspendedUntil(&halted)
	late := sched.Never
	if !until.IsZero() {
		late = end.Add(until.Sub(now))
	}
	switch {
	case ahead != nil && !until.After(now):
		return job.Refuse("conflict/suspend-reserved", halted.Called(), ahead.ID, ahead.For(), ahead.From)
	case !until.IsZero() && !until.After(now):
		return job.Refuse("conflict/suspend-over", halted.Called(), halted.SuspendedTime.Truncate(time.Second), most)
	}
	if w, found := c.queue.DelaysOthers(l, end, late, 0, now); found {
		return job.Refuse("conflict/suspend-waits", halted.Called(), c.jobs.Called(w.Job), w.At.Time())
	}
	return nil
}

// checkDemand notes whether jobs of others would start sooner if a suspended job resumed now.
func (c *lifecycle) checkDemand(l *tracked.Job, now time.Time) {
	late, end := sched.Never, c.queue.LatestEnd(l, now)
	if until, _ := c.queue.SuspendedUntil(l.Job); !until.IsZero() {
		late = end.Add(until.Sub(now))
	}
	_, found := c.queue.DelaysOthers(l, end, late, 0, now)
	switch l.Suspended.Checked = now; {
	case !found:
		l.Suspended.Since = time.Time{}
	case l.Suspended.Since.IsZero():
		l.Suspended.Since = now
		c.step.replan() // the job will resume earlier than planned
	}
}

// storeKept stores some facts about a running job outside the state file. The job's unit does not
// report these facts.
func (c *lifecycle) storeKept(l *tracked.Job) {
	k := job.Kept{
		TimeLimit: l.Request.TimeLimit, MemBytes: l.Request.MemBytes, GPUs: job.ContractGPUs(l.Attempt.GPUs),
		Suspension: l.Suspension, Parking: l.Parking, MovedMemory: l.MovedMemory,
	}
	c.step.act(Keep{Job: l.ID, Attempt: l.Attempt.Number, What: k})
}

// changeRunning changes the time limit and the host memory of a job that has a unit, and refuses
// all other changes. Users other than administrators must stay within the site's limits.
func (c *Core) changeRunning(l *tracked.Job, e Command, now time.Time) *job.Refusal {
	j, ch := l.Job, e.What.Change
	if ch == nil {
		return job.Refuse("usage/no-change")
	}
	if other := ch.Others("TimeLimit", "MemBytes"); len(other) > 0 {
		return job.Refuse("conflict/runs", j.Called(), j.State, other)
	}
	if ch.TimeLimit == nil && ch.MemBytes == nil {
		return job.Refuse("usage/no-change")
	}
	if j.Stop != "" || j.State == job.Ending {
		return job.Refuse("conflict/ends", j.Called())
	}
	s := job.Submission{Owner: j.Owner, Principal: j.Principal, Admin: e.Who.Admin, Label: j.Label, Request: j.Request}
	ch.Apply(&s)
	if isLarger(&j.Request, &s.Request) && j.Request.Priority.Raised() && !c.mayRaise(&s) {
		return job.Refuse("forbidden/raised", j.Called())
	}
	if err := s.Request.Err(); err != nil {
		return job.Refuse("usage/form", err)
	}
	if ch.TimeLimit != nil {
		if refusal := mayChangeLimit(&c.state, l, *ch.TimeLimit, e.Who.Admin, now); refusal != nil {
			return refusal
		}
	}
	if ch.MemBytes != nil && j.Park != job.NotParked {
		return job.Refuse("conflict/parked", j.Called())
	}
	if ch.MemBytes != nil {
		c.applyDerivedDefaults(&s)
		if refusal := mayMoveMemory(&c.state, l, s.Request.MemBytes, &e, now); refusal != nil {
			return refusal
		}
	}
	before := job.Asked(&j.Label, &j.Request)
	if ch.TimeLimit != nil {
		j.Request.TimeLimit = s.Request.TimeLimit
		left := s.Request.TimeLimit.Duration() - queue.RanSoFar(j, now)
		if s.Request.TimeLimit == 0 || left > j.Request.WarnBefore.Duration() {
			j.Warned, j.WarnsAt = false, time.Time{} // the job gets another warning before the new end
			c.systemd.forgetWarning(j.ID)
		}
		c.storeKept(l)
	}
	if ch.MemBytes != nil {
		j.Request.DefaultedMem = s.Request.DefaultedMem
		moveMemory(&c.lifecycle, l, func() { l.Request.MemBytes, l.MemLent = s.Request.MemBytes, 0 }, now)
	}
	c.step.markUpdated(l, e.Who, before)
	c.step.replan()
	return nil
}

// mayChangeLimit refuses another time limit of a running job.
func mayChangeLimit(c *state, l *tracked.Job, limit job.Span, admin bool, now time.Time) *job.Refusal {
	r := l.Request
	r.TimeLimit = limit
	if ran := queue.RanSoFar(l.Job, now); limit > 0 && limit.Duration() <= ran {
		return job.Refuse("conflict/limit-over", l.Called(), limit, ran.Truncate(time.Second))
	}
	if admin {
		return nil
	}
	if refusal := c.timeAllowed(&r); refusal != nil {
		return refusal
	}
	if isLarger(&l.Request, &r) { // shortening a limit, or setting a first one, delays nobody
		return c.mayProlong(l, &r, now)
	}
	return nil
}

// mayProlong refuses an owner's longer time limit for a running job if it would delay jobs of
// others that wait for the job's GPUs.
func (c *state) mayProlong(l *tracked.Job, r *job.Request, now time.Time) *job.Refusal {
	j, end := l.Job, sched.Never
	if r.TimeLimit > 0 {
		end = sched.At(now.Add(r.TimeLimit.Duration() - queue.RanSoFar(j, now)))
	}
	if v := c.queue.FirstReserved(j, now); v != nil && sched.At(v.From) < end {
		return job.Refuse("conflict/limit-reserved", j.Called(), v.ID, v.For(), v.From)
	}
	if w, found := c.queue.DelaysOthers(l, c.queue.LatestEnd(l, now), end, 0, now); found {
		return job.Refuse("conflict/limit-waits", j.Called(), c.jobs.Called(w.Job), w.At.Time())
	}
	return nil
}
