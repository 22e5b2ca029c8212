package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// When the clock is set, past times move with it, so that they stay as long ago as before: waits,
// run times, back-offs and the use of GPUs. Begin times, reservations and the ends of pauses are
// times of the clock and stay.

// clockSet notes that the clock was set by some amount. Small corrections are not worth a record,
// but nobody is charged for them.
func (c *Core) clockSet(by time.Duration, now time.Time) {
	c.accounts.Shift(by, now)
	if by.Abs() < clockSlack {
		return
	}
	c.systemd.shift(by, now)
	c.troubles.Shift(by, now)
	c.gpus.Shift(by, now)
	c.messages.Shift(by, now)
	c.starts.Shift(by, now)
	c.jobs.ClearTimers() // they are ordered by the old clock
	for _, l := range c.jobs.Sorted(tracked.AnyJob) {
		j := l.Job
		job.Shift(by, now, &j.QueuedAt, &j.AwayAt, &j.NotBefore)
		if j.Tasks != nil {
			counts := *j.Tasks
			job.Shift(by, now, &counts.TurnAt)
			j.Tasks = &counts
		}
		if l.State.Live() {
			l.Lifetime().Shift(by, now)
			c.edit(l, func(a *job.Attempt) {
				job.Shift(by, now, &a.PlacedAt, &a.StartedAt, &a.EligibleAt)
			})
			job.Shift(by, now, &l.StopAt, &l.SuspendedAt, &l.WarnsAt, &l.KillAt)
			if l.Suspended = (tracked.Demand{}); l.IsSuspended() {
				c.storeKept(l)
			}
		}
		c.step.markDirtyQuietly(l)
		if l.State == job.Queued {
			c.queue.consider(l, now)
		}
	}
	c.step.replan()
}

// clockSlack is how far the clock may be set before the recorded time of a start is no longer
// believed.
const clockSlack = time.Minute

// correctStart moves the recorded start of a running job to the present clock, if that was set
// since: a time limit is a duration, not a moment, and so are a time slice, an expected run time,
// the charge for GPUs, the notice before a stop and the wait before the start.
func (c *lifecycle) correctStart(l *tracked.Job, age time.Duration, now time.Time) {
	if age == 0 || l.State != job.Running || l.Attempt.StartedAt.IsZero() {
		return
	}
	began, was := now.Add(-age), l.Attempt.StartedAt
	switch off := began.Sub(was); {
	case off > clockSlack || off < -clockSlack:
		c.edit(l, func(a *job.Attempt) { a.StartedAt, a.PlacedAt = began, a.PlacedAt.Add(off) })
		l.QueuedAt = l.QueuedAt.Add(off)
		if !l.StopAt.IsZero() {
			l.StopAt = l.StopAt.Add(off)
		}
		if !l.WarnsAt.IsZero() {
			l.WarnsAt = l.WarnsAt.Add(off)
		}
		if l.IsSuspended() {
			l.SuspendedAt = l.SuspendedAt.Add(off)
			c.storeKept(l)
		}
	case was == was.Round(0) && now != now.Round(0): // a time from disk lacks the monotonic reading that now has
		a := *l.Attempt
		a.StartedAt, a.PlacedAt = began, began.Add(a.PlacedAt.Sub(was))
		l.Attempt = &a
	}
}
