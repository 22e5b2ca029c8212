package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// commandBegan notes that the job's command runs. If the job is the first task of its array whose
// command runs, the array has started as well. An attempt alone does not show that a command runs:
// systemd may have failed to start it.
func (c *lifecycle) commandBegan(l *tracked.Job, now time.Time) {
	if !l.Began {
		c.oweMessages(l, job.NotifyStart, now)
	}
	l.Began = true
	if l.Task == nil {
		return
	}
	if array := c.jobs.Get(l.Task.Array); array != nil && !array.Began {
		c.oweMessages(array, job.NotifyStart, now)
		array.Began = true
		c.step.markDirtyQuietly(array)
		c.updateFollowers(array, now)
	}
}

// oweMessages records the messages that an event causes and that are now owed to the job's owner.
func (c *lifecycle) oweMessages(l *tracked.Job, event job.NotifyEvent, now time.Time) {
	for _, n := range c.messages.Owe(l.Job, event, c.policy.WebhookInterval, now) {
		c.step.record(job.Record{Notification: &n})
	}
}

// pending returns those dependencies in a list that are not met yet.
func (c *state) pending(list []job.Dependency, known map[job.ID]job.End) ([]job.Dependency, *job.Refusal) {
	var open []job.Dependency
	for _, d := range list {
		end, ok := known[d.Job]
		if l := c.jobs.Get(d.Job); l != nil {
			end, ok = job.End{State: l.State, Started: l.Began}, true
		} else if recent, is := c.deps.EndOf(d.Job); is {
			end, ok = recent, true
		}
		if !ok {
			return nil, job.Refuse("not-found/awaited", d.Job, d.Kind, d.Job)
		}
		switch d.Judge(end.State, end.Started) {
		case job.Unmet:
			open = append(open, d)
		case job.Impossible:
			return nil, job.Refuse("never/dependency", c.jobs.Called(d.Job), end.State, d.Kind, d.Job)
		}
	}
	return open, nil
}

// stillOpen returns the unmet dependencies of a waiting job on record. The record may also list
// dependencies that are met: a job's record is not rewritten when one is met, since the other job's
// state shows that. If the other job is no longer known, the dependency is met. If the dependency
// had become impossible, the waiting job would have ended in the same step.
func (c *state) stillOpen(list []job.Dependency) []job.Dependency {
	var open []job.Dependency
	for _, d := range list {
		l := c.jobs.Get(d.Job)
		if l != nil && d.Judge(l.State, l.Began) == job.Unmet {
			open = append(open, d)
		}
	}
	return open
}

// updateFollowers updates the jobs that wait for l, according to l's state.
func (c *lifecycle) updateFollowers(l *tracked.Job, now time.Time) {
	j := l.Job
	end := job.End{State: j.State, Started: j.Began}
	if j.State.Terminal() {
		c.deps.Remember(j.ID, end)
	}
	for _, id := range c.deps.FollowersOf(j.ID) {
		c.updateFollower(c.jobs.Get(id), j.ID, end, now)
	}
}

// updateFollower updates one job's dependencies on another job. It removes dependencies that are
// met. If a dependency can no longer be met, it ends the job that waits.
func (c *lifecycle) updateFollower(f *tracked.Job, on job.ID, end job.End, now time.Time) {
	if f == nil || f.State != job.Queued {
		return // it was ended earlier in this step, because of another job
	}
	var open []job.Dependency
	waits := false
	for _, d := range f.Pending {
		if d.Job != on {
			open = append(open, d)
			continue
		}
		switch d.Judge(end.State, end.Started) {
		case job.Unmet:
			open, waits = append(open, d), true
		case job.Impossible:
			c.endUnmet(f, job.Say("detail/unmet", c.jobs.Called(on), end.State, d.Kind, d.Job), now)
			return
		}
	}
	if len(open) == len(f.Pending) {
		return
	}
	c.deps.CountEdges(f, len(open)-len(f.Pending))
	f.Pending = open
	if !waits {
		c.deps.RemoveFollower(on, f.ID)
	}
	if len(open) == 0 {
		c.step.markDirtyQuietly(f) // the record of a follower that still waits is not rewritten, see stillOpen
		c.queue.Consider(f, now)
	}
}

// endUnmet ends a job whose dependency can't be met. If the job is an array with tasks that have
// not ended, these tasks continue, no other task starts, and the array ends after these tasks.
func (c *lifecycle) endUnmet(l *tracked.Job, why job.Message, now time.Time) {
	j := l.Job
	if j.Tasks == nil || j.Tasks.Live == 0 {
		j.Result = &job.Result{Outcome: job.Cancelled, Detail: why}
		c.move(l, job.Cancelled, now)
		return
	}
	j.Stop, j.StopWhy = job.StopCancel, why
	c.move(l, job.Spawned, now)
}

// isCycle reports whether a job would wait for itself if it had these dependencies. A job that
// depends on an array also depends on each task of the array, and on all jobs for which the tasks
// wait.
func (c *state) isCycle(id job.ID, list []job.Dependency) bool {
	seen := map[job.ID]bool{}
	var todo []*tracked.Job
	meet := func(l *tracked.Job) {
		if l != nil && !seen[l.ID] {
			seen[l.ID] = true
			todo = append(todo, l)
		}
	}
	for _, d := range list {
		meet(c.jobs.Get(d.Job))
	}
	for ; len(todo) > 0; todo = todo[1:] {
		j := todo[0].Job
		if j.ID == id || j.Task != nil && j.Task.Array == id {
			return true
		}
		for _, d := range j.Pending {
			meet(c.jobs.Get(d.Job))
		}
		for t := range c.jobs.LiveTasks(j.ID) {
			if len(t.Pending) > 0 || t.ID == id {
				meet(t)
			}
		}
	}
	return false
}
