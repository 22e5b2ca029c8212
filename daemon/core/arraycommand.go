package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// arrayCommand does what is asked of an array to those of its tasks that it can be done to, and to the array
// itself for the tasks that are still to become jobs. The other tasks stay as they are; show names them.
func (c *Core) arrayCommand(array *trackedJob, e Command, now time.Time) *job.Refusal {
	state, none := job.Queued, job.Refuse("conflict/no-task-waits", array.job.Called())
	if e.What.Kind == job.CommandRequeue {
		state, none = job.Running, job.Refuse("conflict/no-task-runs", array.job.Called())
	}
	var list []*trackedJob
	waits := array.job.State == state
	some := waits || e.What.Kind == job.CommandRelease && array.job.Heir != nil
	for _, t := range c.jobs.tasks(array.job.ID) {
		if t.shown() != state && !t.canHold(&e) || !e.Who.MayControl(t.job) { // its owner's number may be another's by now
			continue
		}
		some = true
		if e.What.Kind != job.CommandRelease || t.job.Held != "" {
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
	if refusal == nil && e.What.Kind == job.CommandRelease && array.job.Heir != nil { // its tasks have been handed over
		c.hold(array, e, now)
	}
	return refusal
}

// eachOf does something to jobs, and is refused where it could be done to none of them.
func (c *Core) eachOf(list []*trackedJob, e Command, now time.Time) (first *job.Refusal) {
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

// standing is how the tasks of an array that have become jobs, and not ended, stand.
func (b *jobBook) standing(array job.ID) (s job.LiveTasks) {
	for _, t := range b.tasks(array) {
		switch index := t.job.Task.Index; {
		case t.shown() != job.Queued:
			s.Running = append(s.Running, index)
		default:
			s.Waiting = append(s.Waiting, index)
			if t.job.Held != "" {
				s.Held++
			}
		}
	}
	return s
}

// waiter is the job whose reasons to wait a job has: itself, or, of an array whose tasks are all jobs, the first of
// those that wait again and nobody holds, or else the first; nil where it does not wait.
func (c *Core) waiter(l *trackedJob) *trackedJob {
	if l.job.State != job.Spawned {
		if l.job.State == job.Queued || l.action == inLine {
			return l
		}
		return nil
	}
	var first *trackedJob
	for t := range c.jobs.liveTasks(l.id) {
		better := first == nil || t.job.Held == "" && first.job.Held != "" ||
			(t.job.Held == "") == (first.job.Held == "") && t.id < first.id
		if t.shown() == job.Queued && better {
			first = t
		}
	}
	return first
}
