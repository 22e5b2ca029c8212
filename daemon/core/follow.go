package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// endsSize is how many jobs are remembered after their end: a submission may
// name one that ended after the daemon looked it up, milliseconds ago.
const endsSize = 10_000

// startedOnce tells whether the job's command has ever run, or a task of it has
// become a job.
func startedOnce(j *job.Job) bool {
	return j.Attempt != nil && (j.Attempt.Number > 1 || !j.Attempt.StartedAt.IsZero()) || j.Tasks != nil && j.Tasks.Became() > 0
}

// findEnd returns where the job of a dependency stands.
func (c *Core) findEnd(id job.ID, known map[job.ID]job.End) (job.End, bool) {
	if l := c.jobs[id]; l != nil {
		return job.End{State: l.job.State, Started: startedOnce(&l.job)}, true
	}
	if end, ok := c.recent.get(id); ok {
		return end, true
	}
	end, ok := known[id]
	return end, ok
}

// pending returns the dependencies that are not met yet.
func (c *Core) pending(list []job.Dependency, known map[job.ID]job.End) ([]job.Dependency, *job.Refusal) {
	var open []job.Dependency
	for _, d := range list {
		end, ok := c.findEnd(d.Job, known)
		if !ok {
			return nil, refuse(job.RefusedNotFound, fmt.Sprintf("there is no job %d to wait for (%s)", d.Job, d), "see 'gpusched list -a'")
		}
		switch d.Judge(end.State, end.Started) {
		case job.Unmet:
			open = append(open, d)
		case job.Impossible:
			return nil, refuse(job.RefusedNever, fmt.Sprintf("can never start: job %d is %s, and %s asks otherwise", d.Job, end.State, d), "leave the dependency out")
		}
	}
	return open, nil
}

// follow has the job told of what it waits for.
func (c *Core) follow(l *live) {
	for _, d := range l.job.Pending {
		if !slices.Contains(c.followers[d.Job], l.job.ID) {
			c.followers[d.Job] = append(c.followers[d.Job], l.job.ID)
		}
	}
}

// tellFollowers lets the jobs that wait for this one know where it stands.
func (c *Core) tellFollowers(l *live, now time.Time) {
	j := &l.job
	end := job.End{State: j.State, Started: startedOnce(j)}
	if j.State.Terminal() {
		c.recent.add(j.ID, end)
	}
	list := c.followers[j.ID]
	if list == nil {
		return
	}
	if j.State.Terminal() {
		delete(c.followers, j.ID)
	}
	for _, id := range list {
		if f := c.jobs[id]; f != nil && f.job.State == job.Queued {
			c.judge(f, j.ID, end, now)
		}
	}
}

// judge strikes out what is met of a follower's dependencies on a job, or ends
// the follower where one can't be met any more.
func (c *Core) judge(f *live, on job.ID, end job.End, now time.Time) {
	var open []job.Dependency
	for _, d := range f.job.Pending {
		if d.Job != on {
			open = append(open, d)
			continue
		}
		switch d.Judge(end.State, end.Started) {
		case job.Unmet:
			open = append(open, d)
		case job.Impossible:
			c.endInVain(f, fmt.Sprintf("job %d is %s, and %s asked otherwise", on, end.State, d), now)
			return
		}
	}
	if len(open) < len(f.job.Pending) {
		f.job.Pending = open
		c.touch(f)
		c.consider(f, now)
	}
}

// endInVain ends a job that waits for what can't come. An array with tasks that
// have not ended starts no more, and ends after them: they need it.
func (c *Core) endInVain(l *live, why string, now time.Time) {
	j := &l.job
	if j.Tasks == nil || j.Tasks.Live == 0 {
		j.Result = &job.Result{Outcome: job.Cancelled, Detail: why}
		c.move(l, job.Cancelled, now)
		return
	}
	j.Stop, j.StopWhy, j.Pending = job.StopCancel, why, nil
	c.move(l, job.Spawned, now)
}

// circle tells whether a job would wait for itself if it waited for these. An
// array waits for its tasks, whatever they wait for.
func (c *Core) circle(id job.ID, list []job.Dependency) bool {
	seen := map[job.ID]bool{}
	var todo []*live
	meet := func(l *live) {
		if l != nil && !seen[l.job.ID] {
			seen[l.job.ID] = true
			todo = append(todo, l)
		}
	}
	for _, d := range list {
		meet(c.jobs[d.Job])
	}
	var waiting map[job.ID][]*live
	for ; len(todo) > 0; todo = todo[1:] {
		j := &todo[0].job
		if j.ID == id || j.Task != nil && j.Task.Array == id {
			return true
		}
		for _, d := range j.Pending {
			meet(c.jobs[d.Job])
		}
		if j.Tasks != nil && waiting == nil {
			waiting = c.waitingTasks(id)
		}
		for _, t := range waiting[j.ID] {
			meet(t)
		}
	}
	return false
}

// waitingTasks returns, by array, the tasks that wait for a job, and the one with
// an id.
func (c *Core) waitingTasks(id job.ID) map[job.ID][]*live {
	found := map[job.ID][]*live{}
	for _, l := range c.jobs {
		if t := l.job.Task; t != nil && (len(l.job.Pending) > 0 || l.job.ID == id) {
			found[t.Array] = append(found[t.Array], l)
		}
	}
	return found
}
