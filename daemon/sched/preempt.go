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

// guaranteedSlices is for how many slices a job that was stopped runs, once it goes on, until it is
// stopped again for one of its class and number that is no wider, or asks no more than half
// of the GPUs: such a one can mostly be served beside those that have their turn.
const guaranteedSlices = 4

// turn is for how long a job runs until then that has run for so long before: a slice at least,
// and no more than so many times what it had run, so that nobody gains by having a job queued again
// that has only begun.
func (p *Policy) guaranteed(served time.Duration) time.Duration {
	return max(p.Slice, guaranteedSlices*min(served, p.Slice))
}

// lateDivisor is the part of a slice for which a job rather waits than has one
// more stopped.
const lateDivisor = 10

// leavesLate reports whether a job that makes room does so so late that another, which
// would have gone by then, is better stopped as well.
func (p *Policy) leavesLate(r *Running) bool { return r.Notice > p.Slice/lateDivisor }

// maxPreemptors bounds for how many jobs a pass looks for victims.
const maxPreemptors = 16

// preempt chooses running jobs to stop for jobs that do not fit, the first in
// order first. What the reservations leave over then is as it was before: until
// the victims are gone.
func (p *Planner) preempt() {
	if p.victims.find(); len(p.victims.list) == 0 {
		return
	}
	p.victims.openFreed()
	p.backfill.save()
	p.walkAgain()
	for tries := 0; tries < maxPreemptors; {
		c := p.firstLeft()
		if c == nil {
			break
		}
		some := p.victims.anyYields(&c.rank)
		if some {
			tries++
		} else if !c.ranBefore {
			break
		}
		p.walk.blocked.reinsert(some && p.victims.stopFor(c) && p.pass.next(c))
	}
	p.backfill.restore()
	p.out.Preempt = p.victims.stops
}

// walkAgain takes up again all jobs that the pass did not place, from the head
// of each bucket.
func (p *Planner) walkAgain() {
	p.walk.begin()
	p.pass.work += len(p.pass.q.buckets)
	for _, b := range p.pass.q.buckets {
		if p.room.capped(b.account, &b.shape.amount) {
			continue
		}
		if p.pass.open(b.shape.footprint); p.room.fitsEver(b.shape) {
			p.walk.blocked.list = append(p.walk.blocked.list, p.walk.atHead(b))
		}
	}
	p.walk.blocked.order()
}

// firstLeft returns the first job in order that is left, not capped, and not behind one of
// its account that keeps its place.
func (p *Planner) firstLeft() *cursor {
	blocked := &p.walk.blocked
	for len(blocked.list) > 0 {
		p.pass.work++
		c := blocked.first()
		switch {
		case c.capped(&p.room):
			blocked.pop()
		case !c.open(): // another job of its array was faster
			blocked.reinsert(p.pass.seek(c))
		case p.limits.behindOwn(c).hold != nil:
			blocked.pop()
		default:
			return c
		}
	}
	return nil
}

// victim is a running job that may be stopped, with its place in the order.
type victim struct {
	rank
	run    *Running
	chosen bool
}

// victims is the running jobs that a pass may stop, the lowest first.
type victims struct {
	pass     *pass
	room     *room
	backfill *backfill
	limits   *limits
	choice   *chooser
	list     []victim
	stops    []Preemption
	freed    capacity // what is left with all that others have been told to give back
	soon     capacity // without what of that comes late
}

// begin forgets what the pass before stopped.
func (vs *victims) begin() { vs.stops = vs.stops[:0] }

// openFreed fills in what will be left when all have gone that have been told to,
// and the GPUs are back that are being cleaned.
func (vs *victims) openFreed() {
	vs.freed.copyFrom(&vs.room.now)
	vs.soon.copyFrom(&vs.room.now)
	for i := range vs.pass.s.Running {
		r := &vs.pass.s.Running[i]
		if !r.Stopping {
			continue
		}
		vs.freed.giveBack(r.Grants, r.hostShare(), vs.pass.s.Now)
		if !vs.pass.s.Policy.leavesLate(r) {
			vs.soon.giveBack(r.Grants, r.hostShare(), vs.pass.s.Now)
		}
	}
	for i := range vs.pass.s.GPUs {
		if g := &vs.pass.s.GPUs[i]; g.State == Cleaning && g.ReadyAt > 0 {
			vs.freed.gpus[i].ok, vs.soon.gpus[i].ok = true, true
		}
	}
}

// anyYields reports whether one that is not chosen would be stopped for a job of this rank.
func (vs *victims) anyYields(r *rank) bool {
	return slices.ContainsFunc(vs.list, func(v victim) bool {
		return !v.chosen && v.yieldsWithOthers(r, vs.pass.s.Policy.FIFO)
	})
}

// find lists the jobs that have run for their slice, the lowest first.
func (vs *victims) find() {
	vs.list = vs.list[:0]
	if vs.pass.q.Len() == 0 {
		return
	}
	for i := range vs.pass.s.Running {
		r := &vs.pass.s.Running[i]
		if r.Preemptible && !r.Stopping && time.Duration(vs.pass.s.Now-r.Start) >= vs.pass.s.Policy.Slice {
			vs.list = append(vs.list, victim{rank: vs.pass.runningRank(r), run: r})
		}
	}
	slices.SortFunc(vs.list, func(a, b victim) int {
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
	case (v.protected || r.ranBefore) && (r.milli <= v.milli || !r.wide):
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
func (vs *victims) lowerTogether(list []Preemption, r *rank) bool {
	sum, milli := 0.0, 0.0
	for i := range list {
		v := vs.victimOf(list[i])
		if v.level == r.level && !v.guarded && !r.guarded {
			sum += float64(v.milli) * preemptionThreshold(v.milli, r.milli) * v.score
			milli += float64(v.milli)
		}
	}
	return sum <= max(milli, float64(r.milli))*r.score
}

func (vs *victims) victimOf(q Preemption) *victim {
	at := slices.IndexFunc(vs.list, func(v victim) bool { return v.run.ID == q.Victim })
	return &vs.list[at]
}

// stopFor chooses victims for the job at the cursor and counts what they
// free as the job's; false when all of them would not be enough. Where it would
// have to wait for one that goes late, others that are gone sooner
// and are enough are chosen as well: a long notice neither saves a job nor makes
// another wait.
func (vs *victims) stopFor(c *cursor) bool {
	w := demand{query: c.query(vs.pass.s.Now, whenFreed), mask: vs.backfill.delayed(c), c: c}
	for i := range vs.backfill.list {
		if vs.backfill.list[i].preemptedFor { // it needs none
			w.mask &^= 1 << i
		}
	}
	if !vs.pick(&w, &vs.freed) {
		return false
	}
	from := &vs.freed
	if vs.pick(&w, &vs.soon) {
		from = &vs.soon
	}
	vs.reserveFreed(c, vs.choice.choose(&w.query, vs.backfill.capacityBehind(&w.query, from, w.mask)))
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
func (vs *victims) pick(w *demand, from *capacity) bool {
	picked := len(vs.stops)
	for i := range vs.list {
		if vs.enough(w, from) {
			break
		}
		v := &vs.list[i]
		if v.chosen || from == &vs.soon && vs.pass.s.Policy.leavesLate(v.run) || !v.yieldsWithOthers(&w.c.rank, vs.pass.s.Policy.FIFO) {
			continue
		}
		v.chosen = true
		vs.releaseVictim(v.run)
		vs.stops = append(vs.stops, Preemption{Victim: v.run.ID, For: w.c.entry.ID})
	}
	ok := vs.enough(w, from)
	vs.dropUnneeded(w, from, picked, ok)
	if ok && !vs.lowerTogether(vs.stops[picked:], &w.c.rank) {
		ok = false
		vs.dropUnneeded(w, from, picked, ok)
	}
	return ok
}

func (vs *victims) enough(w *demand, from *capacity) bool {
	return vs.room.fits(&w.query, vs.backfill.capacityBehind(&w.query, from, w.mask))
}

// ofVictim calls move with each capacity in which a victim counts: what is free once all have gone, what is soon, where
// it does not go late, and the shadows at which it would still have been there.
func (vs *victims) ofVictim(r *Running, move func(*capacity)) {
	move(&vs.freed)
	if !vs.pass.s.Policy.leavesLate(r) {
		move(&vs.soon)
	}
	for i := range vs.backfill.list {
		if r.goneBy(vs.backfill.list[i].until) > vs.backfill.list[i].at {
			move(&vs.backfill.list[i].spare)
		}
	}
}

// releaseVictim counts what a victim holds as given back.
func (vs *victims) releaseVictim(r *Running) {
	vs.ofVictim(r, func(l *capacity) { l.giveBack(r.Grants, r.hostShare(), vs.pass.s.Now) })
}

// keepVictim undoes releaseVictim.
func (vs *victims) keepVictim(r *Running) {
	vs.ofVictim(r, func(l *capacity) { l.take(r.Grants, r.hostShare()) })
}

// reserveFreed counts these grants of what is freed as the job's.
func (vs *victims) reserveFreed(c *cursor, grants []Grant) {
	sh := c.bucket.shape
	vs.freed.take(grants, sh.hostShare)
	vs.soon.take(grants, sh.hostShare)
	for i := range vs.backfill.list {
		switch k := &vs.backfill.list[i]; {
		case k.id == c.entry.ID:
			k.preemptedFor = true
		case vs.backfill.delays(c, k):
			k.spare.take(grants, sh.hostShare)
		}
	}
	vs.limits.give(c, sh.hostShare)
}

// dropUnneeded lets go the last of the victims after the first so many of which
// the job has no need, those that stand highest first; all of them when it is no
// use.
func (vs *victims) dropUnneeded(w *demand, from *capacity, picked int, ok bool) {
	list := vs.stops[picked:]
	for i := len(list) - 1; i >= 0; i-- {
		v := vs.victimOf(list[i])
		vs.keepVictim(v.run)
		if ok && !vs.enough(w, from) {
			vs.releaseVictim(v.run)
			continue
		}
		v.chosen = false
		list = slices.Delete(list, i, i+1)
	}
	vs.stops = vs.stops[:picked+len(list)]
}
