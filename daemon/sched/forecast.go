package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// maxForecast is the maximum number of waiting jobs for which a forecast finds the starts. They are
// the first in order.
const maxForecast = 200

// manyFutures is the number of futures that are simulated if run times are uncertain. It must be
// prime, see quantile.
const manyFutures = 19

// Forecast predicts when the first waiting jobs start. To do so it simulates a number of futures.
// In each future, every job has a run time drawn from its estimate. A Forecast works on copies, and
// simulates only as far as its caller asks. Only one goroutine may use it at a time.
type Forecast struct {
	s         Snapshot
	waiting   []waitingCopy
	estimates map[job.ID]*predict.Estimate
	futures   []*future
	course    *future // the future that Course simulates; nil: Course was not called yet
	until     Instant // when the forecast ends; 0: at the farthest possible moment
	width     int     // the value of Planner.maxFailedShapes
}

// waitingCopy is a waiting job, with what its bucket knows about the job.
type waitingCopy struct {
	Waiting
	shape    *resourceShape
	priority job.Priority
}

// Forecast returns a forecast of when the first waiting jobs start if no jobs are added. A job
// without an estimate runs for as long as expected. The forecast leaves out jobs that never fit,
// and jobs that wait only because of a GPU's load. A call of Forecast costs about as much as a
// pass.
func (p *Planner) Forecast(s *Snapshot, q *Queue, estimateOf func(job.ID) *predict.Estimate) *Forecast {
	c := newCopies()
	f := &Forecast{s: c.snapshot(s), estimates: map[job.ID]*predict.Estimate{}, width: p.maxFailedShapes}
	for _, id := range p.Ordered(s, q, maxForecast) {
		e := q.entries[id]
		f.waiting = append(f.waiting, waitingCopy{c.waiting(e.waitingJob()), e.bucket.shape.detach(), e.bucket.priority})
		f.keepEstimate(id, estimateOf)
	}
	for i := range s.Running {
		f.keepEstimate(s.Running[i].ID, estimateOf)
	}
	return f
}

func (f *Forecast) keepEstimate(id job.ID, estimateOf func(job.ID) *predict.Estimate) {
	if estimateOf == nil {
		return
	}
	if e := estimateOf(id); e != nil {
		f.estimates[id] = e
	}
}

// Range is the expected start of a job: Likely, within a range of time. The job starts between
// Early and Late with a probability of about four in five. If Late is unknown, it is Never. If
// Likely is unknown, all three are zero. If a person fixed the moment, such as the end of a
// reservation or a drain, all three are equal.
type Range struct {
	Early, Likely, Late Instant
	Latest              bool // only limits of other jobs are known, so the job starts by Late, possibly long before
	Unknown             bool // the job waits for other jobs that, by all that is known, run for ever
}

// Simulate runs passes until the job's start is known. As soon as goOn returns false, Simulate
// stops and returns false.
func (f *Forecast) Simulate(goOn func() bool, id job.ID) bool {
	f.begin()
	for _, one := range f.futures {
		if !one.runUntilStart(id, goOn) {
			return false
		}
	}
	return goOn()
}

// Start returns when a job starts, if the forecast covers the job.
func (f *Forecast) Start(id job.ID) Range {
	f.Simulate(func() bool { return true }, id)
	at := make([]Instant, len(f.futures))
	for i := range f.futures {
		at[i] = f.futures[i].startOf(id)
	}
	slices.Sort(at)
	likely := f.likelyStart(at)
	if likely == Never {
		return Range{Unknown: f.futures[0].starts[id] == Never}
	}
	now, late := f.s.Now, at[len(at)-1]
	if alike := at[0] == late; alike && f.isFixed(late) {
		return Range{Early: late, Likely: late, Late: late}
	} else if alike && late > now && len(at) > 1 {
		return Range{Early: now, Likely: late, Late: late, Latest: true}
	}
	if late < Never {
		late = now.Add(time.Duration(float64(late-now) * margin))
	}
	return Range{Early: now.Add(time.Duration(float64(at[0]-now) / margin)), Likely: likely, Late: late}
}

// isFixed reports whether a person fixed this moment. That is so if all futures agree on the
// moment, and no running job of unknown length could end before.
func (f *Forecast) isFixed(at Instant) bool {
	for i := range f.s.Running {
		if e := f.estimates[f.s.Running[i].ID]; e != nil && !e.Known {
			return false
		}
	}
	return at == f.s.End.To ||
		slices.ContainsFunc(f.s.GPUs, func(g GPU) bool { return g.State != OK && g.ReadyAt == at }) ||
		slices.ContainsFunc(f.s.Reserved, func(r AdvanceReservation) bool { return r.From == at || r.To == at })
}

// A wait may be shorter or longer than in all futures, by the factor margin: the futures know
// nothing of jobs to come.
const margin = 1.25

// likelyStart returns the most central of the sorted starts. It finds the half of the starts that
// lie closest together, relative to the wait until they begin, and returns the middle of that half.
// If half of the starts are unknown, it returns Never.
func (f *Forecast) likelyStart(at []Instant) Instant {
	half, best, least := len(at)/2, Never, 2.0
	for i := 0; i+half < len(at) && at[i+half] < Never; i++ {
		from, to := float64(at[i]-f.s.Now), float64(at[i+half]-f.s.Now)
		if off := (to - from) / max(to+from, 1); off < least {
			best, least = f.s.Now.Add(time.Duration((from+to)/2)), off
		}
	}
	return best
}

// begin creates the futures. If all run times are known, one future is enough.
func (f *Forecast) begin() {
	if len(f.futures) > 0 {
		return
	}
	n := 1
	for _, e := range f.estimates {
		if e.Spread > 0 {
			n = manyFutures
		}
	}
	most := min(maxPasses, allPasses/n)
	for i := range n {
		f.futures = append(f.futures, newFuture(f, sampling{i, n}, most, nil))
	}
}

// Now returns the moment for which the forecast was made.
func (f *Forecast) Now() Instant { return f.s.Now }
