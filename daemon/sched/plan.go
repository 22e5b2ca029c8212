package sched

import "time"

// Planner makes plans. It keeps nothing between passes but memory to work in,
// and must be used by one goroutine.
type Planner struct {
	pass            pass
	room            room
	backfill        backfill
	limits          limits
	choice          chooser
	walk            walk
	victims         victims
	out             Plan
	grants          []Grant // of placements and reservations
	maxFailedShapes int     // of shapes of one account for which a pass fails to find GPUs to keep
}

// NewPlanner returns a planner.
func NewPlanner() *Planner {
	p := &Planner{maxFailedShapes: maxFailedShapes}
	p.room.pass = &p.pass
	p.backfill = backfill{pass: &p.pass, room: &p.room, list: make([]backfillReservation, 0, maxDepth)}
	p.limits = limits{pass: &p.pass, room: &p.room}
	p.choice = chooser{pass: &p.pass, backfill: &p.backfill}
	p.walk = walk{pass: &p.pass, siftAfter: 8}
	p.walk.fit.walk, p.walk.blocked.walk = &p.walk, &p.walk
	p.victims = victims{
		pass: &p.pass, room: &p.room, backfill: &p.backfill, limits: &p.limits, choice: &p.choice,
	}
	return p
}

// begin prepares a pass.
func (p *Planner) begin(s *Snapshot, q *Queue) {
	p.out.Place, p.out.Preempt, p.out.Backfill = p.out.Place[:0], p.out.Preempt[:0], p.out.Backfill[:0]
	p.out.Wake, p.grants = Never, p.grants[:0]
	p.pass.begin(s, q)
	p.room.begin()
	p.backfill.begin()
	p.limits.begin()
	p.choice.begin()
	p.victims.begin()
}

// Plan decides. The snapshot and the queue are not changed; the plan is valid
// until the next call of any method.
func (p *Planner) Plan(s *Snapshot, q *Queue) *Plan {
	p.decide(s, q)
	p.preempt()
	p.pass.findOpen()
	p.limits.resetThrottles()
	p.wake()
	return &p.out
}

// Placements decides what starts, as Plan does, but does not look for jobs to make room.
func (p *Planner) Placements(s *Snapshot, q *Queue) []Placement {
	p.decide(s, q)
	p.limits.resetThrottles()
	return p.out.Place
}

// PlannedStarts lists the moments from which GPUs are kept for waiting jobs, as many as
// a pass can plan whatever the policy, and those at which the quotas of these groups let
// the first job start that they keep back. It is valid until the next call of any method.
func (p *Planner) PlannedStarts(s *Snapshot, q *Queue, groups []*Account) []BackfillReservation {
	deep := *s
	deep.Policy.ReservationDepth = maxDepth
	p.decide(&deep, q)
	for _, g := range groups {
		if !g.bounded() {
			continue
		}
		p.limits.findCapped(g)
		if k := &g.place.capped; k.asks != nil {
			p.limits.findPlace(g, k)
			p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: k.id, At: g.place.found.at})
		}
	}
	p.limits.resetThrottles()
	return p.out.Backfill
}

func (p *Planner) decide(s *Snapshot, q *Queue) {
	p.begin(s, q)
	p.splitByFit()
	for p.step() {
	}
}

// splitByFit splits the buckets into those whose jobs fit into what is free as the
// pass begins and those for which GPUs may be kept. The others are left alone.
func (p *Planner) splitByFit() {
	w := &p.walk
	w.begin()
	p.pass.work += len(p.pass.q.buckets)
	keeps := p.pass.s.Policy.ReservationDepth > 0
	for _, b := range p.pass.q.buckets {
		if p.room.capped(b.account, &b.shape.amount) {
			continue
		}
		switch p.pass.open(b.shape.footprint); {
		case p.backfill.roomFor(b, 0):
			w.fit.list = append(w.fit.list, w.atHead(b))
		case keeps && p.room.fitsEver(b.shape):
			w.blocked.list = append(w.blocked.list, w.atHead(b))
		}
	}
	w.fit.order()
	w.blocked.order()
}

// step looks at the first job in order that is left; false when there is none.
// Once all reservations are made, those that do not fit are left alone.
func (p *Planner) step() bool {
	p.pass.work++
	fit, blocked := &p.walk.fit, &p.walk.blocked
	refuse := len(blocked.list) > 0 && p.backfill.keepsMore()
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

// refuse deals with a job that does not fit in its turn: unless it is capped by
// now, a reservation is made for it, and no job of its bucket is looked at again
// where none can be.
func (p *Planner) refuse() {
	c := p.walk.blocked.first()
	if p.hopeless(c.bucket) {
		if p.walk.blocked.drop() {
			p.walk.blocked.sift(func(c *cursor) bool { return !p.hopeless(c.bucket) })
		}
		return
	}
	switch {
	case c.capped(&p.room):
		p.walk.blocked.pop()
	case !c.open(): // another job of its array was faster
		p.walk.blocked.reinsert(p.pass.seek(c))
	case p.limits.behindOwn(c).hold != nil:
		p.walk.blocked.pop()
	case p.reserve(c):
		p.walk.blocked.reinsert(p.pass.next(c))
	default:
		p.walk.blocked.pop()
		p.giveUp(c.bucket)
	}
}

// maxFailedShapes is for how many shapes of one account a pass fails to find GPUs to keep.
const maxFailedShapes = 16

// hopeless reports whether there is no use in keeping GPUs for a job of the bucket.
// Reservations of administrators concern accounts, so that a shape is tried for
// each.
func (p *Planner) hopeless(b *bucket) bool {
	return b.account.failedShapes >= p.maxFailedShapes || len(p.pass.s.Reserved) == 0 && b.shape.hopeless == p.pass.number
}

// giveUp notes that nothing can be kept for a job of the bucket. An account for
// whose jobs that was tried often enough is not looked at again.
func (p *Planner) giveUp(b *bucket) {
	b.shape.hopeless = p.pass.number
	b.account.failedShapes++
}

// tryFirst places the first job of the heap, or sorts it out.
func (p *Planner) tryFirst() {
	c := p.walk.fit.first()
	if c.capped(&p.room) {
		p.walk.fit.pop()
		return
	}
	if !c.open() { // another job of its array was faster
		p.walk.fit.reinsert(p.pass.seek(c))
		return
	}
	mask := p.backfill.delayed(c)
	fits := p.backfill.roomFor(c.bucket, mask)
	switch {
	case fits:
		ahead := p.limits.behindOwn(c)
		if ahead.hold != nil { // and so it is for all of its bucket
			p.walk.fit.pop()
			return
		}
		p.placeBehind(c, mask, ahead.cpus)
		p.walk.fit.reinsert(p.pass.seek(c))
	case c.bucket.shape.yields:
		p.walk.fit.reinsert(p.passOver(c))
	default:
		p.block(c)
		if p.walk.fit.drop() {
			p.walk.fit.sift(p.stillFits)
		}
	}
}

// block puts a bucket whose jobs do not fit any more where GPUs may be kept for them.
func (p *Planner) block(c *cursor) {
	if p.backfill.keepsMore() {
		p.walk.blocked.push(c)
	}
}

// stillFits reports whether a bucket of the heap may still fit, and blocks one that does
// not. A later job of one that yields may where the first does not.
func (p *Planner) stillFits(c *cursor) bool {
	if b := c.bucket; b.shape.yields || p.backfill.roomFor(b, p.backfill.delayedBy(b.run, b.late)) {
		return true
	}
	p.block(c)
	return false
}

// placeBehind places the job at the cursor, which fits behind the reservations. Where it names no
// number of CPUs it gets at most as many as are left beside its own account's jobs ahead.
func (p *Planner) placeBehind(c *cursor, mask uint32, besideOwn int) {
	q, l := c.query(p.pass.s.Now, whenNow), &p.room.now
	if mask != 0 {
		l = p.backfill.capacityBehind(&q, l, mask)
	}
	h := hostShare{q.shape.mem, p.pass.s.cpusFor(q.shape, q.account, l)}
	if q.shape.cpus == 0 {
		h.cpus = max(0, min(h.cpus, besideOwn))
	}
	p.place(c, p.choice.choose(&q, l), h)
}

// passOver deals with the first of the heap, which does not fit and whose jobs may
// be stopped for others. A later job of its bucket stands lower, so that it can
// yield where this one does not, and fit: the last is in the way of the least. It
// returns false when none of them fits.
func (p *Planner) passOver(c *cursor) bool {
	mask := p.backfill.delayed(c)
	if p.backfill.keepsMore() && !c.given && !p.hopeless(c.bucket) {
		if p.limits.behindOwn(c).hold != nil {
			return false
		}
		if p.reserve(c) {
			return p.pass.next(c)
		}
		c.given = true
		p.giveUp(c.bucket)
	}
	last := p.pass.cursor(c.bucket, c.bucket.tail)
	if !p.backfill.roomFor(c.bucket, p.backfill.delayed(&last)) {
		return false
	}
	for p.pass.next(c) {
		if p.backfill.delayed(c)&mask != mask {
			return true
		}
	}
	return false
}

// place records a placement and takes it from what is left.
func (p *Planner) place(c *cursor, grants []Grant, h hostShare) {
	grants = p.stored(grants)
	p.out.Place = append(p.out.Place, Placement{Job: c.entry.ID, Grants: grants, CPUs: h.cpus, Guarded: c.guarded})
	p.room.now.take(grants, h)
	p.backfill.placed(c, grants, h)
	p.limits.give(c, h)
	c.used++
	c.entry.start(p.pass.number)
}

// reserve finds the first moment at which the job fits when all goes as
// expected, and keeps GPUs for it there. It returns false when there is none,
// or when the job would fit now but for a load that may pass any moment.
func (p *Planner) reserve(c *cursor) bool {
	if len(p.backfill.list) >= maxDepth || !p.room.fitsEver(c.bucket.shape) {
		return false
	}
	p.backfill.releases()
	q := c.query(p.pass.s.Now, whenAhead)
	if p.room.fits(&q, &p.backfill.ahead) {
		return false
	}
	r := p.backfill.find(c, &q)
	if r == nil {
		return false
	}
	p.backfill.keep(r, p.stored(p.choice.chooseLatest(&q, &r.spare)), c.bucket.shape.gpuMem > 0)
	p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: r.id, At: r.at})
	p.limits.hold(c, r.at)
	return true
}

// stored copies grants into memory that lasts as long as the plan.
func (p *Planner) stored(grants []Grant) []Grant {
	at := len(p.grants)
	p.grants = append(p.grants, grants...)
	return p.grants[at:len(p.grants):len(p.grants)]
}

// wake says when a plan may come out otherwise though nothing happened: a
// running job has had its slice, or scores have grown apart.
func (p *Planner) wake() {
	if p.pass.q.Len() == 0 {
		return
	}
	for i := range p.pass.s.Running {
		r := &p.pass.s.Running[i]
		if !r.Preemptible || r.Stopping {
			continue
		}
		at := r.Start.Add(p.pass.s.Policy.Slice)
		if at <= p.pass.s.Now {
			at = p.pass.s.Now.Add(preemptEvery)
		}
		p.out.Wake = min(p.out.Wake, at)
	}
	for i := range p.pass.s.Reserved {
		for _, at := range []Instant{p.pass.s.Reserved[i].From, p.pass.s.Reserved[i].To} {
			if at > p.pass.s.Now {
				p.out.Wake = min(p.out.Wake, at)
			}
		}
	}
}

// preemptEvery is how often scores are compared with those of running jobs that
// have had their slice.
const preemptEvery = time.Minute
