package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// startEnded counts how the start of an attempt went that has ended.
func (c *lifecycle) startEnded(l *tracked.Job, r *job.Result, now time.Time) {
	switch {
	case c.systemd.leaving():
	case r.Tries == 0 && r.Launch == "" && r.Outcome != job.Lost && !l.Attempt.StartedAt.IsZero():
		c.troubles.StartWorked(l, now)
	case r.Tries > 0 && r.Launch != "": // else its user may run nothing
		c.troubles.StartFailed(l, r.Detail, now)
		c.step.replan()
	}
}

// tryNow ends the back-off of the jobs that could not be started, of one account or of all.
func (c *Core) tryNow(a *sched.Account, now time.Time) {
	c.step.replan()
	failed := func(l *tracked.Job) bool {
		return l.State == job.Queued && tracked.TriesOf(l.Job) > 0 && (a == nil || l.Account == a)
	}
	for _, l := range c.jobs.Sorted(failed) {
		l.NotBefore = time.Time{}
		c.step.markDirtyQuietly(l)
		c.queue.consider(l, now)
	}
}

// NoStarts reports whether several jobs could not be started, none of anybody has been since, and
// some wait for that.
func (c *state) NoStarts(now time.Time) bool { return c.troubles.NoStarts(now) }

// StartTroubles are those that there are.
func (c *state) StartTroubles(now time.Time) []starts.Trouble { return c.troubles.List(now) }
