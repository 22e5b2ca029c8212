package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// When the clock is set, these recorded times move by the same amount: the starts of waits, runs
// and back-offs, and the times of the use of GPUs. So the time that has passed since each of them
// stays the same. Times that people chose do not move: begin times, reservations and the ends of
// pauses.

// clockSet notes that the clock was set by some amount. After a small correction it adjusts only
// the accounts, so that nobody is charged for the correction.
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
	c.jobs.Lanes.Shift(by)
	c.jobs.ClearTimers() // the timers are ordered by the old clock
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
			c.editAttempt(l, func(a *job.Attempt) {
				job.Shift(by, now, &a.PlacedAt, &a.StartedAt, &a.EligibleAt)
			})
			job.Shift(by, now, &l.StopAt, &l.SuspendedAt, &l.ReturnedAt, &l.WarnsAt, &l.KillAt)
			if l.Suspended = (tracked.Demand{}); l.IsSuspended() {
				c.storeKept(l)
			}
		}
		c.step.markDirtyQuietly(l)
		c.queue.Consider(l, now)
	}
	c.step.replan()
}

// A change of the clock by less than clockSlack leaves the recorded times of jobs as they are.
const clockSlack = time.Minute

// correctStart moves the recorded start of a running job if the clock was set after the start. The
// time limit, the time slice and the charge are measured from the start, and must not change. The
// start of the wait, the times of a warning and of a planned stop, and the start of a suspension
// move by the same amount.
func (c *lifecycle) correctStart(l *tracked.Job, age time.Duration, now time.Time) {
	if age == 0 || l.State != job.Running || l.Attempt.StartedAt.IsZero() {
		return
	}
	began, was := now.Add(-age), l.Attempt.StartedAt
	switch off := began.Sub(was); {
	case off > clockSlack || off < -clockSlack:
		c.editAttempt(l, func(a *job.Attempt) { a.StartedAt, a.PlacedAt = began, a.PlacedAt.Add(off) })
		l.QueuedAt = l.QueuedAt.Add(off)
		if !l.StopAt.IsZero() {
			l.StopAt = l.StopAt.Add(off)
		}
		if !l.WarnsAt.IsZero() {
			l.WarnsAt = l.WarnsAt.Add(off)
		}
		if !l.ReturnedAt.IsZero() {
			l.ReturnedAt = l.ReturnedAt.Add(off)
		}
		if l.IsSuspended() {
			l.SuspendedAt = l.SuspendedAt.Add(off)
			c.storeKept(l)
		}
	case was == was.Round(0) && now != now.Round(0): // a time read from disk has no monotonic reading, but now has one
		a := *l.Attempt
		a.StartedAt, a.PlacedAt = began, began.Add(a.PlacedAt.Sub(was))
		l.Attempt = &a
	}
}
