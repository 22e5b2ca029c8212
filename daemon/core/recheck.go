package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// A sample may be seconds old, and a foreign process may have begun to use a GPU since. So a job
// that needs whole GPUs without foreign processes is first placed, which reserves the GPUs. Its
// unit starts only when a sample that was requested later shows the GPUs free. If they are not
// free, the job returns to the queue without an attempt. If a sample arrived in the same step, no
// second one is needed.

// needsSample reports whether a job's start relies on a sample of its GPUs.
func (c *state) needsSample(l *tracked.Job) bool {
	return c.policy.MaxForeignBytes > 0 && l.Request.Alone()
}

// startChecked starts the jobs whose GPUs have been sampled, or returns them to the queue.
func (c *lifecycle) startChecked(number uint64, now time.Time) {
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
			c.startUnit(l, now)
		}
	}
}
