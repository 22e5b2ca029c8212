package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// Whoever has a process on a GPU began it while their job ran, or after that: systemd
// knows when a command ended, and the scheduler learns of it later, sometimes much.

// sawUnit takes in what a unit says of when its command ran.
func sawUnit(l *tracked.Job, u *Unit, now time.Time) {
	switch t, read := l.Lifetime(), now.Add(-u.Old); {
	case u.Phase == Active:
		t.SawProcess(read)
	case u.Phase == Exited && u.EndAge != 0:
		t.Ended, t.Spent = read.Add(-u.EndAge), t.Spent || u.Spent
	}
}

// startPatience is how long a start may go unanswered before its unit is looked at where
// something happens to it, and at each listing: the answer may be lost.
const startPatience = time.Second

// lookEarly looks at the unit of a start that has not been answered for long.
func (c *lifecycle) lookEarly(l *tracked.Job, now time.Time) {
	if l.Action == tracked.Starting && now.Sub(l.Lifetime().Asked) > startPatience {
		w := whose(l.Job)
		w.Attempt = l.Attempt.Number
		c.step.act(Inspect{Job: l.ID, Attempt: w.Attempt, Whose: w, Early: true})
	}
}

// noteAlive puts on record that the machine is on, so that what a reboot or a power cut takes is
// known to have run up to now. What is on record stays while it is needed.
func (c *lifecycle) noteAlive(now time.Time) {
	for _, l := range c.jobs.AllActive() {
		if c.systemd.wasOff(l.Attempt) {
			return
		}
	}
	if c.systemd.listed() && c.jobs.ActiveCount() > 0 {
		c.step.record(job.Record{Alive: now})
	}
}

// ranUntil returns the time until which an attempt ran that has no EndedAt yet: now, or when its command ended
// if nothing of it was left then. One that a reboot took ran until the machine was last known to be on, and so did one
// whose unit went while no daemon was there.
func (c *state) ranUntil(l *tracked.Job, now time.Time) time.Time {
	at := now
	switch {
	case c.systemd.wasOff(l.Attempt), l.Lifetime().Gone && l.Lifetime().Alive.IsZero():
		at = c.systemd.lastSeen()
	case l.Lifetime().Spent:
		at = l.Lifetime().Ended
	}
	at = job.Later(at, job.Later(l.Attempt.PlacedAt, l.Attempt.StartedAt))
	if at.After(now) {
		return now
	}
	return at
}
