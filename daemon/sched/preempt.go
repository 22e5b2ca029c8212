package sched

import (
	"math/bits"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/predict"
)

// preemptionThreshold is by how much the score of a job must exceed that of a running
// one before the running one is stopped for it: by nothing for one that holds as
// much of GPUs or less, since it had its slice, and by a half for each
// doubling beyond, since of a wider one most is stopped for nothing.
func preemptionThreshold(victim, milli int32) float64 {
	if milli == 0 || victim <= milli {
		return 1
	}
	return 1 + float64(bits.Len(uint(victim/milli))-1)/2
}

// turnSlices is for how many slices a job that was stopped runs, once it goes on, until it is
// stopped again for one of its class and number that is no wider, or asks no more than half
// of the GPUs: such a one can mostly be served beside those that have their turn.
const turnSlices = 4

// turn is for how long a job runs until then that has run for so long before: a slice at least,
// and no more than so many times what it had run, so that nobody gains by having a job queued again
// that has only begun.
func (p *Policy) turn(served time.Duration) time.Duration {
	return max(p.Slice, turnSlices*min(served, p.Slice))
}

// lateDivisor is the part of a slice for which a job rather waits than has one
// more stopped.
const lateDivisor = 10

// leavesLate reports whether a job that makes room does so so late that another, which
// would have gone by then, is better stopped as well.
func (p *Planner) leavesLate(r *Running) bool { return r.Notice > p.s.Policy.Slice/lateDivisor }

// maxPreemptors bounds for how many jobs a pass looks for victims.
const maxPreemptors = 16

// victim is a running job that may be stopped, with its place in the order.
type victim struct {
	rank
	run    *Running
	chosen bool
}

// preempt chooses running jobs to stop for jobs that do not fit, the first in
// order first. What the reservations leave over then is as it was before: until
// the victims are gone.
func (p *Planner) preempt() {
	if p.findVictims(); len(p.victims) == 0 {
		return
	}
	p.openFreed()
	for i := range p.backfill {
		p.backfill[i].before.copyFrom(&p.backfill[i].rest)
	}
	p.resetCursors()
	for tries := 0; tries < maxPreemptors; {
		c := p.firstLeft()
		if c == nil {
			break
		}
		some := slices.ContainsFunc(p.victims, func(v victim) bool {
			return !v.chosen && v.yieldsWithOthers(&c.rank, p.s.Policy.FIFO)
		})
		if some {
			tries++
		} else if !c.again {
			break
		}
		p.blocked.settle(some && p.preemptFor(c) && p.next(c))
	}
	for i := range p.backfill {
		p.backfill[i].rest.copyFrom(&p.backfill[i].before)
	}
}

// openFreed fills in what will be left when all have gone that have been told to,
// and the GPUs are back that are being cleaned.
func (p *Planner) openFreed() {
	p.freed.copyFrom(&p.now)
	p.soon.copyFrom(&p.now)
	for i := range p.s.Running {
		r := &p.s.Running[i]
		if !r.Stopping {
			continue
		}
		p.freed.giveBack(r.Grants, r.hostShare(), p.s.Now)
		if !p.leavesLate(r) {
			p.soon.giveBack(r.Grants, r.hostShare(), p.s.Now)
		}
	}
	for i := range p.s.GPUs {
		if g := &p.s.GPUs[i]; g.State == Cleaning && g.ReadyAt > 0 {
			p.freed.gpus[i].ok, p.soon.gpus[i].ok = true, true
		}
	}
}

// resetCursors takes up again all jobs that the pass did not place, from the head
// of each bucket.
func (p *Planner) resetCursors() {
	p.beginWalk()
	p.looks += len(p.q.buckets)
	for _, b := range p.q.buckets {
		if p.capped(b.account, &b.shape.amount) {
			continue
		}
		if p.open(b.shape.footprint); p.fitsEver(b.shape) {
			p.blocked.list = append(p.blocked.list, p.atHead(b))
		}
	}
	p.blocked.order()
}

// firstLeft returns the first job in order that is left, not capped, and not behind one of
// its account that keeps its place.
func (p *Planner) firstLeft() *cursor {
	for len(p.blocked.list) > 0 {
		p.looks++
		c := p.blocked.first()
		switch {
		case c.capped(p):
			p.blocked.pop()
		case !c.open(): // another job of its array was faster
			p.blocked.settle(p.seek(c))
		case p.behindOwn(c).hold != nil:
			p.blocked.pop()
		default:
			return c
		}
	}
	return nil
}

// findVictims lists the jobs that have run for their slice, the lowest first.
func (p *Planner) findVictims() {
	p.victims = p.victims[:0]
	if p.q.Len() == 0 {
		return
	}
	for i := range p.s.Running {
		r := &p.s.Running[i]
		if r.Preemptible && !r.Stopping && time.Duration(p.s.Now-r.Start) >= p.s.Policy.Slice {
			p.victims = append(p.victims, victim{rank: p.runningRank(r), run: r})
		}
	}
	slices.SortFunc(p.victims, func(a, b victim) int {
		if a.before(&b.rank) {
			return 1
		}
		return -1
	})
}

// yields reports whether a running job of rank v stands low enough to be stopped
// for one of rank r. One that went first since it had waited long makes room
// for no other of its class and number, and others make room for one that has. Else nobody
// makes room for one that ran before, so that one stop does not lead to the next, nor for one
// of the same program while it is not known how long either runs.
func (v *rank) yields(r *rank, fifo bool) bool { return v.yieldsAt(r, fifo, 1) }

// togetherAbove is how far, as a factor, a victim may stand above a wider job for which
// it is stopped, see lowerTogether.
const togetherAbove = 8

// yieldsWithOthers is yields for a victim that is not all that the job gets.
func (v *rank) yieldsWithOthers(r *rank, fifo bool) bool {
	if v.milli < r.milli {
		return v.yieldsAt(r, fifo, togetherAbove)
	}
	return v.yields(r, fifo)
}

func (v *rank) yieldsAt(r *rank, fifo bool, above float64) bool {
	switch {
	case v.level != r.level:
		return v.level < r.level
	case v.guarded || r.guarded:
		return !v.guarded
	case (v.settles || r.again) && (r.milli <= v.milli || !r.most):
		return false
	case v.program != (predict.Kind{}) && v.program == r.program && (v.untried || r.untried):
		return false
	}
	return !fifo && above*r.score > preemptionThreshold(v.milli, r.milli)*v.score
}

// lowerTogether reports whether victims of the job's class and number have a lower score
// than it in the mean over the GPUs that it gets, of which those that are free count as 0. If each
// of eight narrow jobs had to stand lower than a wide one, it would wait for the one that stands
// highest; and seven free GPUs that one narrow job keeps from a wide one are of no use to anybody.
func (p *Planner) lowerTogether(list []Preemption, r *rank) bool {
	sum, milli := 0.0, 0.0
	for i := range list {
		v := p.victimOf(list[i])
		if v.level == r.level && !v.guarded && !r.guarded {
			sum += float64(v.milli) * preemptionThreshold(v.milli, r.milli) * v.score
			milli += float64(v.milli)
		}
	}
	return sum <= max(milli, float64(r.milli))*r.score
}

func (p *Planner) victimOf(q Preemption) *victim {
	at := slices.IndexFunc(p.victims, func(v victim) bool { return v.run.ID == q.Victim })
	return &p.victims[at]
}

// preemptFor chooses victims for the job at the cursor and counts what they
// free as the job's; false when all of them would not be enough. Where it would
// have to wait for one that goes late, others that are gone sooner
// and are enough are chosen as well: a long notice neither saves a job nor makes
// another wait.
func (p *Planner) preemptFor(c *cursor) bool {
	w := demand{query: c.query(p.s.Now, whenFreed), mask: p.delayed(c), c: c}
	for i := range p.backfill {
		if p.backfill[i].preemptedFor { // it needs none
			w.mask &^= 1 << i
		}
	}
	if !p.pick(&w, &p.freed) {
		return false
	}
	from := &p.freed
	if p.pick(&w, &p.soon) {
		from = &p.soon
	}
	p.reserveFreed(c, p.choose(&w.query, p.capacityBehind(&w.query, from, w.mask)))
	return true
}

// demand is what victims are sought for.
type demand struct {
	query
	c    *cursor
	mask uint32 // of the reservations that count
}

// pick chooses the lowest victims with which there is enough in a capacity, and no
// more than are needed; false, and none, when all would not be enough or those that are do
// not stand lower together. For what is wanted soon none is chosen that goes late.
func (p *Planner) pick(w *demand, from *capacity) bool {
	picked := len(p.out.Preempt)
	for i := range p.victims {
		if p.enough(w, from) {
			break
		}
		v := &p.victims[i]
		if v.chosen || from == &p.soon && p.leavesLate(v.run) || !v.yieldsWithOthers(&w.c.rank, p.s.Policy.FIFO) {
			continue
		}
		v.chosen = true
		p.releaseVictim(v.run)
		p.out.Preempt = append(p.out.Preempt, Preemption{Victim: v.run.ID, For: w.c.entry.ID})
	}
	ok := p.enough(w, from)
	p.dropUnneeded(w, from, picked, ok)
	if ok && !p.lowerTogether(p.out.Preempt[picked:], &w.c.rank) {
		ok = false
		p.dropUnneeded(w, from, picked, ok)
	}
	return ok
}

func (p *Planner) enough(w *demand, from *capacity) bool {
	return p.fits(&w.query, p.capacityBehind(&w.query, from, w.mask))
}

// ofVictim calls move with each capacity in which a victim counts: what is free once all have gone, what is soon, where
// it does not go late, and the shadows at which it would still have been there.
func (p *Planner) ofVictim(r *Running, move func(*capacity)) {
	move(&p.freed)
	if !p.leavesLate(r) {
		move(&p.soon)
	}
	for i := range p.backfill {
		if r.goneBy(p.backfill[i].until) > p.backfill[i].at {
			move(&p.backfill[i].rest)
		}
	}
}

// releaseVictim counts what a victim holds as given back.
func (p *Planner) releaseVictim(r *Running) {
	p.ofVictim(r, func(l *capacity) { l.giveBack(r.Grants, r.hostShare(), p.s.Now) })
}

// keepVictim undoes releaseVictim.
func (p *Planner) keepVictim(r *Running) {
	p.ofVictim(r, func(l *capacity) { l.take(r.Grants, r.hostShare()) })
}

// reserveFreed counts these grants of what is freed as the job's.
func (p *Planner) reserveFreed(c *cursor, grants []Grant) {
	sh := c.bucket.shape
	p.freed.take(grants, sh.hostShare)
	p.soon.take(grants, sh.hostShare)
	for i := range p.backfill {
		switch k := &p.backfill[i]; {
		case k.id == c.entry.ID:
			k.preemptedFor = true
		case p.delays(c, k):
			k.rest.take(grants, sh.hostShare)
		}
	}
	p.give(c, sh.hostShare)
}

// dropUnneeded lets go the last of the victims after the first so many of which
// the job has no need, those that stand highest first; all of them when it is no
// use.
func (p *Planner) dropUnneeded(w *demand, from *capacity, picked int, ok bool) {
	list := p.out.Preempt[picked:]
	for i := len(list) - 1; i >= 0; i-- {
		v := p.victimOf(list[i])
		p.keepVictim(v.run)
		if ok && !p.enough(w, from) {
			p.releaseVictim(v.run)
			continue
		}
		v.chosen = false
		list = slices.Delete(list, i, i+1)
	}
	p.out.Preempt = p.out.Preempt[:picked+len(list)]
}
