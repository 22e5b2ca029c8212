package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// A sample may be seconds old, and others may use a GPU by now. A job that needs whole GPUs without
// foreign processes is therefore placed, which reserves them, and its unit starts only when a
// sample requested afterwards shows them free. Otherwise it returns to the queue without having
// run. If a sample has just arrived, no other is needed.

// needsSample reports whether a job's start relies on a sample of its GPUs.
func (c *state) needsSample(l *tracked.Job) bool {
	return c.policy.MaxForeignBytes > 0 && l.Request.Alone()
}

// checked starts the jobs whose GPUs have been sampled, or returns them to the queue.
func (c *lifecycle) checked(number uint64, now time.Time) {
	for l := range c.jobs.Live() {
		if l.Action != tracked.Checking || number < l.Awaits {
			continue
		}
		l.Action = tracked.NoAction
		why := c.gpus.Denied(l.Attempt.GPUs, now)
		if c.systemd.leaving() {
			why = job.Say("detail/going-down")
		}
		if !why.IsZero() {
			c.endAttempt(l, job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: why}, now)
		} else {
			c.start(l, now)
		}
	}
}
