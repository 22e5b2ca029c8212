package sched

import (
	"time"
)

// Planner makes plans. It keeps nothing between passes but memory to work in,
// and must be used by one goroutine.
type Planner struct {
	s               *Snapshot
	q               *Queue
	pass            uint64
	out             Plan
	maxFailedShapes int // of shapes of one account for which a pass fails to find GPUs to keep
	siftAfter       int // so many of a heap have come to nothing, the rest is looked through
	looks           int // of this pass, at jobs, buckets and what the GPUs have for a shape: its work

	start   capacity // when the pass began
	now     capacity // less what it gave out
	ahead   capacity // less what it keeps; good while sorted
	final   capacity // once all has come back
	behind  capacity // of a job behind reservations
	besides hostCapacity

	backfill []backfillReservation // room for maxDepth; their capacities are used again
	ends     []release
	counted  []release // the same in another order
	listed   bool      // ends has what runs
	sorted   bool      // by time
	heap     heap      // of jobs that fit
	blocked  heap      // of jobs that do not
	cursors  []cursor  // by the places of their buckets in the queue

	grants     []Grant
	store      []Grant // of placements and reservations
	candidates []int
	own        []int
	largest    int64 // memory of the machine's largest GPU
	set        []int
	degree     []int64

	given     []quotaEnd  // what the pass gave out, as quotas count it
	backs     []quotaEnd  // what a quota gets back
	throttles []*Throttle // that the pass went through
	victims   []victim
	freed     capacity // with all that others have been told to give back
	soon      capacity // without what of that comes late
}

// NewPlanner returns a planner.
func NewPlanner() *Planner {
	p := &Planner{backfill: make([]backfillReservation, 0, maxDepth), maxFailedShapes: maxFailedShapes, siftAfter: 8}
	p.heap.p, p.blocked.p = p, p
	return p
}

// begin prepares a pass.
func (p *Planner) begin(s *Snapshot, q *Queue) {
	p.s, p.q = s, q
	p.largest = 0
	for i := range s.GPUs {
		p.largest = max(p.largest, s.GPUs[i].MemTotalBytes)
	}
	q.pass++
	p.pass = q.pass
	p.out.Place, p.out.Preempt, p.out.Backfill = p.out.Place[:0], p.out.Preempt[:0], p.out.Backfill[:0]
	p.out.Wake = Never
	p.looks, p.backfill, p.store = 0, p.backfill[:0], p.store[:0]
	p.ends, p.listed, p.given = p.ends[:0], false, p.given[:0]
	p.start.open(s)
	p.now.copyFrom(&p.start)
	p.openFinal()
	p.sorted = false
	p.beginAccounts()
	p.beginBatches()
}

// open prepares a footprint that the pass comes to.
func (p *Planner) open(f *footprint) {
	if f.pass != p.pass {
		f.pass = p.pass
		f.atStart, f.ever = unasked, unasked
		f.qualify(p.s)
		f.inService = 0
		for i, could := range f.qual {
			if could && p.s.GPUs[i].inService() {
				f.inService++
			}
		}
	}
}

// Plan decides. The snapshot and the queue are not changed; the plan is valid
// until the next call of any method.
func (p *Planner) Plan(s *Snapshot, q *Queue) *Plan {
	p.decide(s, q)
	p.preempt()
	p.findPartly()
	p.resetThrottles()
	p.wake()
	return &p.out
}

// Placements decides what starts, as Plan does, but does not look for jobs to make room.
func (p *Planner) Placements(s *Snapshot, q *Queue) []Placement {
	p.decide(s, q)
	p.resetThrottles()
	return p.out.Place
}

func (p *Planner) decide(s *Snapshot, q *Queue) {
	p.begin(s, q)
	p.splitByFit()
	for p.step() {
	}
}

// countStart counts a start that an array's throttle, if there is one, lets pass.
func (p *Planner) countStart(g *Throttle) {
	if g == nil {
		return
	}
	if g.used == 0 {
		p.throttles = append(p.throttles, g)
	}
	g.used++
}

// resetThrottles forgets what the throttles let through in this pass.
func (p *Planner) resetThrottles() {
	for _, g := range p.throttles {
		g.used = 0
	}
	p.throttles = p.throttles[:0]
}

// splitByFit splits the buckets into those whose jobs fit into what is free as the
// pass begins and those for which GPUs may be kept. The others are left alone.
func (p *Planner) splitByFit() {
	p.beginWalk()
	p.looks += len(p.q.buckets)
	keeps := p.s.Policy.ReservationDepth > 0
	for _, b := range p.q.buckets {
		if p.capped(b.account, &b.shape.amount) {
			continue
		}
		switch p.open(b.shape.footprint); {
		case p.roomFor(b, 0):
			p.heap.list = append(p.heap.list, p.atHead(b))
		case keeps && p.fitsEver(b.shape):
			p.blocked.list = append(p.blocked.list, p.atHead(b))
		}
	}
	p.heap.order()
	p.blocked.order()
}

// capped reports whether jobs are passed over: for a quota, or since those that ask no
// GPU have all places that they may have.
func (p *Planner) capped(a *Account, n *amount) bool {
	return !a.unbounded && a.capped(n) || n.milli == 0 && p.now.noGPU.slots <= 0
}

// step looks at the first job in order that is left; false when there is none.
// Once all reservations are made, those that do not fit are left alone.
func (p *Planner) step() bool {
	p.looks++
	fit, blocked := &p.heap, &p.blocked
	refuse := len(blocked.list) > 0 && p.keepsMore()
	switch {
	case refuse && (len(fit.list) == 0 || blocked.first().before(&fit.first().rank)):
		p.refuse()
		return true
	case len(fit.list) == 0:
		return false
	}
	p.tryFirst()
	return true
}

// keepsMore reports whether GPUs may be kept for one more job.
func (p *Planner) keepsMore() bool { return len(p.backfill) < p.s.Policy.ReservationDepth }

// refuse deals with a job that does not fit in its turn: unless it is capped by
// now, a reservation is made for it, and no job of its bucket is looked at again
// where none can be.
func (p *Planner) refuse() {
	c := p.blocked.first()
	if p.hopeless(c.bucket) {
		if p.blocked.drop() {
			p.blocked.sift(func(c *cursor) bool { return !p.hopeless(c.bucket) })
		}
		return
	}
	switch {
	case c.capped(p):
		p.blocked.pop()
	case !c.open(): // another job of its array was faster
		p.blocked.settle(p.seek(c))
	case p.behindOwn(c).hold != nil:
		p.blocked.pop()
	case p.reserve(c):
		p.blocked.settle(p.next(c))
	default:
		p.blocked.pop()
		p.giveUp(c.bucket)
	}
}

// maxFailedShapes is for how many shapes of one account a pass fails to find GPUs to keep.
const maxFailedShapes = 16

// hopeless reports whether there is no use in keeping GPUs for a job of the bucket.
// Reservations of administrators concern accounts, so that a shape is tried for
// each.
func (p *Planner) hopeless(b *bucket) bool {
	return b.account.failedShapes >= p.maxFailedShapes || len(p.s.Reserved) == 0 && b.shape.hopeless == p.pass
}

// giveUp notes that nothing can be kept for a job of the bucket. An account for
// whose jobs that was tried often enough is not looked at again.
func (p *Planner) giveUp(b *bucket) {
	b.shape.hopeless = p.pass
	b.account.failedShapes++
}

// tryFirst places the first job of the heap, or sorts it out.
func (p *Planner) tryFirst() {
	c := p.heap.first()
	if c.capped(p) {
		p.heap.pop()
		return
	}
	if !c.open() { // another job of its array was faster
		p.heap.settle(p.seek(c))
		return
	}
	mask := p.delayed(c)
	fits := p.roomFor(c.bucket, mask)
	switch {
	case fits:
		ahead := p.behindOwn(c)
		if ahead.hold != nil { // and so it is for all of its bucket
			p.heap.pop()
			return
		}
		p.placeBehind(c, mask, ahead.cpus)
		p.heap.settle(p.seek(c))
	case c.bucket.shape.yields:
		p.heap.settle(p.passOver(c))
	default:
		p.block(c)
		if p.heap.drop() {
			p.heap.sift(p.stillFits)
		}
	}
}

// block puts a bucket whose jobs do not fit any more where GPUs may be kept for them.
func (p *Planner) block(c *cursor) {
	if p.keepsMore() {
		p.blocked.push(c)
	}
}

// stillFits reports whether a bucket of the heap may still fit, and blocks one that does
// not. A later job of one that yields may where the first does not.
func (p *Planner) stillFits(c *cursor) bool {
	if b := c.bucket; b.shape.yields || p.roomFor(b, p.delayedBy(b.run, b.late)) {
		return true
	}
	p.block(c)
	return false
}

// placeBehind places the job at the cursor, which fits behind the reservations. Where it names no
// number of CPUs it gets at most as many as are left beside its own account's jobs ahead.
func (p *Planner) placeBehind(c *cursor, mask uint32, besideOwn int) {
	q, l := c.query(p.s.Now, whenNow), &p.now
	if mask != 0 {
		l = p.capacityBehind(&q, l, mask)
	}
	h := hostShare{q.shape.mem, p.cpusFor(q.shape, q.account, l)}
	if q.shape.cpus == 0 {
		h.cpus = max(0, min(h.cpus, besideOwn))
	}
	p.place(c, p.choose(&q, l), h)
}

// passOver deals with the first of the heap, which does not fit and whose jobs may
// be stopped for others. A later job of its bucket stands lower, so that it can
// yield where this one does not, and fit: the last is in the way of the least. It
// returns false when none of them fits.
func (p *Planner) passOver(c *cursor) bool {
	mask := p.delayed(c)
	if p.keepsMore() && !c.given && !p.hopeless(c.bucket) {
		if p.behindOwn(c).hold != nil {
			return false
		}
		if p.reserve(c) {
			return p.next(c)
		}
		c.given = true
		p.giveUp(c.bucket)
	}
	last := p.cursor(c.bucket, c.bucket.tail)
	if !p.roomFor(c.bucket, p.delayed(&last)) {
		return false
	}
	for p.next(c) {
		if p.delayed(c)&mask != mask {
			return true
		}
	}
	return false
}

// place records a placement and takes it from what is left.
func (p *Planner) place(c *cursor, grants []Grant, h hostShare) {
	at := len(p.store)
	p.store = append(p.store, grants...)
	grants = p.store[at:len(p.store):len(p.store)]
	p.out.Place = append(p.out.Place, Placement{Job: c.entry.ID, Grants: grants, CPUs: h.cpus, Guarded: c.guarded})
	p.now.take(grants, h)
	for i := range p.backfill {
		if p.delays(c, &p.backfill[i]) {
			p.backfill[i].rest.take(grants, h)
		}
	}
	p.sorted = false
	p.give(c, h)
	c.used++
	c.entry.start(p.pass)
	p.ends = append(p.ends, release{
		at: p.s.Now.Add(c.bucket.run), late: p.s.Now.Add(c.bucket.late), grants: grants, host: h, gpu: noGPU,
	})
}

// wake says when a plan may come out otherwise though nothing happened: a
// running job has had its slice, or scores have grown apart.
func (p *Planner) wake() {
	if p.q.Len() == 0 {
		return
	}
	for i := range p.s.Running {
		r := &p.s.Running[i]
		if !r.Preemptible || r.Stopping {
			continue
		}
		at := r.Start.Add(p.s.Policy.Slice)
		if at <= p.s.Now {
			at = p.s.Now.Add(preemptEvery)
		}
		p.out.Wake = min(p.out.Wake, at)
	}
	for i := range p.s.Reserved {
		for _, at := range []Instant{p.s.Reserved[i].From, p.s.Reserved[i].To} {
			if at > p.s.Now {
				p.out.Wake = min(p.out.Wake, at)
			}
		}
	}
}

// preemptEvery is how often scores are compared with those of running jobs that
// have had their slice.
const preemptEvery = time.Minute
