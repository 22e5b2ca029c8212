package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// What lies in the past lies as long ago after somebody has set the clock as it
// did before: waits, run times, back-offs and the use of GPUs. Begin times,
// reservations and the ends of pauses are moments by the clock and stay.

// clockSet notes that the clock was set by so much.
func (c *Core) clockSet(by time.Duration, now time.Time) {
	c.accounts.shift(by)
	c.starvation.shift(by, now)
	c.systemd.shift(by, now)
	c.jobs.clearTimers() // its order was by the other clock
	for _, id := range c.jobs.sortedIDs() {
		l := c.jobs.get(id)
		j := &l.job
		j.QueuedAt, j.AwayAt, j.NotBefore = moved(j.QueuedAt, by, now), moved(j.AwayAt, by, now), moved(j.NotBefore, by, now)
		if j.Tasks != nil {
			counts := *j.Tasks
			counts.TurnAt = moved(counts.TurnAt, by, now)
			j.Tasks = &counts
		}
		if l.job.State.Live() {
			c.edit(l, func(a *job.Attempt) {
				a.PlacedAt, a.StartedAt = moved(a.PlacedAt, by, now), moved(a.StartedAt, by, now)
			})
			l.job.StopAt = moved(l.job.StopAt, by, now)
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
