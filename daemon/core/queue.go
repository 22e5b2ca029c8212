package core

import (
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// enqueue counts a job among the queued ones and considers it.
func (c *Core) enqueue(l *live, now time.Time) {
	c.queued++
	c.perUser[l.job.Owner.UID]++
	c.consider(l, now)
}

func (c *Core) dequeue(l *live) {
	c.queue.Remove(l.job.ID)
	delete(c.timed, l.job.ID)
	c.queued--
	if c.perUser[l.job.Owner.UID]--; c.perUser[l.job.Owner.UID] == 0 {
		delete(c.perUser, l.job.Owner.UID)
	}
}

// consider puts a queued job where it belongs: to those that may start as soon
// as they fit, to those that wait for a time, or to neither while it is held
// back or waits for another. A zero now believes in no time's having come.
func (c *Core) consider(l *live, now time.Time) {
	j := &l.job
	c.queue.Remove(j.ID)
	delete(c.timed, j.ID)
	if j.State != job.Queued || j.Held != "" || len(j.Pending) > 0 {
		return
	}
	if at := notBefore(j); at.After(now) {
		c.timed[j.ID] = l
		return
	}
	if j.Expected == 0 {
		j.Expected = c.expect(j)
	}
	c.queue.Push(c.waiting(l))
	c.replan = true
}

// expect predicts a job's run time.
func (c *Core) expect(j *job.Job) time.Duration {
	run := time.Duration(0)
	if c.policy.Predict != nil {
		run = c.policy.Predict(j.ID)
	} else {
		run = c.predictor.Expect(j.Owner.UID, &j.Request)
	}
	return j.Served + sched.Remaining(run, j.Served, 0)
}

// waiting is the job as the queue takes it.
func (c *Core) waiting(l *live) sched.Waiting {
	j := &l.job
	request := j.Request // of its own: an update changes the job's
	w := sched.Waiting{ID: j.ID, Request: &request, Account: l.account, Since: sched.At(j.QueuedAt), Expected: j.Expected, Gate: l.gate, Count: 1}
	if j.Tasks != nil {
		w.Count = j.Tasks.Left(j.Request.Array.Size())
	}
	return w
}

// notBefore is when a queued job may start at the earliest; zero: at once.
func notBefore(j *job.Job) time.Time {
	if j.NotBefore.After(j.Request.Begin) {
		return j.NotBefore
	}
	return j.Request.Begin
}

// due considers the jobs whose time has come.
func (c *Core) due(now time.Time) {
	for _, id := range slices.Sorted(maps.Keys(c.timed)) {
		l := c.timed[id]
		if !notBefore(&l.job).After(now) {
			c.consider(l, now)
			c.touch(l)
		}
	}
}

// sendBack returns a job to the queue after an attempt. Toward keeps the time
// that it has waited, so that it comes before those that waited less; without
// it the job goes to the end.
func (c *Core) sendBack(l *live, toward bool, now time.Time) {
	j := &l.job
	ran := ranFor(j.Attempt, now)
	j.Served += ran
	j.Requeues++
	j.Expected = 0
	if j.QueuedAt = j.QueuedAt.Add(ran); !toward {
		j.QueuedAt = now
	}
	j.Stop, j.StopBy, j.StopFor, j.Warned = "", "", 0, false
	c.move(l, job.Queued, now)
}

// ranFor is how long an attempt had its GPUs.
func ranFor(a *job.Attempt, now time.Time) time.Duration {
	if a == nil {
		return 0
	}
	return max(0, now.Sub(a.PlacedAt))
}
