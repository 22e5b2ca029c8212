package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A job may ask for as much GPU memory as its command took in earlier runs. It then gets that
// amount plus a margin, in whole steps. If it is stopped for using more than that, its peak is not
// known yet, so the next attempt gets the larger margin.
const (
	autoMarginPercent = 15
	autoStep          = 256 << 20
	overMarginPercent = 50
)

// fillGPUMem sets the GPU memory of a submission that asks for what earlier runs took. If no run is
// known, it sets 0.
func (q *queue) fillGPUMem(s *job.Submission, now time.Time) {
	r := &s.Request
	if r.GPUMemBytes != job.AutoGPUMem {
		return
	}
	r.AutoMem, r.GPUMemBytes = true, 0
	if peak := q.estimates.Memory(predict.KindOf(q.accounts.Of(s.Owner, s.Principal).UID, r)); peak > 0 {
		r.GPUMemBytes = q.withMargin(peak, autoMarginPercent, r, now)
	}
}

// withMargin returns a peak plus a margin, in whole steps. The result is at most the largest memory
// that jobs can use on one of the GPUs allowed by the request.
func (q *queue) withMargin(peak, percent int64, r *job.Request, now time.Time) int64 {
	amount := (peak + peak/100*percent + autoStep - 1) / autoStep * autoStep
	s := q.snapshot(now)
	if len(s.GPUs) == 0 {
		return amount
	}
	return min(amount, max(0, sched.MostUsable(s, r)/autoStep*autoStep))
}

// settleMemory sets the share of a GPU's memory that a job counts for, if the job was submitted
// before the GPUs were known. It reports whether it changed the job.
func (q *queue) settleMemory(l *tracked.Job, now time.Time) bool {
	r := &l.Request
	if r.MemMilli > 0 || r.Part() == 0 || r.GPUMemBytes <= 0 {
		return false
	}
	part := sched.MemoryPart(q.snapshot(now), r)
	if part == 0 {
		return false
	}
	q.settleCapped(l, now)
	r.MemMilli = part
	q.markCapped(l, now)
	q.step.markDirtyQuietly(l)
	q.Remove(l.ID)
	q.Push(q.waitingJob(l))
	return true
}

// learnMemory learns from an ended attempt how much GPU memory its command takes. If the attempt
// used more than was promised to it, the next attempt gets more.
func (c *lifecycle) learnMemory(l *tracked.Job, r *job.Result, again bool, now time.Time) {
	j, peak := l.Job, c.estimates.LearnMemory(l, r.Outcome == job.Completed, now)
	if again && j.Request.AutoMem && r.Outcome == job.GPUOutOfMemory {
		j.Request.GPUMemBytes = max(j.Request.GPUMemBytes, c.queue.withMargin(peak, overMarginPercent, &j.Request, now))
		j.Request.MemMilli = sched.MemoryPart(c.queue.snapshot(now), &j.Request)
	}
}
