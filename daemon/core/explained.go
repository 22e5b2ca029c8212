package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// maxAhead is the largest number of jobs that one explanation lists as ahead of a waiting job.
const maxAhead = 10

// Explained lists the jobs that go before a waiting job. If the job is not in the queue, it returns
// false.
func (c *state) Explained(id job.ID, now time.Time) (out job.Explained, waits bool) {
	if !c.queue.Has(id) || !c.systemd.listed() {
		return out, false
	}
	c.queue.FindPlacements(now) // find again the jobs for which GPUs are kept: other uses of the queue overwrite this list
	kept := c.queue.Kept()
	list, all := c.queue.Ahead(c.queue.Snapshot(now), c.queue.Queue, id, maxAhead)
	out.More = all - len(list)
	for _, a := range list {
		j := c.jobs.Get(a.ID).Job
		out.Ahead = append(out.Ahead, job.Ahead{
			Job: a.ID, Called: j.Called(), User: j.Owner.User, Name: j.Label.Name, GPUMilli: j.Request.GPUMilli,
			Again: j.Attempt != nil, Kept: slices.Contains(kept, a.ID), Cause: a.Cause, Its: a.Its, Own: a.Own,
		})
	}
	return out, true
}

// Trial returns the changes to try for a job that waits for resources, or nil if there are none.
func (c *state) Trial(id job.ID, now time.Time) *foresight.Trial {
	l := c.jobs.Get(id)
	if l == nil || l.State != job.Queued || !c.queue.Has(id) || !c.systemd.listed() {
		return nil
	}
	free := l.Request
	free.TimeLimit = 0
	runs := foresight.Runs{
		Most: c.estimates.Most(l, now), Enough: c.estimates.KnowsRuns(l), Expected: c.estimates.ExpectedRun(l),
	}
	takes := func(w *job.Sooner) (r job.Request, expected time.Duration, ok bool) {
		if r, ok = c.changedTo(l.Job, w, now); ok {
			expected = c.estimates.ExpectedRun(l.Asking(r))
		}
		return r, expected, ok
	}
	return foresight.NewTrial(c.Foresee(now), l.Job, c.estimates.ExpectedRun(l.Asking(free)), runs, takes)
}

// changedTo returns a job's request with a change applied. It returns false if the change is not
// allowed.
func (c *state) changedTo(j *job.Job, w *job.Sooner, now time.Time) (job.Request, bool) {
	s := job.Submission{Owner: j.Owner, Principal: j.Principal, Label: j.Label, Request: j.Request}
	w.Change.Apply(&s)
	if s.Request.DefaultedMem && w.Change.GPUMilli != nil {
		s.Request.MemBytes = 0
	}
	c.applyDerivedDefaults(&s)
	if w.Any.GPUs {
		s.Request.GPUIDs, s.Request.GPUsFrom, s.Request.ExcludeGPUs = nil, nil, nil
	}
	if w.Any.Type {
		s.Request.GPUType = ""
	}
	if w.Any.Load {
		s.Request.MaxLoadPercent, s.Request.MaxUsedPercent = 0, 0
	}
	return s.Request, c.admitChange(&s, true, c.queue.Snapshot(now)) == nil
}
