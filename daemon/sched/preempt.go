package sched

import (
	"math/bits"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// preemptionThreshold returns a factor. A waiting job preempts a running job only if its score is
// higher than the running job's score times this factor. If the running job is no wider than the
// waiting job, the factor is 1. It grows by 0.5 for each doubling of the running job's width: most
// of a wide job would be stopped for nothing.
func preemptionThreshold(victim, milli int32) float64 {
	if milli == 0 || victim <= milli {
		return 1
	}
	return 1 + float64(bits.Len(uint(victim/milli))-1)/2
}

// guaranteedSlices is the number of time slices for which a preempted job is protected once it runs
// again. It is protected from those jobs of its class and priority number that are no wider, or
// that ask for at most half of the GPUs. Such jobs can mostly be served on other GPUs.
const guaranteedSlices = 4

// protectedTime returns how long a job is protected once it runs again. The argument served is the
// time for which it has run so far. The result is guaranteedSlices times the shorter of this run
// time and a slice, but at least a slice. So nobody gains by being requeued right after a start.
func (p *Policy) protectedTime(served time.Duration) time.Duration {
	return max(p.Slice, guaranteedSlices*min(served, p.Slice))
}

// lateDivisor is a divisor: a victim leaves late if it needs more time to stop than a slice divided
// by lateDivisor.
const lateDivisor = 10

// leavesLate reports whether a job takes long to stop. If it does, other jobs that stop sooner are
// stopped as well.
func (p *Policy) leavesLate(r *Running) bool { return r.Notice > p.Slice/lateDivisor }

// maxPreemptors is the number of jobs for which a pass looks for victims.
const maxPreemptors = 16

// preempt looks at the jobs that do not fit, in order, and chooses running jobs to stop for them.
// Afterwards the reservations have the same spare capacities as before, since the victims still
// hold their resources.
func (p *Planner) preempt() {
	if p.victims.find(); len(p.victims.list) == 0 {
		return
	}
	p.victims.openFreed()
	p.backfill.save()
	p.walkAgain()
	for tries, served := 0, false; tries < maxPreemptors; {
		c := p.firstLeft()
		if c == nil || served && c.milli > job.WholeGPU {
			break
		}
		some := p.victims.areLeavingFor(c) || p.victims.anyYields(&c.rank)
		if some {
			tries++
		} else if !c.ranBefore {
			break
		}
		some = some && p.victims.stopFor(c)
		if served = served || some; some && c.milli > job.WholeGPU {
			break
		}
		p.walk.blocked.reinsert(some && p.pass.next(c))
	}
	p.backfill.restore()
	p.out.Preempt = p.victims.stops
}

// walkAgain starts a walk over all jobs that the pass did not place.
func (p *Planner) walkAgain() {
	p.walk.begin()
	p.pass.work += len(p.pass.q.buckets)
	for _, b := range p.pass.q.buckets {
		if p.room.isCapped(b.account, &b.shape.amount) || p.pass.s.cutsOff(b) {
			continue
		}
		if p.pass.open(b.shape.footprint); p.room.fitsEver(b.shape) {
			p.walk.blocked.list = append(p.walk.blocked.list, p.walk.atHead(b))
		}
	}
	p.walk.blocked.order()
}

// firstLeft returns the first job of the walk that is not held back by a quota, a throttle or an
// earlier job of its account.
func (p *Planner) firstLeft() *cursor {
	blocked := &p.walk.blocked
	for len(blocked.list) > 0 {
		p.pass.work++
		c := blocked.first()
		switch {
		case c.isCapped(&p.room):
			blocked.pop()
		case !c.isOpen(): // other jobs have used up the lane
			blocked.reinsert(p.pass.seek(c))
		case p.limits.behindOwn(c).hold != nil:
			blocked.pop()
		default:
			return c
		}
	}
	return nil
}

// victim is a running job that may be stopped or parked.
type victim struct {
	rank
	run    *Running
	chosen bool
	parked bool      // if it is chosen, it is parked and not stopped
	frees  hostShare // what of the host it then gives up
}

// victims holds the running jobs that a pass may stop, in ascending order of their ranks.
type victims struct {
	pass     *pass
	room     *room
	backfill *backfill
	limits   *limits
	choice   *chooser
	list     []victim
	stops    []Preemption
	freed    capacity      // what is free once all jobs that were told to stop have ended
	soon     capacity      // like the field freed, but without what late victims free
	copies   int64         // host memory that is left for copies of victims that are parked
	paid     time.Duration // what the stops of this pass cost
	leaving  bool          // some jobs were told to stop, or some GPUs are being cleaned
}

// begin drops the stops that the previous pass decided on.
func (vs *victims) begin() { vs.stops, vs.paid = vs.stops[:0], 0 }

// openFreed sets the fields freed and soon. GPUs that are being cleaned count as ready.
func (vs *victims) openFreed() {
	vs.freed.copyFrom(&vs.room.now)
	vs.soon.copyFrom(&vs.room.now)
	vs.leaving, vs.copies = false, min(vs.pass.s.ParkBytes, vs.room.now.mem)
	for i := range vs.pass.s.Running {
		r := &vs.pass.s.Running[i]
		if !r.Stopping {
			continue
		}
		vs.leaving = true
		vs.freed.giveBack(r.Grants, r.frees(), vs.pass.s.Now)
		if !vs.pass.s.Policy.leavesLate(r) {
			vs.soon.giveBack(r.Grants, r.frees(), vs.pass.s.Now)
		}
	}
	for i := range vs.pass.s.GPUs {
		if g := &vs.pass.s.GPUs[i]; g.State == Cleaning && g.ReadyAt > 0 {
			vs.freed.gpus[i].ok, vs.soon.gpus[i].ok, vs.leaving = true, true, true
		}
	}
}

// anyYields reports whether any job that is not chosen as a victim yet would yield to a job of the
// given rank.
func (vs *victims) anyYields(r *rank) bool {
	return slices.ContainsFunc(vs.list, func(v victim) bool {
		return !v.chosen && v.yieldsWithOthers(r, vs.pass.s.Policy.FIFO)
	})
}

// find lists the jobs that may be stopped or parked and have run for a slice, in ascending order of
// their ranks.
func (vs *victims) find() {
	vs.list = vs.list[:0]
	if vs.pass.q.Len() == 0 {
		return
	}
	for i := range vs.pass.s.Running {
		r := &vs.pass.s.Running[i]
		if r.mayLeave() && time.Duration(vs.pass.s.Now-r.sliceStart()) >= vs.pass.s.Policy.Slice {
			vs.list = append(vs.list, victim{rank: vs.pass.runningRank(r), run: r})
		}
	}
	slices.SortFunc(vs.list, func(a, b victim) int {
		if a.isBefore(&b.rank) {
			return 1
		}
		return -1
	})
}

// yieldsTo reports whether a running job of rank v may be stopped for a waiting job of rank r. A
// job of a lower class or priority number always yields. Among jobs of one class and number, a
// guarded job yields to none, and every other job yields to a guarded job. If the running job is
// protected, or the waiting job ran before, the running job yields only to a wider job that asks
// for more than half of the GPUs. Without this rule, one stop would cause the next. A job does not
// yield to a job of the same program while the run time of either is unknown. In all other cases
// the scores decide.
func (v *rank) yieldsTo(r *rank, fifo bool) bool { return v.yieldsAt(r, fifo, 1) }

// togetherAbove limits the scores of victims that are stopped together for a wider job: each score
// may be at most this many times the wider job's score. See lowerTogether.
const togetherAbove = 8

// yieldsWithOthers is like yieldsTo, for a victim that may be stopped together with others.
func (v *rank) yieldsWithOthers(r *rank, fifo bool) bool {
	if v.milli < r.milli {
		return v.yieldsAt(r, fifo, togetherAbove)
	}
	return v.yieldsTo(r, fifo)
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

// lowerTogether looks at the victims that have the job's own class and number. It reports whether
// they together score lower than the job. Their scores are averaged over the GPUs that the job
// gets, and free GPUs count as 0. Without this rule, each of eight narrow jobs would have to rank
// below a wide job, so the wide job would wait for the highest of the eight. While one narrow job
// kept the eighth GPU, seven free GPUs would be of no use.
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

// stopFor chooses victims for the job at the cursor, and keeps for the job what the victims free.
// If all possible victims are not enough, it returns false. If the job would have to wait for a
// victim that leaves late, other victims that leave sooner are chosen as well. So a long notice
// does not protect its own job, and does not delay another job.
func (vs *victims) stopFor(c *cursor) bool {
	w := vs.demandOf(c)
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

// demand describes the job for which victims are sought.
type demand struct {
	query
	c    *cursor
	mask uint32 // the reservations that the job must respect
}

func (vs *victims) demandOf(c *cursor) demand {
	w := demand{query: c.query(vs.pass.s.Now, whenFreed), mask: vs.backfill.delayedMask(c), c: c}
	for i := range vs.backfill.list {
		if vs.backfill.list[i].preemptedFor { // the reserved job has its victims, and no longer needs the reservation
			w.mask &^= 1 << i
		}
	}
	return w
}

// areLeavingFor reports whether the job at the cursor needs no further victims: the jobs that were
// told to stop free enough for it.
func (vs *victims) areLeavingFor(c *cursor) bool {
	w := vs.demandOf(c)
	return vs.leaving && vs.enough(&w, &vs.freed)
}

// pick chooses victims in ascending order of their ranks, until they free enough of a capacity for
// the job. It chooses no more victims than needed. If even all victims are not enough, or if the
// needed victims together do not rank lower than the job or cost too much, it returns false and chooses none. For
// the capacity vs.soon it chooses no victim that leaves late.
func (vs *victims) pick(w *demand, from *capacity) bool {
	picked := len(vs.stops)
	for i := range vs.list {
		if vs.enough(w, from) {
			break
		}
		v := &vs.list[i]
		late := from == &vs.soon && vs.pass.s.Policy.leavesLate(v.run)
		if v.chosen || late || !v.yieldsWithOthers(&w.c.rank, vs.pass.s.Policy.FIFO) || !vs.choose(v) {
			continue
		}
		vs.releaseVictim(v)
		vs.stops = append(vs.stops, Preemption{
			Victim: v.run.ID, For: w.c.entry.ID, Park: v.parked, Cost: vs.cost(v, &w.c.rank),
		})
	}
	ok := vs.enough(w, from)
	vs.dropUnneeded(w, from, picked, ok)
	if ok && !(vs.lowerTogether(vs.stops[picked:], &w.c.rank) && vs.pay(vs.stops[picked:])) {
		ok = false
		vs.dropUnneeded(w, from, picked, ok)
	}
	return ok
}

// choose chooses a victim. It is parked if it can be and there is host memory for its copy, also
// besides what the jobs need that victims leave for. If not, it is stopped, provided that it is
// preemptible. If it is neither, choose returns false.
func (vs *victims) choose(v *victim) bool {
	v.parked = v.run.Parks && v.run.ParkBytes <= min(vs.copies, vs.freed.mem)
	if v.frees = v.run.hostShare(); v.parked {
		v.frees = hostShare{mem: -v.run.ParkBytes, slot: noSlot}
	}
	v.chosen = v.parked || v.run.Preemptible
	return v.chosen
}

// cost returns the GPU time that a victim of the waiting job's class and number loses, from its
// warning until it goes on. A parked job loses only the time for the copies.
func (vs *victims) cost(v *victim, r *rank) time.Duration {
	lost := v.run.Notice
	switch {
	case v.level != r.level:
		return 0
	case !v.parked:
		lost += vs.pass.s.Policy.RestartCost
	}
	return time.Duration(v.milli) * lost / job.WholeGPU
}

// pay takes what these stops cost out of what stops may cost now. If that is not enough, it takes
// nothing and returns false.
func (vs *victims) pay(list []Preemption) bool {
	sum := vs.paid
	for i := range list {
		sum += list[i].Cost
	}
	if sum > max(vs.paid, vs.pass.s.ForStops) {
		return false
	}
	vs.paid = sum
	return true
}

func (vs *victims) enough(w *demand, from *capacity) bool {
	return vs.room.hasRoomFor(&w.query, vs.backfill.capacityBehind(&w.query, from, w.mask))
}

// ofVictim calls a function for each capacity that a victim affects. These capacities are vs.freed,
// vs.soon (unless the victim leaves late), and the spare capacity of each reservation at whose
// start the victim would still run.
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

// releaseVictim adds what a victim gives up to the capacities that the victim affects. If it is
// parked, it gives up its GPUs, and takes host memory for the copy.
func (vs *victims) releaseVictim(v *victim) {
	vs.ofVictim(v.run, func(l *capacity) { l.giveBack(v.run.Grants, v.frees, vs.pass.s.Now) })
	if v.parked {
		vs.copies -= v.run.ParkBytes
	}
}

// keepVictim reverts releaseVictim.
func (vs *victims) keepVictim(v *victim) {
	vs.ofVictim(v.run, func(l *capacity) { l.take(v.run.Grants, v.frees) })
	if v.parked {
		vs.copies += v.run.ParkBytes
	}
}

// reserveFreed keeps the freed GPUs for the job at the cursor.
func (vs *victims) reserveFreed(c *cursor, grants []Grant) {
	sh := c.bucket.shape
	vs.freed.take(grants, sh.hostShare)
	vs.soon.take(grants, sh.hostShare)
	for i := range vs.backfill.list {
		switch k := &vs.backfill.list[i]; {
		case k.id == c.entry.ID:
			k.preemptedFor = true
		case vs.backfill.mayDelay(c, k):
			k.spare.take(grants, sh.hostShare)
		}
	}
	vs.limits.countPlaced(c, sh.hostShare)
}

// dropUnneeded drops the victims that the job does not need, the highest-ranked first. It never
// drops victims whose index is less than picked. If ok is false, it drops all others.
func (vs *victims) dropUnneeded(w *demand, from *capacity, picked int, ok bool) {
	list := vs.stops[picked:]
	for i := len(list) - 1; i >= 0; i-- {
		v := vs.victimOf(list[i])
		vs.keepVictim(v)
		if ok && !vs.enough(w, from) {
			vs.releaseVictim(v)
			continue
		}
		v.chosen = false
		list = slices.Delete(list, i, i+1)
	}
	vs.stops = vs.stops[:picked+len(list)]
}
