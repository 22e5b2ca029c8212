package core

import (
	"fmt"

	"github.com/gpusched/gpusched/daemon/core/queue"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// Check verifies invariants 1 to 4 and 11 of the package and returns all breaches with their
// numbers. Tests call it after each step.
func (c *state) Check() error {
	var p job.Problems
	breach := func(invariant int, format string, args ...any) {
		p = append(p, job.Text(fmt.Sprintf("invariant %d: ", invariant)+fmt.Sprintf(format, args...)))
	}
	for id, l := range c.jobs.All() {
		c.checkJob(id, l, breach)
	}
	c.jobs.CheckHeld(breach)
	c.starts.Check(&c.jobs, breach)
	c.jobs.CheckCounts(breach)
	c.jobs.CheckLanes(breach)
	c.jobs.CheckPlaces(breach)
	c.checkQueue(breach)
	c.gpus.CheckUnkillable(breach)
	c.deps.Check(&c.jobs, breach)
	c.accounts.Check(breach)
	return p.Err()
}

// checkJob verifies that all data about one job is consistent.
func (c *state) checkJob(id job.ID, l *tracked.Job, breach tracked.Breach) {
	j := l.Job
	if j.ID != id || !j.State.Valid() || j.State.Terminal() {
		breach(1, "job %d is kept as %d in state %s", id, j.ID, j.State)
	}
	if j.Tasks != nil {
		c.checkArray(j, breach)
	}
	if j.Task != nil && c.jobs.Get(j.Task.Array) == nil {
		breach(11, "job %d is a task of array %d, which has ended", id, j.Task.Array)
	}
	open := j.Attempt != nil && j.Attempt.EndedAt.IsZero()
	switch {
	case j.State == job.Spawned:
	case j.State == job.Queued:
		if free := queue.MayStart(j); c.queue.Has(id) != (free && !c.jobs.HasTimer(id)) {
			breach(1, "job %d is in the queue: %t; held %q, too many failed: %t, waits for %d jobs, for a time %t", id, c.queue.Has(id), j.Held, j.TooManyFailed(), len(j.Pending), c.jobs.HasTimer(id))
		}
		if l.Action != tracked.NoAction {
			breach(3, "job %d is queued with an action under way", id)
		}
		if open {
			breach(4, "job %d is queued with an open attempt", id)
		}
	case !open:
		breach(4, "job %d is %s without an open attempt", id, j.State)
	case c.queue.Has(id) != j.Returns():
		breach(1, "job %d, parking %q, is in the queue: %t", id, j.Park, c.queue.Has(id))
	case j.Owed && !j.ParkWants:
		breach(1, "job %d is %s, and goes first when it waits", id, j.State)
	case j.Park != job.NotParked && (!j.IsSuspended() || len(j.ParkProcs) == 0) && j.State == job.Running:
		breach(4, "job %d, parking %q, is suspended: %t, with %d processes", id, j.Park, j.IsSuspended(), len(j.ParkProcs))
	}
}

// checkQueue verifies that the queue contains only known jobs.
func (c *state) checkQueue(breach tracked.Breach) {
	queue := 0
	for id := range c.jobs.All() {
		if c.queue.Has(id) {
			queue++
		}
	}
	if queue != c.queue.Len() {
		breach(11, "the queue has %d jobs of which %d are known", c.queue.Len(), queue)
	}
}

// checkArray verifies the counts of an array.
func (c *state) checkArray(j *job.Job, breach tracked.Breach) {
	if live := len(c.jobs.Tasks(j.ID)); live != j.Tasks.Live {
		breach(11, "array %d counts %d tasks and has %d", j.ID, j.Tasks.Live, live)
	}
	left := j.Tasks.Left(j.Request.Array.Size())
	if (left > 0) != (j.State == job.Queued) && j.Stop == "" {
		breach(11, "array %d is %s with %d tasks left", j.ID, j.State, left)
	}
	if _, dropped := j.Tasks.DroppedBy(j.Tasks.Next); dropped || j.Tasks.Passed(j.Tasks.Next) {
		breach(11, "array %d would start a task that was cancelled or is a job", j.ID)
	}
}
