package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxForecast is for how many waiting jobs, the first in order, a start is
// forecast, and maxPasses how many passes to come are made for that.
const (
	maxForecast = 200
	maxPasses   = 1000
)

// Forecast is the passes to come, carried out on copies: the machine, the queue's first
// jobs, their accounts and throttles. It goes as far as it has been asked for, and
// needs neither the planner nor anything else that goes on meanwhile. It must be used by
// one goroutine at a time.
type Forecast struct {
	*Planner
	begun     Instant
	s         Snapshot
	q         *Queue
	passes    int  // made so far
	over      bool // more would tell nothing
	running   []future
	accounts  map[*Account]*Account
	throttles map[*Throttle]*Throttle
	arrays    map[*Throttle]job.ID
	wanted    map[job.ID]bool // of which no start is known yet
	starts    map[job.ID]Instant
	tasks     job.ID // ids given to tasks
}

// future is what a running job is besides, by its position in the snapshot.
type future struct {
	shape    *resourceShape // nil: it does not return to the queue
	throttle *Throttle
	batch    string
	left     bool // it makes room, and goes back to the queue
}

// Forecast returns what foretells when the first waiting jobs start if everything runs as
// long as expected and nothing new comes, by making the passes to come. Jobs that never
// fit by themselves are left out, and those that only the load of a GPU keeps
// waiting. To make it costs about as much as a pass.
func (p *Planner) Forecast(s *Snapshot, q *Queue) *Forecast {
	f := newForecast(s)
	f.maxFailedShapes = p.maxFailedShapes
	for _, id := range p.Ordered(s, q, maxForecast) {
		f.enter(q.entries[id])
	}
	return f
}

// Start foretells when one job starts, if it is among the first; zero: nobody can say.
func (f *Forecast) Start(id job.ID) Instant {
	for f.wanted[id] && !f.over {
		f.goOn()
	}
	return f.starts[id]
}

// Starts foretells all starts.
func (f *Forecast) Starts() map[job.ID]Instant {
	for !f.over {
		f.goOn()
	}
	return f.starts
}

// goOn makes the next pass.
func (f *Forecast) goOn() {
	plan := f.Plan(&f.s, f.q)
	f.passes++
	f.carryOut(plan)
	if f.s.Now == f.begun {
		f.dropLoaded()
	}
	if f.over = len(f.wanted) == 0 || f.passes == maxPasses; f.over {
		return
	}
	if len(plan.Place) > 0 && len(plan.Backfill) > 0 {
		return // the reservations are made anew, and may leave more over
	}
	at := f.next(plan)
	if f.over = at == Never; !f.over {
		f.move(at)
	}
}

// dropLoaded takes out the jobs that only the load of a GPU keeps waiting, for an
// unknown time.
func (f *Forecast) dropLoaded() {
	for _, b := range slices.Clone(f.q.buckets) {
		f.open(b.shape.footprint)
		c := cursor{bucket: b} // of no rank: that of a batch is known as of the beginning of the pass
		now, ahead := c.query(f.s.Now, whenNow), c.query(f.s.Now, whenAhead)
		if c.capped(f.Planner) || f.fits(&now, &f.now) || !f.fits(&ahead, &f.now) {
			continue
		}
		for b.head != nil {
			delete(f.wanted, b.head.ID)
			f.q.Remove(b.head.ID)
		}
	}
}

// carryOut starts and stops what the plan says.
func (f *Forecast) carryOut(plan *Plan) {
	for _, v := range plan.Preempt {
		at := slices.IndexFunc(f.s.Running, func(r Running) bool { return r.ID == v.Victim })
		r := &f.s.Running[at]
		r.Stopping, r.End, r.Late = true, f.s.Now.Add(r.Notice), 0
		f.running[at].left = f.running[at].shape != nil
		f.owe(v.For)
	}
	for i := range plan.Place {
		f.start(&plan.Place[i])
	}
	for a := range f.q.accounts {
		a.CountCapped(f.s.Now, f.s.Policy.FIFO)
	}
}

// next is when the passes go on: at the next moment at which something ends or comes back.
// Where jobs may be stopped for others that is looked at when one of them has had its
// slice, and, as scores grow apart, after a while that grows with how far ahead it is.
func (f *Forecast) next(plan *Plan) Instant {
	at := Never
	for i := range f.s.Running {
		at = min(at, max(f.s.Running[i].End, f.s.Now))
	}
	for i := range f.s.GPUs {
		if g := &f.s.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
			at = min(at, max(g.ReadyAt, f.s.Now))
		}
	}
	for i := range f.s.Reserved {
		if to := f.s.Reserved[i].To; to > f.s.Now {
			at = min(at, to)
		}
	}
	if plan.Wake != Never {
		at = min(at, max(plan.Wake, f.s.Now.Add(time.Duration(f.s.Now-f.begun)/stepDivisor)))
	}
	return at
}

// stepDivisor is the part of the time ahead of which moments are told apart.
const stepDivisor = 16
