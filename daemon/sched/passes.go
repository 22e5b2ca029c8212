package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxPasses is the maximum number of simulated passes in one future, and allPasses is the maximum
// in a whole forecast. Each future has a share of allPasses for itself, so that the result does not
// depend on the order in which callers ask.
const (
	maxPasses = 1000
	allPasses = 400 * manyFutures
)

// farthest is how far ahead a forecast looks for starts.
const farthest = 365 * 24 * time.Hour

// startOf returns when a job starts in this future. If that is unknown, startOf returns Never.
func (f *future) startOf(id job.ID) Instant {
	if at, ok := f.starts[id]; ok {
		return at
	}
	return Never
}

// runUntilStart simulates until the job starts. As soon as goOn returns false, runUntilStart stops
// and returns false.
func (f *future) runUntilStart(id job.ID, goOn func() bool) bool {
	for f.wanted[id] && !f.over {
		if !goOn() {
			return false
		}
		f.nextPass()
	}
	return true
}

func (f *future) nextPass() {
	plan := f.planner.Plan(&f.machine, f.queue)
	f.passes++
	f.carryOut(plan)
	if f.machine.Now == f.begun {
		f.dropLoaded()
	}
	if f.over = f.isComplete() || f.passes == f.most; f.over {
		return
	}
	if len(plan.Place) > 0 && len(plan.Backfill) > 0 {
		return // the next pass makes other reservations, which may leave more room
	}
	at := f.next(plan)
	if at >= f.lastMoment() {
		if f.over = f.sampling.number > 0 || f.until > 0 || !f.endEndless(); f.over {
			return
		}
		f.freed, at = true, f.machine.Now.Add(1)
	}
	f.advanceTo(at)
}

// endEndless ends all jobs that would run for ever, and reports whether there are any. If a start
// comes later than these ends, it depends on the end of such a job, and not on something that never
// happens.
func (f *future) endEndless() bool {
	found := false
	for i := range f.running {
		if x := &f.running[i]; x.ends == Never {
			x.ends, found = f.machine.Now, true
		}
	}
	return found
}

// dropLoaded removes the jobs that wait only because of a GPU's load. Nobody knows how long they
// wait.
func (f *future) dropLoaded() {
	for _, b := range slices.Clone(f.queue.buckets) {
		f.planner.pass.open(b.shape.footprint)
		c := cursor{bucket: b} // the cursor has no rank yet: only the beginning of a pass ranks batches
		room, now, ahead := &f.planner.room, c.query(f.machine.Now, whenNow), c.query(f.machine.Now, whenAhead)
		if c.isCapped(room) || room.hasRoomFor(&now, &room.now) || !room.hasRoomFor(&ahead, &room.now) {
			continue
		}
		for b.head != nil {
			delete(f.wanted, b.head.ID)
			f.queue.Remove(b.head.ID)
		}
	}
}

// carryOut starts and stops jobs according to the plan.
func (f *future) carryOut(plan *Plan) {
	for _, v := range plan.Preempt {
		at := slices.IndexFunc(f.machine.Running, func(r Running) bool { return r.ID == v.Victim })
		r := &f.machine.Running[at]
		r.Stopping, r.Parks = true, v.Park
		r.End, r.Late = f.machine.Now.Add(r.Notice), 0
		if v.Park {
			r.End = f.machine.Now.Add(r.Notice / 2)
		}
		f.running[at].ends = r.End
		f.running[at].requeues = f.running[at].shape != nil && !v.Park
		f.markOwed(v.For)
	}
	for i := range plan.Place {
		f.place(&plan.Place[i])
	}
	for a := range f.queue.accounts {
		a.CountCapped(f.machine.Now, f.machine.Policy.FIFO)
	}
}

// next returns the moment of the next pass: the first moment at which something ends or becomes
// free, or at which a plan may differ although nothing happened (plan.Wake). If plan.Wake is very
// soon, next returns a later moment instead, to save passes. The further the simulated time has
// moved, the later that moment is.
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
	if to := f.machine.End.To; to > f.machine.Now {
		at = min(at, to)
	}
	if plan.Wake != Never {
		at = min(at, max(plan.Wake, f.machine.Now.Add(time.Duration(f.machine.Now-f.begun)/stepDivisor)))
	}
	return at
}

// stepDivisor limits how soon the next pass may be because of plan.Wake. The least time until then
// is the simulated time so far, divided by stepDivisor.
const stepDivisor = 16
