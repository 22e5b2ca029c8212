package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// arrayCommand does what is asked of an array to those of its tasks that it can be done to, and to the array
// itself for the tasks that are still to become jobs. The other tasks stay as they are; show names them.
func (c *Core) arrayCommand(array *tracked.Job, e Command, now time.Time) *job.Refusal {
	state, none := job.Queued, job.Refuse("conflict/no-task-waits", array.Called())
	if e.What.Kind == job.CommandRequeue {
		state, none = job.Running, job.Refuse("conflict/no-task-runs", array.Called())
	}
	var list []*tracked.Job
	waits := array.State == state
	some := waits || e.What.Kind == job.CommandRelease && array.Heir != nil
	for _, t := range c.jobs.Tasks(array.ID) {
		if t.Shown() != state && !canHold(t, &e) || !e.Who.MayControl(t.Job) { // its owner's number may be another's by now
			continue
		}
		some = true
		if e.What.Kind != job.CommandRelease || t.Held != "" {
			list = append(list, t)
		}
	}
	if !some {
		return none
	}
	if ch := e.What.Change; e.What.Kind == job.CommandUpdate {
		if ch != nil && len(ch.Others("ArrayLimit", "MaxFailures")) == 0 { // which are the array's alone
			list = nil
		}
		return c.update(append(list, array), e, now)
	}
	if waits {
		list = append(list, array)
	}
	refusal := c.eachOf(list, e, now)
	if refusal == nil && e.What.Kind == job.CommandRelease && array.Heir != nil { // its tasks have been handed over
		c.hold(array, e, now)
	}
	return refusal
}

// eachOf does something to jobs, and is refused where it could be done to none of them.
func (c *Core) eachOf(list []*tracked.Job, e Command, now time.Time) (first *job.Refusal) {
	done := false
	for _, l := range list {
		refusal := c.oneCommand(l, e, now)
		done, first = done || refusal == nil, cmp.Or(first, refusal)
	}
	if done {
		return nil
	}
	return first // nil for no job
}

// waiter is the job whose reasons to wait a job has: itself, or, of an array whose tasks are all jobs, the first of
// those that wait again and nobody holds, or else the first; nil where it does not wait.
func (c *state) waiter(l *tracked.Job) *tracked.Job {
	if l.State != job.Spawned {
		if l.State == job.Queued || l.Action == tracked.InLine {
			return l
		}
		return nil
	}
	var first *tracked.Job
	for t := range c.jobs.LiveTasks(l.ID) {
		better := first == nil || t.Held == "" && first.Held != "" ||
			(t.Held == "") == (first.Held == "") && t.ID < first.ID
		if t.Shown() == job.Queued && better {
			first = t
		}
	}
	return first
}
