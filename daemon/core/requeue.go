package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// Passes returns how many times the queue has been planned.
func (c *state) Passes() uint64 { return c.queue.Passes() }

// requeueAt says where a job goes in the queue after an attempt.
type requeueAt int

const (
	nowhere   requeueAt = iota // nowhere, since the job has ended
	samePlace                  // the job keeps the time for which it has waited
	tail                       // the job waits from now on
	fresh                      // like tail, but the time for which the job ran so far does not count
)

// requeueAfter returns a job to the queue after an attempt. If the attempt never began, this return
// does not count as a requeue.
func (c *lifecycle) requeueAfter(l *tracked.Job, how requeueAt, now time.Time) {
	j := l.Job
	ran := tracked.RanFor(j, j.Attempt.EndedAt)
	if !j.Attempt.StartedAt.IsZero() && tracked.TriesOf(j) == 0 {
		j.Served += ran
		j.Requeues++
	}
	j.Expected = 0
	j.QueuedAt = j.QueuedAt.Add(ran + j.SuspendedFor(now))
	if how != samePlace || j.QueuedAt.After(now) { // the clock may have been set back while no daemon ran
		j.QueuedAt = now
	}
	if how == fresh {
		j.Served, j.Taught = 0, 0
	}
	j.Owed = false // a parked job may have waited for its GPUs
	j.StopOrder, j.Suspension, j.Parking = job.StopOrder{}, job.Suspension{}, job.Parking{}
	c.move(l, job.Queued, now)
}
