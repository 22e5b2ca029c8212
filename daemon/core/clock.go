package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// What lies in the past lies as long ago after the clock was set as it
// did before: waits, run times, back-offs and the use of GPUs. Begin times,
// reservations and the ends of pauses are moments by the clock and stay.

// clockSet notes that the clock was set by so much. Small corrections are not worth a
// record, but nobody is charged for them.
func (c *Core) clockSet(by time.Duration, now time.Time) {
	c.accounts.shift(by)
	c.starvation.shift(by, now)
	if by.Abs() < clockSlack {
		return
	}
	c.systemd.shift(by, now)
	c.gpus.shift(by, now)
	c.messages.shift(by, now)
	c.starts.shift(by, now)
	c.jobs.clearTimers() // its order was by the other clock
	for _, l := range c.jobs.sorted(anyJob) {
		j := l.job
		j.QueuedAt, j.AwayAt, j.NotBefore = moved(j.QueuedAt, by, now), moved(j.AwayAt, by, now), moved(j.NotBefore, by, now)
		if j.Tasks != nil {
			counts := *j.Tasks
			counts.TurnAt = moved(counts.TurnAt, by, now)
			j.Tasks = &counts
		}
		if l.job.State.Live() {
			l.life().shift(by, now)
			c.edit(l, func(a *job.Attempt) {
				a.PlacedAt, a.StartedAt = moved(a.PlacedAt, by, now), moved(a.StartedAt, by, now)
				a.EligibleAt = moved(a.EligibleAt, by, now)
			})
			l.job.StopAt, l.job.SuspendedAt = moved(l.job.StopAt, by, now), moved(l.job.SuspendedAt, by, now)
			l.job.WarnsAt, l.job.KillAt = moved(l.job.WarnsAt, by, now), moved(l.job.KillAt, by, now)
			if l.suspended = (demand{}); l.job.IsSuspended() {
				c.keep(l)
			}
		}
		c.step.markDirtyQuietly(l)
		if l.job.State == job.Queued {
			c.consider(l, now)
		}
	}
	c.step.replan()
}

// moved is a moment by the clock that was set by so much. One that was read from
// the steady clock, too, is where that says.
func moved(at time.Time, by time.Duration, now time.Time) time.Time {
	switch {
	case at.IsZero():
		return at
	case at != at.Round(0) && now != now.Round(0):
		return now.Add(at.Sub(now))
	}
	return at.Add(by)
}

// clockSlack is how far a clock may be set before what is on record of a start is
// no longer believed.
const clockSlack = time.Minute

// correctStart puts the start of a running job where it was by the present clock, after
// that was set: a time limit is a time that passes, not a moment, and so
// are a slice, an expected run time, what is charged for GPUs, the notice before a
// stop and the wait before the start.
func (c *Core) correctStart(l *trackedJob, age time.Duration, now time.Time) {
	if age == 0 || l.job.State != job.Running || l.job.Attempt.StartedAt.IsZero() {
		return
	}
	began, was := now.Add(-age), l.job.Attempt.StartedAt
	switch off := began.Sub(was); {
	case off > clockSlack || off < -clockSlack:
		c.edit(l, func(a *job.Attempt) { a.StartedAt, a.PlacedAt = began, a.PlacedAt.Add(off) })
		l.job.QueuedAt = l.job.QueuedAt.Add(off)
		if !l.job.StopAt.IsZero() {
			l.job.StopAt = l.job.StopAt.Add(off)
		}
		if !l.job.WarnsAt.IsZero() {
			l.job.WarnsAt = l.job.WarnsAt.Add(off)
		}
		if l.job.IsSuspended() {
			l.job.SuspendedAt = l.job.SuspendedAt.Add(off)
			c.keep(l)
		}
	case was == was.Round(0) && now != now.Round(0): // what was read from disk has no steady clock, as now has
		a := *l.job.Attempt
		a.StartedAt, a.PlacedAt = began, began.Add(a.PlacedAt.Sub(was))
		l.job.Attempt = &a
	}
}
