package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxPasses is how many passes to come are made of one future, allPasses of all of a forecast:
// each has its part, so that nothing depends on who asks first.
const (
	maxPasses = 1000
	allPasses = 400 * manyFutures
)

// farthest is how far ahead starts are looked for.
const farthest = 365 * 24 * time.Hour

// start says when a job starts in this future, if it is among the first; Never: nobody can say.
func (f *future) start(id job.ID) Instant {
	if at, ok := f.starts[id]; ok {
		return at
	}
	return Never
}

// runUntilStart makes passes until the job starts, if it is among the first, while that is asked for,
// which it returns.
func (f *future) runUntilStart(id job.ID, asked func() bool) bool {
	for f.wanted[id] && !f.over {
		if !asked() {
			return false
		}
		f.nextPass()
	}
	return true
}

// nextPass makes the next pass.
func (f *future) nextPass() {
	plan := f.planner.Plan(&f.machine, f.queue)
	f.passes++
	f.carryOut(plan)
	if f.machine.Now == f.begun {
		f.dropLoaded()
	}
	if f.over = f.enough() || f.passes == f.most; f.over {
		return
	}
	if len(plan.Place) > 0 && len(plan.Backfill) > 0 {
		return // the reservations are made anew, and may leave more over
	}
	at := f.next(plan)
	if at >= f.farthest() {
		if f.over = f.sampling.number > 0 || f.until > 0 || !f.endEndless(); f.over {
			return
		}
		f.freed, at = true, f.machine.Now.Add(1)
	}
	f.move(at)
}

// endEndless has what runs for ever end now, where anything does: what starts afterwards waits
// for that, and for nothing that never comes.
func (f *future) endEndless() bool {
	found := false
	for i := range f.running {
		if x := &f.running[i]; x.ends == Never {
			x.ends, found = f.machine.Now, true
		}
	}
	return found
}

// dropLoaded takes out the jobs that only the load of a GPU keeps waiting, for an
// unknown time.
func (f *future) dropLoaded() {
	for _, b := range slices.Clone(f.queue.buckets) {
		f.planner.pass.open(b.shape.footprint)
		c := cursor{bucket: b} // of no rank: that of a batch is known as of the beginning of the pass
		now, ahead := c.query(f.machine.Now, whenNow), c.query(f.machine.Now, whenAhead)
		if c.capped(&f.planner.room) || f.planner.room.fits(&now, &f.planner.room.now) || !f.planner.room.fits(&ahead, &f.planner.room.now) {
			continue
		}
		for b.head != nil {
			delete(f.wanted, b.head.ID)
			f.queue.Remove(b.head.ID)
		}
	}
}

// carryOut starts and stops what the plan says.
func (f *future) carryOut(plan *Plan) {
	for _, v := range plan.Preempt {
		at := slices.IndexFunc(f.machine.Running, func(r Running) bool { return r.ID == v.Victim })
		r := &f.machine.Running[at]
		r.Stopping, r.End, r.Late = true, f.machine.Now.Add(r.Notice), 0
		f.running[at].ends = r.End
		f.running[at].requeues = f.running[at].shape != nil
		f.owe(v.For)
	}
	for i := range plan.Place {
		f.place(&plan.Place[i])
	}
	for a := range f.queue.accounts {
		a.CountCapped(f.machine.Now, f.machine.Policy.FIFO)
	}
}

// next is when the passes go on: at the next moment at which something ends or comes back.
// Where jobs may be stopped for others that is looked at when one of them has had its
// slice, and, as scores grow apart, after a while that grows with how far ahead it is.
func (f *future) next(plan *Plan) Instant {
	at := Never
	for i := range f.machine.Running {
		at = min(at, max(f.running[i].ends, f.machine.Now))
	}
	for i := range f.machine.GPUs {
		if g := &f.machine.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
			at = min(at, max(g.ReadyAt, f.machine.Now))
		}
	}
	for i := range f.machine.Reserved {
		if to := f.machine.Reserved[i].To; to > f.machine.Now {
			at = min(at, to)
		}
	}
	if plan.Wake != Never {
		at = min(at, max(plan.Wake, f.machine.Now.Add(time.Duration(f.machine.Now-f.begun)/stepDivisor)))
	}
	return at
}

// stepDivisor is the part of the time ahead of which moments are told apart.
const stepDivisor = 16
