package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// A sample may be seconds old, and a GPU may be in use by others since. A
// job that is to have whole GPUs alone is therefore placed, which keeps them for
// it, and its unit is started only when a sample that was asked for afterwards
// shows them free; else it goes back to the queue and nothing of it has run. What
// a sample has just brought needs no other.

// needsSample reports whether the start of a job rests on a look at its GPUs.
func (c *state) needsSample(l *tracked.Job) bool {
	return c.policy.MaxForeignBytes > 0 && l.Request.Alone()
}

// checked starts the jobs whose GPUs have been looked at, or takes them back.
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
