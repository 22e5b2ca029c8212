package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// maxForecast is for how many waiting jobs, the first in order, a start is forecast.
const maxForecast = 200

// manyFutures is how many are looked at where run times are not known: a prime number, see quantile.
const manyFutures = 19

// Forecast foretells when the first waiting jobs start, from some futures: in each of them
// all that runs and waits runs for as long as it may, by what is believed of it. It goes as far
// as it has been asked for, and needs neither the planner nor anything else that goes on
// meanwhile. It must be used by one goroutine at a time.
type Forecast struct {
	s         Snapshot
	waiting   []waitingCopy
	estimates map[job.ID]*predict.Estimate
	futures   []*future
	course    *future // see Course; nil: not asked for
	until     Instant // it goes no further; 0: as far as forecasts do
	width     int     // see Planner.maxFailedShapes
}

// waitingCopy is a waiting job with what its bucket says of it.
type waitingCopy struct {
	Waiting
	shape    *resourceShape
	priority job.Priority
}

// Forecast returns what foretells when the first waiting jobs start if nothing new comes, by
// making the passes to come. Jobs run for as long as it is believed of them, or for as long as
// expected where nothing is. Jobs that never fit by themselves are left out, and those that only
// the load of a GPU keeps waiting. To make it costs about as much as a pass.
func (p *Planner) Forecast(s *Snapshot, q *Queue, estimateOf func(job.ID) *predict.Estimate) *Forecast {
	c := newCopies()
	f := &Forecast{s: c.snapshot(s), estimates: map[job.ID]*predict.Estimate{}, width: p.maxFailedShapes}
	for _, id := range p.Ordered(s, q, maxForecast) {
		e := q.entries[id]
		f.waiting = append(f.waiting, waitingCopy{c.waiting(e.waiting()), e.bucket.shape.like(), e.bucket.priority})
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

// Range is when a job is expected to start. With a chance of about four in five it is from Early
// to Late, which is Never where nobody can say; all are zero where Likely is not known. Where a person
// fixed the moment, as the end of a reservation or of a drain, all three are that moment.
type Range struct {
	Early, Likely, Late Instant
	Latest              bool // only limits are known of what it waits for: it starts at Late at the latest, or long before
	Unknown             bool // as others that it waits for run for ever, as far as is known
}

// GoOn makes the passes that are needed to foretell when a job starts, while that is asked for,
// which it returns.
func (f *Forecast) GoOn(asked func() bool, id job.ID) bool {
	f.begin()
	for _, one := range f.futures {
		if !one.runUntilStart(id, asked) {
			return false
		}
	}
	return asked()
}

// Start foretells when one job starts, if it is among the first.
func (f *Forecast) Start(id job.ID) Range {
	f.GoOn(func() bool { return true }, id)
	at := make([]Instant, len(f.futures))
	for i := range f.futures {
		at[i] = f.futures[i].start(id)
	}
	slices.Sort(at)
	likely := f.likely(at)
	if likely == Never {
		return Range{Unknown: f.futures[0].starts[id] == Never}
	}
	now, late := f.s.Now, at[len(at)-1]
	if alike := at[0] == late; alike && f.fixed(late) {
		return Range{Early: late, Likely: late, Late: late}
	} else if alike && late > now && len(at) > 1 {
		return Range{Early: now, Likely: late, Late: late, Latest: true}
	}
	if late < Never {
		late = now.Add(time.Duration(float64(late-now) * margin))
	}
	return Range{Early: now.Add(time.Duration(float64(at[0]-now) / margin)), Likely: likely, Late: late}
}

// fixed reports whether a person fixed a moment at which all futures agree, and no job that runs may
// end before it for all that is known.
func (f *Forecast) fixed(at Instant) bool {
	for i := range f.s.Running {
		if e := f.estimates[f.s.Running[i].ID]; e != nil && !e.Known {
			return false
		}
	}
	return slices.ContainsFunc(f.s.GPUs, func(g GPU) bool { return g.State != OK && g.ReadyAt == at }) ||
		slices.ContainsFunc(f.s.Reserved, func(r AdvanceReservation) bool { return r.From == at || r.To == at })
}

// margin is by what a wait may be shorter or longer than in all futures: these know nothing of
// jobs to come.
const margin = 1.25

// likely is the moment from which half of the starts, which are in order, are off by the
// smallest part of the wait until then; Never where half of them are not known.
func (f *Forecast) likely(at []Instant) Instant {
	half, best, least := len(at)/2, Never, 2.0
	for i := 0; i+half < len(at) && at[i+half] < Never; i++ {
		from, to := float64(at[i]-f.s.Now), float64(at[i+half]-f.s.Now)
		if off := (to - from) / max(to+from, 1); off < least {
			best, least = f.s.Now.Add(time.Duration((from+to)/2)), off
		}
	}
	return best
}

// begin makes the futures: one where all run times are known.
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

// Now is the moment that the forecast is of.
func (f *Forecast) Now() Instant { return f.s.Now }
