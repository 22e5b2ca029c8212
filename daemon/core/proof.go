package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// mayAwaitProof reports whether the end of an attempt with this result may have to wait for a test
// of its GPUs.
func (c *lifecycle) mayAwaitProof(l *tracked.Job, r *job.Result) bool {
	return c.policy.Prove && r.Outcome == job.Failed && len(l.HeldGPUs()) > 0
}

// awaitProof reports whether the end of an attempt waits until its GPUs are tested with CUDA. If a
// GPU is at fault, the job is queued again, see gpus.Book.Culprit.
func (c *lifecycle) awaitProof(l *tracked.Job, over, now time.Time) bool {
	if !c.policy.Prove || l.Stop != "" || c.systemd.leaving() {
		return false
	}
	r := c.result(l.Job)
	if !c.gpus.AwaitProof(l, &r, over, now) {
		return false
	}
	l.Action = tracked.Proving
	c.unproved = append(c.unproved, l.ID)
	return true
}

// prove ends the jobs that no longer wait for a test, and begins the tests that are due.
func (c *Core) prove(now time.Time) {
	waiting := c.unproved
	c.unproved = nil // closeAttempt below may add a job that waits for another test
	for _, id := range waiting {
		l := c.jobs.Active(id)
		if !c.systemd.leaving() && c.gpus.Awaits(id, now) {
			c.unproved = append(c.unproved, id)
		} else if l != nil && l.Action == tracked.Proving {
			l.Action = tracked.NoAction
			c.closeAttempt(l, now)
		}
	}
	if !c.systemd.leaving() && c.systemd.listed() {
		c.gpus.BeginProofs(now)
		c.applyFindings(now)
	}
}

// endTest handles the end of a test.
func (c *Core) endTest(e *gpus.ProofEnded, now time.Time) {
	c.gpus.Proved(e, now)
	c.applyFindings(now)
	c.step.replan()
}
