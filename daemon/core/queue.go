package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/retry"
)

// enqueue counts a job among the queued ones and considers it.
func (c *Core) enqueue(l *tracked.Job, now time.Time) {
	c.jobs.EnterQueue(l)
	c.markCapped(l, now)
	c.consider(l, now)
}

func (c *Core) dequeue(l *tracked.Job, now time.Time) {
	c.planning.Remove(l.ID)
	l.Owed = false
	c.settleCapped(l, now)
	c.jobs.LeaveQueue(l)
	l.AwayAt = time.Time{}
}

// consider puts a queued job where it belongs: to those that may start as soon
// as they fit, to those that wait for a time, or to neither while it is held
// back or waits for another. A zero now believes in no time's having come.
func (c *Core) consider(l *tracked.Job, now time.Time) {
	j := l.Job
	c.planning.Remove(j.ID)
	c.jobs.StopTimer(j.ID)
	if j.State != job.Queued {
		return
	}
	at := tracked.NotBefore(j)
	free := mayStart(j)
	c.countWait(l, free && !at.After(now), now)
	switch {
	case !free:
		return
	case at.After(now):
		c.jobs.SetTimer(j.ID, at)
		return
	}
	if j.Expected == 0 {
		j.Expected = c.estimates.ExpectedRun(l)
	}
	c.planning.Push(c.waiting(l))
	c.step.replan()
}

// mayStart reports whether a queued job waits for no person and no other job.
func mayStart(j *job.Job) bool { return j.Held == "" && len(j.Pending) == 0 && !j.TooManyFailed() }

// countWait lets a queued job's wait count only while it could be placed. A zero
// now changes nothing.
func (c *Core) countWait(l *tracked.Job, could bool, now time.Time) {
	j := l.Job
	switch {
	case now.IsZero():
	case !could && j.AwayAt.IsZero():
		c.settleCapped(l, now)
		j.AwayAt = now
	case could && !j.AwayAt.IsZero():
		waitLess(j, max(0, now.Sub(j.AwayAt)), now)
		j.AwayAt = time.Time{}
		c.markCapped(l, now)
	}
}

// markCapped notes what the account's clock of time at quotas shows as a queued job
// begins to wait.
func (c *Core) markCapped(l *tracked.Job, now time.Time) {
	if !now.IsZero() {
		l.Capped = l.Account.Capped(l.Request.QuotaMilli(), sched.At(now))
	}
}

// settleCapped moves the begin of a queued job's wait by the time at quotas since
// then.
func (c *Core) settleCapped(l *tracked.Job, now time.Time) {
	if j := l.Job; j.AwayAt.IsZero() && !now.IsZero() {
		was := j.Capped
		c.markCapped(l, now)
		waitLess(j, j.Capped-was, now)
	}
}

// waitLess has the job, and the next task of an array, wait from so much later. A turn
// that came meanwhile comes now.
func waitLess(j *job.Job, by time.Duration, now time.Time) {
	j.QueuedAt = j.QueuedAt.Add(by)
	if j.Tasks == nil || j.Tasks.TurnAt.IsZero() {
		return
	}
	counts := *j.Tasks
	if counts.TurnAt = counts.TurnAt.Add(by); counts.TurnAt.After(now) {
		counts.TurnAt = now
	}
	j.Tasks = &counts
}

// since is from when the wait of a job, or of the next task of an array, counts.
// A task waits from when the one before it started, so that an array does not go
// before all others for as long as it has tasks; in strict order it does.
func (c *Core) since(j *job.Job) time.Time {
	if j.Tasks != nil && j.Tasks.TurnAt.After(j.QueuedAt) && !c.policy.Sched.FIFO {
		return j.Tasks.TurnAt
	}
	return j.QueuedAt
}

// turn lets the next task of an array wait from now on.
func (c *Core) turn(array *tracked.Job, now time.Time) {
	j := array.Job
	c.settleCapped(array, now)
	counts := *j.Tasks
	counts.TurnAt = now
	j.Tasks = &counts
	c.step.markDirtyQuietly(array)
	if c.planning.Has(j.ID) {
		c.planning.Remove(j.ID)
		c.planning.Push(c.waiting(array))
	}
}

// waiting is the job as the queue takes it.
func (c *Core) waiting(l *tracked.Job) sched.Waiting {
	j := l.Job
	w := sched.Waiting{
		ID: j.ID, Request: &j.Request, Account: l.Account, Since: sched.At(c.since(j)),
		Capped: j.Capped, Expected: c.estimates.ExpectedRun(l), Late: c.estimates.LateRun(l), Served: j.Served,
		Throttle: l.Throttle, Count: 1, Batch: batchOf(j), Owed: j.Owed,
	}
	if j.Request.Preemptible {
		w.Effort, w.Program, w.Untried = c.estimates.Effort(l, j.Served)
	}
	if j.Tasks != nil {
		w.Count = j.Tasks.Left(j.Request.Array.Size())
	}
	return w
}

// batchOf names the batch that a job is of, "" for none. An array without a name is
// one with those of its tasks that wait again; no name that a user gives has a NUL.
func batchOf(j *job.Job) string {
	switch {
	case j.Request.Objective != job.Makespan:
		return ""
	case j.Request.Batch != "":
		return j.Request.Batch
	case j.Task != nil:
		return "\x00" + j.Task.Array.String()
	}
	return "\x00" + j.ID.String()
}

// due considers the jobs whose time has come.
func (c *Core) due(now time.Time) {
	for a := c.jobs.NextTimer(); a.Id != 0 && !a.At.After(now); a = c.jobs.NextTimer() {
		l := c.jobs.Get(a.Id)
		c.consider(l, now)
		c.step.markDirtyQuietly(l)
	}
}

// How a job returns to the queue after an attempt.
type requeueAt int

const (
	nowhere   requeueAt = iota // it has ended
	samePlace                  // it keeps the time that it has waited
	tail                       // it waits from now on
	fresh                      // the same, and nothing of what it did counts
)

// requeueAfter returns a job to the queue after an attempt. One that never began does not count as a requeue.
func (c *Core) requeueAfter(l *tracked.Job, how requeueAt, now time.Time) {
	j := l.Job
	ran := tracked.RanFor(j, j.Attempt.EndedAt)
	if !j.Attempt.StartedAt.IsZero() && tracked.TriesOf(j) == 0 {
		j.Served += ran
		j.Requeues++
	}
	j.Expected = 0
	j.QueuedAt = j.QueuedAt.Add(ran + j.Rest(now))
	if how != samePlace || j.QueuedAt.After(now) { // the clock was set back while we were away
		j.QueuedAt = now
	}
	if how == fresh {
		j.Served, j.Taught = 0, 0
	}
	j.StopOrder, j.Suspension = job.StopOrder{}, job.Suspension{}
	c.move(l, job.Queued, now)
}

// clampBackoffs ends back-offs that would last longer than they were meant to, since the
// clock was set back while we were away, and lets no job wait from a moment to come.
func (c *Core) clampBackoffs(now time.Time) {
	queued := func(l *tracked.Job) bool { return l.State == job.Queued }
	for _, l := range c.jobs.Sorted(queued) {
		late := l.QueuedAt.After(now)
		lost := l.Capped > l.Account.Capped(l.Request.QuotaMilli(), sched.At(now)) // of what the clock showed
		if late {
			l.QueuedAt = now
		}
		if late || lost {
			c.markCapped(l, now)
			c.step.markDirtyQuietly(l)
			c.consider(l, now)
		}
		if t := l.Tasks; t != nil && t.TurnAt.After(now) {
			c.turn(l, now)
		}
		longest := time.Duration(0)
		switch tries := tracked.TriesOf(l.Job); {
		case tries > 0:
			longest = retry.After(tries, starts.StartAgain, starts.LastStartAgain)
		case l.Failures > 0:
			longest = retry.After(l.Failures, l.Request.Backoff.Duration(), job.MaxBackoff)
		default:
			continue
		}
		if latest := now.Add(longest); l.NotBefore.After(latest) {
			l.NotBefore = latest
			c.step.markDirty(l)
			c.consider(l, now)
		}
	}
}
