package queue

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

// FillGPUMem sets the GPU memory of a submission that asks for what earlier runs took. If no run is
// known, it sets 0.
func (q *Book) FillGPUMem(s *job.Submission, now time.Time) {
	r := &s.Request
	if r.GPUMemBytes != job.AutoGPUMem {
		return
	}
	r.AutoMem, r.GPUMemBytes = true, 0
	if peak := q.estimates.Memory(predict.KindOf(q.accounts.Of(s.Owner, s.Principal).UID, r)); peak > 0 {
		r.GPUMemBytes = q.WithMargin(peak, autoMarginPercent, r, now)
	}
}

// WithMargin returns a peak plus a margin, in whole steps. The result is at most the largest memory
// that jobs can use on one of the GPUs allowed by the request.
func (q *Book) WithMargin(peak, percent int64, r *job.Request, now time.Time) int64 {
	amount := (peak + peak/100*percent + autoStep - 1) / autoStep * autoStep
	s := q.Snapshot(now)
	if len(s.GPUs) == 0 {
		return amount
	}
	return min(amount, max(0, sched.MostUsable(s, r)/autoStep*autoStep))
}

// SettleMemory sets the share of a GPU's memory that a job counts for, if the job was submitted
// before the GPUs were known. It reports whether it changed the job.
func (q *Book) SettleMemory(l *tracked.Job, now time.Time) bool {
	r := &l.Request
	if r.MemMilli > 0 || r.Part() == 0 || r.GPUMemBytes <= 0 {
		return false
	}
	part := sched.MemoryPart(q.Snapshot(now), r)
	if part == 0 {
		return false
	}
	q.SettleCapped(l, now)
	r.MemMilli = part
	q.MarkCapped(l, now)
	q.shell.MarkDirtyQuietly(l)
	q.Remove(l.ID)
	q.Push(q.WaitingJob(l))
	return true
}

// LearnMemory learns from an ended attempt how much GPU memory its command takes. If the attempt
// used more than was promised to it, the next attempt gets more.
func (q *Book) LearnMemory(l *tracked.Job, r *job.Result, again bool, now time.Time) {
	j, peak := l.Job, q.estimates.LearnMemory(l, r.Outcome == job.Completed, now)
	if again && j.Request.AutoMem && r.Outcome == job.GPUOutOfMemory {
		j.Request.GPUMemBytes = max(j.Request.GPUMemBytes, q.WithMargin(peak, overMarginPercent, &j.Request, now))
		j.Request.MemMilli = sched.MemoryPart(q.Snapshot(now), &j.Request)
	}
}
