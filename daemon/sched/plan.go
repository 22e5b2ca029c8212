package sched

import "time"

// A Planner makes plans. The package comment lists its parts. Between passes it keeps only memory
// for reuse. Only one goroutine may use it at a time.
type Planner struct {
	pass            pass
	room            room
	backfill        backfill
	limits          limits
	choice          chooser
	walk            walk
	victims         victims
	out             Plan
	grants          []Grant // memory for the grants of the plan's placements and reservations
	maxFailedShapes int     // usually the constant of the same name; tests lower it
}

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

// Plan makes a pass. It changes neither the snapshot nor the queue. The plan is valid until the
// next call of any method.
func (p *Planner) Plan(s *Snapshot, q *Queue) *Plan {
	p.decide(s, q)
	p.limits.endReserved() // a job with a reservation may preempt others
	p.preempt()
	p.pass.findOpen()
	p.limits.endCounts()
	p.wake()
	return &p.out
}

// Placements returns the placements that Plan would make, and does not look for jobs to preempt.
func (p *Planner) Placements(s *Snapshot, q *Queue) []Placement {
	p.decide(s, q)
	p.limits.endCounts()
	return p.out.Place
}

// PlannedStarts returns when waiting jobs are planned to start. It covers the jobs with
// reservations, and for each of the groups the first job that the group's quotas hold back. It
// makes as many reservations as a pass can make, even if the policy allows fewer. The result is
// valid until the next call of any method.
func (p *Planner) PlannedStarts(s *Snapshot, q *Queue, groups []*Account) []BackfillReservation {
	deep := *s
	deep.Policy.ReservationDepth = maxDepth
	p.decide(&deep, q)
	for _, g := range groups {
		if !g.hasQuota() {
			continue
		}
		p.limits.findCapped(g)
		if k := &g.place.capped; k.asks != nil {
			p.limits.findPlace(g, k)
			p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: k.id, At: g.place.found.at})
		}
	}
	p.limits.endCounts()
	return p.out.Backfill
}

func (p *Planner) decide(s *Snapshot, q *Queue) {
	p.begin(s, q)
	p.splitByFit()
	for p.step() {
	}
}

// splitByFit divides the buckets into those whose jobs fit now, and those whose jobs do not fit and
// may get reservations. It skips all other buckets.
func (p *Planner) splitByFit() {
	w := &p.walk
	w.begin()
	p.pass.work += len(p.pass.q.buckets)
	keeps := p.pass.s.Policy.ReservationDepth > 0
	for _, b := range p.pass.q.buckets {
		if p.room.isCapped(b.account, &b.shape.amount) || p.pass.s.cutsOff(b) {
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

// step handles the first job of the walk. It returns false when nothing is left to do. Once all
// reservations are made, the pass no longer looks at jobs that do not fit.
func (p *Planner) step() bool {
	p.pass.work++
	fit, blocked := &p.walk.fit, &p.walk.blocked
	refuse := len(blocked.list) > 0 && p.backfill.keepsMore()
	switch {
	case refuse && (len(fit.list) == 0 || blocked.first().isBefore(&fit.first().rank)):
		p.refuse()
		return true
	case len(fit.list) == 0:
		return false
	}
	p.tryFirst()
	return true
}

// refuse handles a job that does not fit. It makes a reservation, unless earlier decisions of the
// pass have used up a quota of the job. If no reservation is possible, the pass skips the rest of
// the bucket.
func (p *Planner) refuse() {
	c := p.walk.blocked.first()
	if p.isHopeless(c.bucket) {
		if p.walk.blocked.drop() {
			p.walk.blocked.sift(func(c *cursor) bool { return !p.isHopeless(c.bucket) })
		}
		return
	}
	switch {
	case c.isCapped(&p.room):
		p.walk.blocked.pop()
	case !c.isOpen(): // other jobs have used up the lane
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

// maxFailedShapes limits, for each account, for how many shapes a pass tries in vain to make a
// reservation.
const maxFailedShapes = 16

// isHopeless reports whether the pass need not try to make a reservation for a job of the bucket.
// If there are advance reservations, the account decides whether a backfill reservation is
// possible. So a shape that failed for one account is tried again for other accounts.
func (p *Planner) isHopeless(b *bucket) bool {
	return b.account.failedShapes >= p.maxFailedShapes || len(p.pass.s.Reserved) == 0 && b.shape.hopeless == p.pass.number
}

// giveUp notes that no reservation is possible for a job of the bucket.
func (p *Planner) giveUp(b *bucket) {
	b.shape.hopeless = p.pass.number
	b.account.failedShapes++
}

// tryFirst handles the first job that may fit: it places the job, or moves the job's bucket.
func (p *Planner) tryFirst() {
	c := p.walk.fit.first()
	if c.isCapped(&p.room) {
		p.walk.fit.pop()
		return
	}
	if !c.isOpen() { // other jobs have used up the lane
		p.walk.fit.reinsert(p.pass.seek(c))
		return
	}
	mask := p.backfill.delayedMask(c)
	fits := p.backfill.roomFor(c.bucket, mask)
	switch {
	case fits:
		ahead := p.limits.behindOwn(c)
		if ahead.hold != nil { // the earlier job of the account also holds back the rest of the bucket
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

// block moves a bucket whose jobs no longer fit to those buckets that may get reservations.
func (p *Planner) block(c *cursor) {
	if p.backfill.keepsMore() {
		p.walk.blocked.push(c)
	}
}

// stillFits reports whether any job of the bucket may still fit. If not, it blocks the bucket. In a
// preemptible bucket, a later job may fit even if the first job does not.
func (p *Planner) stillFits(c *cursor) bool {
	if b := c.bucket; b.shape.yields || p.backfill.roomFor(b, p.backfill.delayedBy(b.run, b.late)) {
		return true
	}
	p.block(c)
	return false
}

// placeBehind places the job at the cursor, which fits into what the reservations in mask leave. If
// the job names no number of CPUs, it gets at most besideOwn CPUs: that is what earlier jobs of the
// same account leave.
func (p *Planner) placeBehind(c *cursor, mask uint32, besideOwn int) {
	q, l := c.query(p.pass.s.Now, whenNow), &p.room.now
	if mask != 0 {
		l = p.backfill.capacityBehind(&q, l, mask)
	}
	h := q.shape.hostShare
	h.cpus = p.pass.s.cpusFor(q.shape, q.account, l)
	if q.shape.cpus == 0 {
		h.cpus = max(0, min(h.cpus, besideOwn))
	}
	p.place(c, p.choice.choose(&q, l), h)
}

// passOver handles a preemptible job that does not fit. Later jobs of its bucket rank lower. So a
// reserved job may be able to preempt one of them although it can't preempt this job, and that
// later job may fit. The last job of the bucket delays the fewest reservations. If no job of the
// bucket fits, passOver returns false.
func (p *Planner) passOver(c *cursor) bool {
	mask := p.backfill.delayedMask(c)
	if p.backfill.keepsMore() && !c.given && !p.isHopeless(c.bucket) {
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
	if !p.backfill.roomFor(c.bucket, p.backfill.delayedMask(&last)) {
		return false
	}
	for p.pass.next(c) {
		if p.backfill.delayedMask(c)&mask != mask {
			return true
		}
	}
	return false
}

// place adds a placement of the job at the cursor to the plan, and subtracts the job's resources
// from what is free.
func (p *Planner) place(c *cursor, grants []Grant, h hostShare) {
	grants = p.storeGrants(grants)
	p.out.Place = append(p.out.Place, Placement{Job: c.entry.ID, Grants: grants, CPUs: h.cpus, Guarded: c.guarded})
	p.room.now.take(grants, h)
	p.backfill.subtractPlaced(c, grants, h)
	p.limits.countPlaced(c, h)
	c.used++
	c.entry.noteStart(p.pass.number)
}

// reserve makes a reservation for the job at the cursor. The reservation starts at the first moment
// at which the job fits if all jobs end when expected. If there is no such moment, reserve returns
// false. It also returns false if only the load of a GPU keeps the job from fitting now, since the
// load may drop at any moment.
func (p *Planner) reserve(c *cursor) bool {
	if len(p.backfill.list) >= maxDepth || !p.room.fitsEver(c.bucket.shape) {
		return false
	}
	p.backfill.listReleases()
	q := c.query(p.pass.s.Now, whenAhead)
	if p.room.hasRoomFor(&q, &p.backfill.ahead) {
		return false
	}
	r := p.backfill.find(c, &q)
	if r == nil {
		return false
	}
	p.backfill.commit(r, p.storeGrants(p.choice.chooseLatest(&q, &r.spare)), c.bucket.shape.gpuMem > 0)
	p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: r.id, At: r.at})
	p.limits.keepPlace(c, r.at)
	return true
}

// storeGrants copies grants to memory that stays valid as long as the plan is.
func (p *Planner) storeGrants(grants []Grant) []Grant {
	at := len(p.grants)
	p.grants = append(p.grants, grants...)
	return p.grants[at:len(p.grants):len(p.grants)]
}

// wake sets the next moment at which a new plan may differ from this one although nothing happened.
// At such a moment a running job has run for a slice, scores have drifted apart, an advance
// reservation begins or ends, or a planned shutdown is over.
func (p *Planner) wake() {
	if p.pass.q.Len() == 0 {
		return
	}
	for i := range p.pass.s.Running {
		r := &p.pass.s.Running[i]
		if !r.mayLeave() {
			continue
		}
		at := r.sliceStart().Add(p.pass.s.Policy.Slice)
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
	if to := p.pass.s.End.To; to > p.pass.s.Now {
		p.out.Wake = min(p.out.Wake, to)
	}
}

// preemptEvery is the interval at which the scores of waiting jobs are compared with those of
// running jobs that have run for a slice.
const preemptEvery = time.Minute
