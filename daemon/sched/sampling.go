package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// sampling says which of how many futures one is: a prime number of them.
type sampling struct{ number, of int }

// quantile is the part of like jobs that run for less time than this one does in this future. Over
// all futures it is each of the middles of so many equal parts once, in an order that is another
// for nearly every job.
func (s sampling) quantile(id job.ID) float64 {
	h := uint64(id) * 0x9e3779b97f4a7c15 // a common mix of bits (splitmix64)
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h ^= h >> 27
	step, from := 1+h%uint64(max(1, s.of-1)), h>>32
	at := (uint64(s.number)*step + from) % uint64(s.of)
	return (float64(at) + 0.5) / float64(s.of)
}

// runTime is how long a job runs in this future, of which it has run so long already, also if
// it is stopped on the way.
func (f *future) runTime(id job.ID, e *predict.Estimate, ran time.Duration) time.Duration {
	d, ok := f.runTimes[id]
	if !ok {
		d = e.Draw(f.sampling.quantile(id), ran)
		f.runTimes[id] = d
	}
	return d
}

// decide says when a job that runs ends, where something is believed of it: never, where nothing
// is known of jobs like it and it has no limit.
func (f *future) setEnd(r *Running, x *fate) {
	switch {
	case x.estimate == nil:
	case !x.estimate.Known:
		x.ends = x.limit
	case f.course != nil: // as expected
	default:
		ran := r.Served + r.ran(f.machine.Now)
		left := f.runTime(r.ID, x.estimate, ran) - ran
		x.ends = min(f.machine.Now.Add(max(0, left)), x.limit)
	}
}

// rest puts off the end of a job that stands still for so long.
func (x *fate) postpone(d Instant) {
	x.ends, x.limit = x.ends.Add(time.Duration(d)), x.limit.Add(time.Duration(d))
}

// outlast has a job be expected to run on that has run for longer than was expected of it.
func (f *future) extendEnd(r *Running, x *fate) {
	if r.End > f.machine.Now || x.estimate == nil {
		return
	}
	ran := r.Served + r.ran(f.machine.Now)
	r.Expected = x.estimate.Total(ran)
	r.End = min(f.machine.Now.Add(r.Expected-ran), x.limit)
	r.Late = min(f.machine.Now.Add(x.estimate.Late(ran)-ran), x.limit)
}
