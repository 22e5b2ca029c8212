package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// backfillReservation keeps GPUs for a job that does not fit now: at the shadow it
// will, and rest is what the machine then has left besides.
type backfillReservation struct {
	id           job.ID
	at           Instant // the shadow
	late         Instant // that of all late ends
	until        Instant // so long running jobs are counted on late in the first
	run          time.Duration
	lateRun      time.Duration
	grants       []Grant
	host         hostShare
	saved        capacity // the rest, while the pass looks for victims
	spare        capacity
	then         rank // of the job, at the shadow
	account      *Account
	preemptedFor bool // others were told to stop for the job
}

// release is something coming back at a moment: what a job held, or a GPU.
type release struct {
	at     Instant
	late   Instant
	grants []Grant
	host   hostShare
	gpu    int // noGPU, nothing, or the position of a GPU that becomes OK
}

// What stands in a release for the GPUs of its grants, and where none comes
// back: a reservation of an administrator ends.
const (
	noGPU   = -1
	nothing = -2
)

// backfill is the reservations of a pass: the GPUs that it keeps for jobs that do not fit.
type backfill struct {
	pass    *pass
	room    *room
	list    []backfillReservation // room for maxDepth; their capacities are used again
	ends    []release
	counted []release // the same in another order
	listed  bool      // ends has what runs
	sorted  bool      // by time

	ahead   capacity // what is left now less what is kept; good while sorted
	behind  capacity // of a job behind reservations
	besides hostCapacity
}

// begin forgets the reservations of the pass before.
func (b *backfill) begin() {
	b.list, b.ends = b.list[:0], b.ends[:0]
	b.listed, b.sorted = false, false
}

// keepsMore reports whether GPUs may be kept for one more job.
func (b *backfill) keepsMore() bool { return len(b.list) < b.pass.s.Policy.ReservationDepth }

// delays reports whether the job at the cursor, started now, can still be there
// when GPUs are needed that are kept for another: it runs longer, and cannot be
// stopped for the other by then.
func (b *backfill) delays(c *cursor, r *backfillReservation) bool {
	run, late := c.bucket.run, c.bucket.late
	if c.bucket.shape.yields {
		if alone := b.pass.rankAlone(c); alone.yields(&r.then, b.pass.s.Policy.FIFO) {
			stay := b.pass.s.Policy.Slice
			if alone.protected = true; !alone.yields(&r.then, b.pass.s.Policy.FIFO) {
				stay = b.pass.s.Policy.guaranteed(c.entry.Served)
			}
			run, late = min(run, stay), min(late, stay)
		}
	}
	return r.delayedBy(b.pass.s.Now, run, late)
}

// delayedBy reports whether a job that starts now is in the way of the reservation: it is expected
// to outlast the shadow, and late as it may be the one of jobs that are as late.
func (r *backfillReservation) delayedBy(now Instant, run, late time.Duration) bool {
	return now.Add(run) > r.at && now.Add(late) > r.late
}

// delayed returns the reservations that the job at the cursor may be in the way
// of, as bits. Its own is not one of them.
func (b *backfill) delayed(c *cursor) (mask uint32) {
	for i := range b.list {
		if k := &b.list[i]; k.id != c.entry.ID && b.delays(c, k) {
			mask |= 1 << i
		}
	}
	return mask
}

// delayedBy is delayed for all jobs of a bucket that does not yield and for none of
// which GPUs are kept.
func (b *backfill) delayedBy(run, late time.Duration) (mask uint32) {
	for i := range b.list {
		if b.list[i].delayedBy(b.pass.s.Now, run, late) {
			mask |= 1 << i
		}
	}
	return mask
}

// capacityBehind is what a capacity leaves to a query behind reservations. A GPU that
// an administrator reserved for its account now is kept from it for no account
// that could not use it now.
func (b *backfill) capacityBehind(q *query, l *capacity, mask uint32) *capacity {
	b.behind.copyFrom(l)
	for i := range b.list {
		k := &b.list[i]
		if mask&(1<<i) == 0 {
			continue
		}
		for gpu := range b.behind.gpus {
			if !b.pass.s.owns(q.account, gpu) || b.pass.s.owns(k.account, gpu) {
				b.behind.gpus[gpu].clampTo(&k.spare.gpus[gpu])
			}
		}
		b.behind.hostCapacity.clampTo(&k.spare.hostCapacity)
	}
	return &b.behind
}

// hostBehind is what is left now besides GPUs behind reservations.
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

// clampTo takes h down to what is in both.
func (h *hostCapacity) clampTo(o *hostCapacity) {
	h.hostRoom.clampTo(&o.hostRoom)
	h.noGPU.clampTo(&o.noGPU)
	h.noGPUJobs = max(h.noGPUJobs, o.noGPUJobs)
}

// maxDepth is the most reservations that a pass can make.
const maxDepth = 32

// releases lists what comes back, by time: running jobs, jobs of this pass,
// GPUs, and the ends of reservations of administrators. Earlier reservations are jobs that start at their shadow.
func (b *backfill) releases() {
	if !b.listed {
		b.listed = true
		for i := range b.pass.s.Running {
			r := &b.pass.s.Running[i]
			b.ends = append(b.ends, release{
				at: max(r.End, b.pass.s.Now), late: max(r.Late, b.pass.s.Now), grants: r.Grants, host: r.hostShare(), gpu: noGPU,
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

// lookAhead is the machine as a look ahead begins: what is free now less what is
// kept already.
func (b *backfill) lookAhead(l *capacity) {
	l.copyFrom(&b.room.now)
	for i := range l.gpus {
		l.gpus[i].since = b.pass.s.Now
	}
	for i := range b.list {
		l.take(b.list[i].grants, b.list[i].host)
	}
}

// find returns a reservation for the job at the cursor at the first moment at which it fits when all
// goes as expected; nil when there is none. The reservation does not count yet.
func (b *backfill) find(c *cursor, q *query) *backfillReservation {
	r := b.newReservation()
	if !b.findStart(q, r, b.ends) {
		return nil
	}
	b.countLate(c, q, r)
	r.id, r.account, r.preemptedFor = c.entry.ID, c.bucket.account, false
	r.run, r.lateRun = c.bucket.run, c.bucket.late
	r.host, r.then = c.bucket.shape.hostShare, b.pass.rankAt(c, r.at)
	return r
}

// newReservation returns the next one to be kept, which does not count yet. Its
// capacity has the memory of an earlier pass.
func (b *backfill) newReservation() *backfillReservation {
	return &b.list[:len(b.list)+1][len(b.list)]
}

// findStart moves the rest to the first moment at which the query fits. All that comes
// back at that moment is in it.
func (b *backfill) findStart(q *query, r *backfillReservation, ends []release) bool {
	r.spare.copyFrom(&b.ahead)
	for i := 0; i < len(ends); {
		at := ends[i].at
		for ; i < len(ends) && ends[i].at == at; i++ {
			r.spare.comeBack(&ends[i])
		}
		if q.at = at; b.room.fits(q, &r.spare) {
			r.at = at
			return true
		}
	}
	return false
}

// countLate finds the shadows of a job for which one of expected ends was found: that of late ends,
// and that of late ends until the job was passed for long enough.
func (b *backfill) countLate(c *cursor, q *query, r *backfillReservation) {
	r.late, r.until = r.at, 0
	times := b.pass.s.Policy.Patience
	if times == 0 || !b.countUntil(Never) {
		return
	}
	b.findStart(q, r, b.counted)
	r.late, r.until = r.at, c.came.Add(time.Duration(times)*c.entry.Expected)
	b.countUntil(r.until)
	b.findStart(q, r, b.counted)
	r.late = max(r.late, r.at)
}

// countUntil lists what comes back where it is counted on late until some moment; false where
// nothing is then later than expected.
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

// keep makes a reservation that was found count, with these GPUs. One of exact memory must not
// come to be short by the slack of shares that were not asked in bytes.
func (b *backfill) keep(r *backfillReservation, grants []Grant, exact bool) {
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

// placed takes what a job gets that the pass starts from what the reservations leave over, where
// the job is in their way.
func (b *backfill) placed(c *cursor, grants []Grant, h hostShare) {
	for i := range b.list {
		if b.delays(c, &b.list[i]) {
			b.list[i].spare.take(grants, h)
		}
	}
	now := b.pass.s.Now
	b.comesBack(release{at: now.Add(c.bucket.run), late: now.Add(c.bucket.late), grants: grants, host: h, gpu: noGPU})
}

// comesBack adds what the pass gives out or keeps to what comes back.
func (b *backfill) comesBack(e release) {
	b.ends, b.sorted = append(b.ends, e), false
}

// save and restore keep what the reservations leave over as it was, while the pass looks for victims.
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

// keepsWhole reports whether all of the GPU is kept for a job.
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

// roomFor reports whether a job of the bucket fits into what is left now behind
// some reservations.
func (b *backfill) roomFor(of *bucket, mask uint32) bool {
	if !b.hostBehind(mask).suffices(&of.shape.amount) {
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

// jobOn returns the job for which the GPU is kept.
func (b *backfill) jobOn(gpu int) job.ID {
	for i := range b.list {
		if granted(b.list[i].grants, gpu) {
			return b.list[i].id
		}
	}
	return 0
}
