package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// backfillReservation keeps GPUs for a job that does not fit now, from the moment at which the job
// will fit.
type backfillReservation struct {
	id           job.ID
	at           Instant // when the job starts
	late         Instant // when the job starts if all running jobs run late
	until        Instant // the reserved start counts late ends of other jobs up to this moment
	run          time.Duration
	lateRun      time.Duration
	grants       []Grant
	host         hostShare
	spare        capacity // what the machine has left at the reserved start, besides the job's own part
	saved        capacity // a copy of the field spare from before the pass looked for victims
	then         rank     // the job's rank at the reserved start
	account      *Account
	throttle     *Throttle // the lanes in which the job keeps a place
	preemptedFor bool      // other jobs were told to stop for the job
}

// release is something that becomes free later: a job's resources, or a GPU.
type release struct {
	at     Instant
	late   Instant
	grants []Grant
	host   hostShare
	gpu    int // position of the GPU that becomes OK; noGPU: a job ends; nothing: an advance reservation ends
}

const (
	noGPU   = -1
	nothing = -2
)

// backfill holds the backfill reservations of a pass.
type backfill struct {
	pass    *pass
	room    *room
	list    []backfillReservation // its capacity is maxDepth, so that the memory of earlier passes is reused
	ends    []release
	counted []release // a copy of the list ends, sorted by time, in which late ends count
	listed  bool      // the list ends includes the running jobs, GPUs and advance reservations
	sorted  bool      // the list ends is sorted by time, and the field ahead is up to date

	ahead   capacity // what is free now minus what is reserved
	behind  capacity // what capacityBehind returns
	besides hostCapacity
}

// begin drops the reservations of the previous pass.
func (b *backfill) begin() {
	b.list, b.ends = b.list[:0], b.ends[:0]
	b.listed, b.sorted = false, false
}

// keepsMore reports whether the policy allows another reservation.
func (b *backfill) keepsMore() bool { return len(b.list) < b.pass.s.Policy.ReservationDepth }

// mayDelay reports whether the job at the cursor, if it starts now, may still run at the reserved
// start. That is so if its run is long enough, and if it can't be preempted before.
func (b *backfill) mayDelay(c *cursor, r *backfillReservation) bool {
	run, late := c.bucket.run, c.bucket.late
	if c.bucket.shape.yields {
		if alone := b.pass.rankAlone(c); alone.yieldsTo(&r.then, b.pass.s.Policy.FIFO) {
			stay := b.pass.s.Policy.Slice
			if alone.protected = true; !alone.yieldsTo(&r.then, b.pass.s.Policy.FIFO) {
				stay = b.pass.s.Policy.protectedTime(c.entry.Served)
			}
			run, late = min(run, stay), min(late, stay)
		}
	}
	return r.delayedBy(b.pass.s.Now, run, late)
}

// delayedBy reports whether a job that starts now delays the reservation. It does so if its
// expected end is after the reserved start and its late end is after the late start.
func (r *backfillReservation) delayedBy(now Instant, run, late time.Duration) bool {
	return now.Add(run) > r.at && now.Add(late) > r.late
}

// delayedMask returns, as bits, the reservations that the job at the cursor may delay. It leaves
// out the job's own reservation.
func (b *backfill) delayedMask(c *cursor) (mask uint32) {
	for i := range b.list {
		if k := &b.list[i]; k.id != c.entry.ID && b.mayDelay(c, k) {
			mask |= 1 << i
		}
	}
	return mask
}

// delayedBy returns, as bits, the reservations that a job with these run times may delay. The job
// must not be preemptible, and must not have a reservation itself.
func (b *backfill) delayedBy(run, late time.Duration) (mask uint32) {
	for i := range b.list {
		if b.list[i].delayedBy(b.pass.s.Now, run, late) {
			mask |= 1 << i
		}
	}
	return mask
}

// capacityBehind returns the part of a capacity that the reservations in mask leave to a query. An
// advance reservation may give a GPU to the query's account now, but not to the account of a
// reserved job. Such a GPU is not kept for the reserved job.
func (b *backfill) capacityBehind(q *query, l *capacity, mask uint32) *capacity {
	b.behind.copyFrom(l)
	for i := range b.list {
		k := &b.list[i]
		if mask&(1<<i) == 0 {
			continue
		}
		for gpu := range b.behind.gpus {
			if !b.pass.s.ownsGPU(q.account, gpu) || b.pass.s.ownsGPU(k.account, gpu) {
				b.behind.gpus[gpu].clampTo(&k.spare.gpus[gpu])
			}
		}
		b.behind.hostCapacity.clampTo(&k.spare.hostCapacity)
	}
	return &b.behind
}

// hostBehind returns the host resources that are free now, without what the reservations in mask
// keep.
func (b *backfill) hostBehind(mask uint32) *hostCapacity {
	if mask == 0 {
		return &b.room.now.hostCapacity
	}
	h := &b.besides
	*h = b.room.now.hostCapacity
	for i := range b.list {
		if mask&(1<<i) != 0 {
			h.clampTo(&b.list[i].spare.hostCapacity)
		}
	}
	return h
}

// clampTo lowers each value of h that exceeds the value of o.
func (h *hostCapacity) clampTo(o *hostCapacity) {
	h.hostRoom.clampTo(&o.hostRoom)
	h.noGPU.clampTo(&o.noGPU)
	h.noGPUJobs = max(h.noGPUJobs, o.noGPUJobs)
}

// maxDepth is the maximum number of reservations in a pass.
const maxDepth = 32

// listReleases lists everything that becomes free, sorted by time: running jobs, jobs that this
// pass starts, reserved jobs, GPUs that become ready, and the ends of advance reservations.
func (b *backfill) listReleases() {
	if !b.listed {
		b.listed = true
		for i := range b.pass.s.Running {
			r := &b.pass.s.Running[i]
			b.ends = append(b.ends, release{
				at: max(r.End, b.pass.s.Now), late: max(r.Late, b.pass.s.Now), grants: r.Grants, host: r.frees(), gpu: noGPU,
			})
		}
		for i := range b.pass.s.GPUs {
			if g := &b.pass.s.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
				b.ends = append(b.ends, release{at: max(g.ReadyAt, b.pass.s.Now), gpu: i})
			}
		}
		for i := range b.pass.s.Reserved {
			if to := b.pass.s.Reserved[i].To; to > b.pass.s.Now {
				b.ends = append(b.ends, release{at: to, gpu: nothing})
			}
		}
	}
	if !b.sorted {
		slices.SortStableFunc(b.ends, byTime)
		b.lookAhead(&b.ahead)
		b.sorted = true
	}
}

func byTime(a, b release) int { return cmp.Compare(a.at, b.at) }

// lookAhead sets l to what is free now, without what is reserved.
func (b *backfill) lookAhead(l *capacity) {
	l.copyFrom(&b.room.now)
	for i := range l.gpus {
		l.gpus[i].since = b.pass.s.Now
	}
	for i := range b.list {
		l.take(b.list[i].grants, b.list[i].host)
	}
}

// find returns a reservation for the job at the cursor. If none is possible, it returns nil. The
// reservation starts at the first moment at which the job fits if all jobs end when expected. It
// takes effect only when commit is called.
func (b *backfill) find(c *cursor, q *query) *backfillReservation {
	r := b.newReservation()
	if !b.findStart(q, r, b.ends) {
		return nil
	}
	b.countLate(c, q, r)
	r.id, r.account, r.preemptedFor = c.entry.ID, c.bucket.account, false
	r.throttle = c.entry.Throttle
	r.run, r.lateRun = c.bucket.run, c.bucket.late
	r.host, r.then = c.bucket.shape.hostShare, b.pass.rankAt(c, r.at)
	return r
}

// newReservation returns the element after the last element of the list, and does not add it to the
// list. The element's capacities reuse the memory of an earlier pass.
func (b *backfill) newReservation() *backfillReservation {
	return &b.list[:len(b.list)+1][len(b.list)]
}

// findStart sets r.at to the first moment at which the query fits, and r.spare to what is free at
// that moment.
func (b *backfill) findStart(q *query, r *backfillReservation, ends []release) bool {
	r.spare.copyFrom(&b.ahead)
	for i := 0; i < len(ends); {
		at := ends[i].at
		for ; i < len(ends) && ends[i].at == at; i++ {
			r.spare.comeBack(&ends[i])
		}
		if q.at = at; b.room.hasRoomFor(q, &r.spare) {
			r.at = at
			return true
		}
	}
	return false
}

// countLate sets the late start of a reservation whose start is known. Late ends of running jobs do
// not count for ever. They no longer count once the reserved job has waited for Policy.Patience
// times its expected run time.
func (b *backfill) countLate(c *cursor, q *query, r *backfillReservation) {
	r.late, r.until = r.at, 0
	times := b.pass.s.Policy.Patience
	if times == 0 || !b.countUntil(Never) {
		return
	}
	b.findStart(q, r, b.counted)
	r.late, r.until = r.at, c.bucket.turn.of(c.came).Add(time.Duration(times)*c.entry.Expected)
	b.countUntil(r.until)
	b.findStart(q, r, b.counted)
	r.late = max(r.late, r.at)
}

// countUntil fills b.counted with the releases. Up to the given moment, the late ends of jobs count
// instead of the expected ends. It reports whether this makes any release later.
func (b *backfill) countUntil(until Instant) (later bool) {
	b.counted = append(b.counted[:0], b.ends...)
	for i := range b.counted {
		if e := &b.counted[i]; min(e.late, until) > e.at {
			e.at, later = min(e.late, until), true
		}
	}
	if later {
		slices.SortStableFunc(b.counted, byTime)
	}
	return later
}

func (l *capacity) comeBack(e *release) {
	switch e.gpu {
	case noGPU:
		l.giveBack(e.grants, e.host, e.at)
	case nothing:
	default:
		l.gpus[e.gpu].ok = true
		l.gpus[e.gpu].since = e.at
	}
}

// commit puts a reservation that find returned into effect, with the given GPUs. A memory share
// that is placed later may be smaller than requested, by the GPU's slack. So if this job asked for
// exact memory, commit also subtracts the slack, and later shares leave the job enough.
func (b *backfill) commit(r *backfillReservation, grants []Grant, exact bool) {
	r.grants = grants
	r.spare.take(r.grants, r.host)
	if exact {
		for _, g := range r.grants {
			r.spare.gpus[g.GPU].mem -= b.pass.s.GPUs[g.GPU].SlackBytes
		}
	}
	b.list = b.list[:len(b.list)+1]
	b.comesBack(release{
		at: r.at.Add(r.run), late: r.late.Add(r.lateRun), grants: r.grants, host: r.host, gpu: noGPU,
	})
}

// subtractPlaced subtracts a started job's resources from the spare capacity of each reservation
// that the job delays.
func (b *backfill) subtractPlaced(c *cursor, grants []Grant, h hostShare) {
	for i := range b.list {
		if b.mayDelay(c, &b.list[i]) {
			b.list[i].spare.take(grants, h)
		}
	}
	now := b.pass.s.Now
	b.comesBack(release{at: now.Add(c.bucket.run), late: now.Add(c.bucket.late), grants: grants, host: h, gpu: noGPU})
}

// comesBack adds a release to the list.
func (b *backfill) comesBack(e release) {
	b.ends, b.sorted = append(b.ends, e), false
}

// save keeps a copy of the spare capacities before the pass looks for victims. restore puts the
// copy back.
func (b *backfill) save() {
	for i := range b.list {
		b.list[i].saved.copyFrom(&b.list[i].spare)
	}
}

func (b *backfill) restore() {
	for i := range b.list {
		b.list[i].spare.copyFrom(&b.list[i].saved)
	}
}

// keepsWhole reports whether the whole GPU is reserved for a job.
func (b *backfill) keepsWhole(gpu int) bool {
	for i := range b.list {
		for _, g := range b.list[i].grants {
			if g.GPU == gpu && g.Milli == job.WholeGPU {
				return true
			}
		}
	}
	return false
}

func granted(list []Grant, gpu int) bool {
	for _, g := range list {
		if g.GPU == gpu {
			return true
		}
	}
	return false
}

// roomFor reports whether a job of the bucket fits now, given the reservations in mask.
func (b *backfill) roomFor(of *bucket, mask uint32) bool {
	if !b.hostBehind(mask).canTake(&of.shape.amount) {
		return false
	}
	if of.shape.milli == 0 {
		return true
	}
	q := query{shape: of.shape, account: of.account, at: b.pass.s.Now, when: whenNow}
	if !b.room.fitsAtStart(q) || !b.room.gpusFit(&q, &b.room.now) {
		return false
	}
	return mask == 0 || b.room.gpusFit(&q, b.capacityBehind(&q, &b.room.now, mask))
}

// jobOn returns the job for which the GPU is reserved.
func (b *backfill) jobOn(gpu int) job.ID {
	for i := range b.list {
		if granted(b.list[i].grants, gpu) {
			return b.list[i].id
		}
	}
	return 0
}

// laneKeptFrom returns the first other job whose reservation takes the last place of a lane in
// which a job waits, or 0.
func (b *backfill) laneKeptFrom(w *Waiting, run time.Duration) job.ID {
	for t := range w.Throttle.all() {
		left, first, soonest := t.Limit-t.Lane.Running, job.ID(0), Never
		for i := range b.list {
			r := &b.list[i]
			for o := range r.throttle.all() {
				if o.Lane == t.Lane && r.id != w.ID {
					left, first, soonest = left-1, cmp.Or(first, r.id), min(soonest, r.at)
				}
			}
		}
		if left <= 0 && b.pass.s.Now.Add(run) > soonest {
			return first
		}
	}
	return 0
}
