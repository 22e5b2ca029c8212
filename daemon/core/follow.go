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
			f.job.Result = &job.Result{Outcome: job.Cancelled, Detail: fmt.Sprintf("job %d is %s, and %s asked otherwise", on, end.State, d)}
			c.move(f, job.Cancelled, now)
			return
		}
	}
	if len(open) < len(f.job.Pending) {
		f.job.Pending = open
		c.touch(f)
		c.consider(f, now)
	}
}

// circle tells whether a job would wait for itself if it waited for these.
func (c *Core) circle(id job.ID, list []job.Dependency) bool {
	seen := map[job.ID]bool{}
	todo := slices.Clone(list)
	for len(todo) > 0 {
		on := todo[0].Job
		todo = todo[1:]
		if on == id {
			return true
		}
		if l := c.jobs[on]; l != nil && !seen[on] {
			seen[on] = true
			todo = append(todo, l.job.Pending...)
		}
	}
	return false
}
