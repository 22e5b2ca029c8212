package core

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// spawn makes the next task of an array a job of its own, which is about to be
// placed.
func (c *Core) spawn(array *live, now time.Time) *live {
	a := &array.job
	t := job.Job{
		ID: c.nextID, Owner: a.Owner, Label: a.Label, Request: a.Request, SubmittedAt: a.SubmittedAt, State: job.Queued, ChangedAt: now,
		Life: job.Life{QueuedAt: a.QueuedAt, Expected: a.Expected, Task: &job.Task{Array: a.ID, Index: a.Request.Array.At(a.Tasks.Next)}},
	}
	c.nextID++
	counts := *a.Tasks
	counts.Next++
	counts.Live++
	a.Tasks = &counts
	c.touch(array)
	c.queue.Take(a.ID)
	if counts.Next == a.Request.Array.Size() {
		c.move(array, job.Spawned, now)
	}
	l := c.adopt(t)
	c.queued++
	c.perUser[t.Owner.UID]++
	return l
}

// taskEnded counts the end of a task, and ends the array with its last one.
func (c *Core) taskEnded(l *live, now time.Time) {
	array := c.jobs[l.job.Task.Array]
	if array == nil {
		return
	}
	counts := *array.job.Tasks
	counts.Live--
	if l.job.State != job.Completed {
		counts.Failed++
	}
	array.job.Tasks = &counts
	c.touch(array)
	c.endArray(array, now)
}

// endArray ends an array none of whose tasks is left.
func (c *Core) endArray(array *live, now time.Time) {
	j := &array.job
	if j.State != job.Spawned || j.Tasks.Live > 0 {
		return
	}
	r := job.Result{Outcome: job.Completed}
	switch {
	case j.Stop == job.StopCancel:
		r = job.Result{Outcome: job.Cancelled, By: j.StopBy}
	case j.Tasks.Failed > 0:
		r = job.Result{Outcome: job.Failed, ExitCode: 1, Detail: fmt.Sprintf("%d of %d tasks did not complete", j.Tasks.Failed, j.Request.Array.Size())}
	}
	j.Result = &r
	delete(c.gates, j.ID)
	c.move(array, r.Outcome, now)
}

// cancelArray starts no more tasks and ends those there are.
func (c *Core) cancelArray(array *live, by string, now time.Time) {
	j := &array.job
	j.Stop, j.StopBy = job.StopCancel, by
	c.touch(array)
	if j.State == job.Queued {
		c.move(array, job.Spawned, now)
	}
	for _, l := range c.tasks(j.ID) {
		c.end(l, by, now)
	}
	c.endArray(array, now)
}

// tasks returns the live tasks of an array, by id.
func (c *Core) tasks(array job.ID) []*live {
	var list []*live
	for _, id := range c.sortedIDs() {
		if l := c.jobs[id]; l.job.Task != nil && l.job.Task.Array == array {
			list = append(list, l)
		}
	}
	return list
}
