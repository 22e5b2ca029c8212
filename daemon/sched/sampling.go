package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// sampling identifies one of several futures. The number of futures is prime.
type sampling struct{ number, of int }

// quantile returns the fraction of similar jobs that run shorter than the job does in this future.
// The range from 0 to 1 is divided into equal parts, as many as there are futures. Each future
// takes the middle of one part, and no two futures take the same part. For nearly every job, the
// parts are given to the futures in another order.
func (s sampling) quantile(id job.ID) float64 {
	h := uint64(id) * 0x9e3779b97f4a7c15 // a common way to mix bits (splitmix64)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h ^= h >> 27
	step, from := 1+h%uint64(max(1, s.of-1)), h>>32
	at := (uint64(s.number)*step + from) % uint64(s.of)
	return (float64(at) + 0.5) / float64(s.of)
}

// runTime returns the run time, in this future, of a job that has run for the given time already.
// If the job is preempted, its run time stays the same.
func (f *future) runTime(id job.ID, e *predict.Estimate, elapsed time.Duration) time.Duration {
	d, ok := f.runTimes[id]
	if !ok {
		d = e.Draw(f.sampling.quantile(id), elapsed)
		f.runTimes[id] = d
	}
	return d
}

// setEnd sets the real end of a running job if the job has an estimate. If nothing is known about
// similar jobs, only the job's limit ends it.
func (f *future) setEnd(r *Running, x *fate) {
	switch {
	case x.estimate == nil:
	case !x.estimate.Known:
		x.ends = x.limit
	case f.course != nil: // in a course, run times are as expected
	default:
		ran := r.Served + r.runTimeAt(f.machine.Now)
		left := f.runTime(r.ID, x.estimate, ran) - ran
		x.ends = min(f.machine.Now.Add(max(0, left)), x.limit)
	}
}

// postpone delays the end of a suspended job.
func (x *fate) postpone(d Instant) {
	x.ends, x.limit = x.ends.Add(time.Duration(d)), x.limit.Add(time.Duration(d))
}

// extendEnd sets a later expected end for a job that has run longer than expected.
func (f *future) extendEnd(r *Running, x *fate) {
	if r.End > f.machine.Now || x.estimate == nil {
		return
	}
	ran := r.Served + r.runTimeAt(f.machine.Now)
	r.Expected = x.estimate.Total(ran)
	r.End = min(f.machine.Now.Add(r.Expected-ran), x.limit)
	r.Late = min(f.machine.Now.Add(x.estimate.Late(ran)-ran), x.limit)
}
