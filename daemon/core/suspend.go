package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// suspend halts a running job, or lets it go on. It keeps what it has, and the time
// does not count against its limit. What an administrator suspended only
// administrators let go on.
func (c *Core) suspend(l *trackedJob, e Command, now time.Time) *job.Refusal {
	j := &l.job
	on := e.What.Kind == job.CommandSuspend
	switch {
	case j.Tasks != nil:
		return job.Refuse("conflict/array-suspend", j.ID)
	case on && j.IsSuspended():
		return job.Refuse("conflict/suspended", j.Called(), j.SuspendedBy)
	case !on && !j.IsSuspended():
		return job.Refuse("conflict/not-suspended", j.Called())
	case j.State != job.Running || j.Stop != "":
		return job.Refuse("conflict/no-suspend", j.Called(), j.State)
	case on && !j.Unbounded && j.Request.TimeLimit > 0:
		return job.Refuse("conflict/own-limit", j.Called())
	case !on && j.SuspendedBy != j.Owner.User && !e.Who.Admin:
		return job.Refuse("forbidden/suspended", j.Called(), j.SuspendedBy)
	case on:
		j.SuspendedAt, j.SuspendedBy = now, e.Who.User
		j.Freezes = true
	default:
		j.Rested, j.SuspendedAt, j.SuspendedBy = j.Rest(now), time.Time{}, ""
	}
	c.step.markDirty(l)
	c.step.act(Freeze{Job: j.ID, Attempt: j.Attempt.Number, Thaw: !on})
	c.step.replan()
	return nil
}

// refreeze has a unit be as its job is, where a freeze or a thaw of ours was lost. One
// that somebody else froze stays so.
func (c *Core) refreeze(l *trackedJob, u Unit) {
	j := &l.job
	if j.State == job.Running && j.Freezes && u.Frozen != j.IsSuspended() {
		c.step.act(Freeze{Job: j.ID, Attempt: j.Attempt.Number, Thaw: !j.IsSuspended()})
	}
}

// limit changes the time limit of a job that has a unit, and nothing else of it.
// An ordinary user stays within the site's bounds.
func (c *Core) limit(l *trackedJob, e Command, now time.Time) *job.Refusal {
	j, ch := &l.job, e.What.Change
	if ch == nil {
		return job.Refuse("usage/no-change")
	}
	if other := ch.Others("TimeLimit"); len(other) > 0 {
		return job.Refuse("conflict/runs", j.Called(), j.State, other)
	}
	if ch.TimeLimit == nil {
		return job.Refuse("usage/no-change")
	}
	if j.Stop != "" || j.State == job.Ending {
		return job.Refuse("conflict/ends", j.Called())
	}
	s := job.Submission{Owner: j.Owner, Principal: j.Principal, Admin: e.Who.Admin, Label: j.Label, Request: j.Request}
	s.Request.TimeLimit = *ch.TimeLimit
	longer := larger(&j.Request, &s.Request)
	switch ran := c.ranSoFar(j, now); {
	case longer && !j.Unbounded:
		return job.Refuse("conflict/own-limit", j.Called())
	case s.Request.TimeLimit > 0 && s.Request.TimeLimit.Duration() <= ran:
		return job.Refuse("conflict/limit-over", j.Called(), s.Request.TimeLimit, ran.Truncate(time.Second))
	case longer && j.Request.Priority.Raised() && !c.mayRaise(&s):
		return job.Refuse("forbidden/raised", j.Called())
	}
	if err := s.Request.Err(); err != nil {
		return job.Refuse("usage/form", err)
	}
	if !e.Who.Admin {
		if refusal := c.timeAllowed(&s.Request); refusal != nil {
			return refusal
		}
		if r := c.reservedAhead(j, &s.Request, now); longer && r != nil {
			return job.Refuse("conflict/limit-reserved", j.Called(), r.ID, r.For(), r.From)
		}
	}
	j.Request.TimeLimit = s.Request.TimeLimit
	left := s.Request.TimeLimit.Duration() - c.ranSoFar(j, now)
	if s.Request.TimeLimit == 0 || left > j.Request.WarnBefore.Duration() {
		j.Warned = false // it is warned anew, ahead of the new end
	}
	c.step.markDirty(l)
	c.step.replan()
	return nil
}

// ranSoFar is how much of its time limit a job has had.
func (c *Core) ranSoFar(j *job.Job, now time.Time) time.Duration {
	if j.Attempt == nil || j.Attempt.StartedAt.IsZero() {
		return 0
	}
	return max(0, now.Sub(j.Attempt.StartedAt)-j.Rest(now))
}

// reservedAhead is a reservation for others of a GPU of the job that begins before
// the job would end; nil: there is none. One that has begun keeps no job that runs.
func (c *Core) reservedAhead(j *job.Job, r *job.Request, now time.Time) *job.Reservation {
	end := now.Add(r.TimeLimit.Duration() - c.ranSoFar(j, now))
	list, of := c.reservations.all(), c.reserved()
	for i := range list {
		v := &list[i]
		ahead := v.From.After(now) && (r.TimeLimit == 0 || v.From.Before(end))
		taken := slices.ContainsFunc(j.Attempt.GPUs, func(g job.Allocation) bool { return reserves(v, g.UUID) })
		if ahead && taken && !slices.Contains(of[i].UIDs, j.Person().UID) {
			return v
		}
	}
	return nil
}
