package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// spawn turns the next task of an array into a job, which is about to be placed.
func (c *lifecycle) spawn(array *tracked.Job, now time.Time) *tracked.Job {
	a := array.Job
	waits := c.queue.WaitStart(a).Add(array.Account.Capped(a.Request.QuotaMilli(), sched.At(now)) - a.Capped)
	t := job.Job{
		ID: c.jobs.Next(), Owner: a.Owner, Label: a.Label, Request: a.Request,
		SubmittedAt: a.SubmittedAt, State: job.Queued, ChangedAt: now,
		Life: job.Life{
			QueuedAt: waits, Expected: a.Expected, Principal: a.Principal,
			Task: &job.Task{Array: a.ID, Index: a.Request.Array.At(a.Tasks.Next)},
		},
	}
	c.jobs.Claim(t.ID)
	counts := a.Tasks.Pass()
	a.Tasks = &counts
	c.queue.Take(a.ID)
	c.queue.RestartWait(array, now)
	if counts.Next == a.Request.Array.Size() {
		c.move(array, job.Spawned, now)
	}
	l := c.adopt(&t)
	c.queue.MarkCapped(l, now)
	c.jobs.EnterQueue(l)
	return l
}

// chargePlaced charges a placed job's resources to its accounts, and counts the job towards its
// array's limit and its lanes.
func (c *lifecycle) chargePlaced(l *tracked.Job, now time.Time) {
	c.accounts.Charge(l, now)
	l.Throttle.Count(1)
}

// settle undoes chargePlaced at the end of an attempt. If the array was at its limit, its next task
// waits from now on.
func (c *lifecycle) settle(l *tracked.Job, now time.Time) {
	c.accounts.Settle(l, now)
	l.Throttle.End(sched.At(now))
	if a := l.Request.Array; l.Task != nil && a != nil && a.Limit > 0 && l.Throttle.Lane.Running == a.Limit-1 {
		if array := c.jobs.Get(l.Task.Array); array != nil && array.State == job.Queued {
			c.queue.RestartWait(array, now)
		}
	}
}

// taskEnded counts the end of a task. The end of the last task also ends the array.
func (c *lifecycle) taskEnded(l *tracked.Job, now time.Time) {
	array := c.jobs.Get(l.Task.Array)
	if array == nil {
		return
	}
	counts := *array.Tasks
	counts.Live--
	if l.State != job.Completed {
		counts.Failed++
		if l.State != job.Cancelled {
			counts.Failures++
		}
	}
	started := !array.TooManyFailed()
	array.Tasks = &counts
	c.step.markDirtyQuietly(array)
	if started && array.TooManyFailed() {
		c.step.markDirty(array) // unlike markDirtyQuietly, this logs the change
		c.queue.Consider(array, now)
	}
	c.endArray(array, now)
}

// endArray ends an array that has no tasks left.
func (c *lifecycle) endArray(array *tracked.Job, now time.Time) {
	j := array.Job
	if j.State != job.Spawned || j.Tasks.Live > 0 {
		return
	}
	r := arrayResult(j)
	j.Result = &r
	c.move(array, r.Outcome, now)
}

// arrayResult sums up how the tasks ended. A task that was cancelled, even before its start, did
// not complete.
func arrayResult(j *job.Job) job.Result {
	size := j.Request.Array.Size()
	bad := j.Tasks.Failed + j.Tasks.Cancelled()
	switch {
	case j.Stop == job.StopCancel:
		return job.Result{Outcome: job.Cancelled, By: j.StopBy, Detail: j.StopWhy}
	case j.Tasks.Cancelled() == size:
		return job.Result{Outcome: job.Cancelled, By: j.Tasks.Dropped[len(j.Tasks.Dropped)-1].By}
	case bad > 0:
		return job.Result{Outcome: job.Failed, ExitCode: 1, Detail: job.Say("detail/tasks", bad, size)}
	}
	return job.Result{Outcome: job.Completed}
}

// cancelTask cancels one task of an array. The task need not have become a job.
func (c *Core) cancelTask(array *tracked.Job, index int, by string, now time.Time) *job.Refusal {
	j, at := array.Job, -1
	if j.Tasks != nil {
		at = j.Request.Array.Position(index)
	}
	name := job.Task{Array: j.ID, Index: index}
	if at < 0 {
		return job.Refuse("not-found/task", name, j.ID)
	}
	if who, yes := j.Tasks.DroppedBy(at); yes {
		return job.Refuse("conflict/task-cancelled", name, who)
	}
	if j.Tasks.Passed(at) { // the task became a job, perhaps after the command was sent
		for _, l := range c.jobs.Tasks(j.ID) {
			if l.Task.Index == index {
				c.cancelJob(l, by, now)
				return nil
			}
		}
		return job.Refuse("conflict/task-ended", name)
	}
	if j.Stop != "" {
		return job.Refuse("conflict/task-of-array", name)
	}
	counts := j.Tasks.Drop(at, by)
	if len(counts.Dropped) > job.MaxDrops {
		return job.Refuse("policy/dropped", j.ID, job.MaxDrops)
	}
	j.Tasks = &counts
	c.step.markDirty(array)
	c.queue.Take(j.ID)
	if counts.Next == j.Request.Array.Size() {
		c.move(array, job.Spawned, now)
		c.endArray(array, now)
	}
	return nil
}

// cancelArray makes an array start no more tasks, and ends its running ones.
func (c *Core) cancelArray(array *tracked.Job, by string, now time.Time) {
	j := array.Job
	j.Stop, j.StopBy, j.StopWhy = job.StopCancel, by, job.Message{}
	c.step.markDirty(array)
	if j.State == job.Queued {
		c.move(array, job.Spawned, now)
	}
	for _, l := range c.jobs.Tasks(j.ID) {
		c.cancelJob(l, by, now)
	}
	c.endArray(array, now)
}

// arrayCommand applies a command to those tasks of an array whose state allows the command. For the
// tasks that have not become jobs, it applies the command to the array itself. Other tasks stay
// unchanged; 'gpusched show' lists them.
func (c *Core) arrayCommand(array *tracked.Job, e Command, now time.Time) *job.Refusal {
	state, none := job.Queued, job.Refuse("conflict/no-task-waits", array.Called())
	if e.What.Kind == job.CommandRequeue {
		state, none = job.Running, job.Refuse("conflict/no-task-runs", array.Called())
	}
	var list []*tracked.Job
	waits := array.State == state
	some := waits || e.What.Kind == job.CommandRelease && array.Heir != nil
	for _, t := range c.jobs.Tasks(array.ID) {
		if t.Shown() != state && !canHold(t, &e) || !e.Who.MayControl(t.Job) { // the uid may belong to another account now
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
		if ch != nil && len(ch.Others("ArrayLimit", "MaxFailures")) == 0 { // the change only sets options of the array itself
			list = nil
		}
		return c.update(append(list, array), e, now)
	}
	if waits {
		list = append(list, array)
	}
	done, refusal := false, (*job.Refusal)(nil)
	for _, l := range list {
		no := c.oneCommand(l, e, now)
		done, refusal = done || no == nil, cmp.Or(refusal, no)
	}
	if done { // at least one command succeeded
		refusal = nil
	}
	if refusal == nil && e.What.Kind == job.CommandRelease && array.Heir != nil { // the array itself is handed over too
		c.hold(array, e, now)
	}
	return refusal
}

// waiter returns the job whose reasons explain why l waits, or nil if l does not wait. Usually that
// job is l itself. If l is an array whose tasks have all become jobs, that job is the first
// requeued task that nobody holds or, if all are held, the first requeued task.
func (c *state) waiter(l *tracked.Job) *tracked.Job {
	if l.State != job.Spawned {
		if l.State == job.Queued || l.Action == tracked.InLine || l.Returns() {
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
