package sched

import (
	"time"
)

// Planner makes plans. It keeps nothing between passes but memory to work in,
// and must be used by one goroutine.
type Planner struct {
	s    *Snapshot
	q    *Queue
	pass uint64
	out  Plan

	start ledger // when the pass began
	now   ledger // less what it gave out
	least ledger // of a job behind reservations

	kept    []reservation // room for maxDepth; their ledgers are used again
	ends    []release
	listed  bool // ends has what runs
	heap    []cursor
	blocked []cursor
	top     int // the first in order of blocked; unsure: to be found

	grants     []Grant
	store      []Grant // of placements and reservations
	candidates []int
	own        []int
	set        []int
	degree     []int64

	gates   []*Gate // that the pass went through
	victims []victim
	freed   ledger
}

// NewPlanner returns a planner.
func NewPlanner() *Planner { return &Planner{kept: make([]reservation, 0, maxDepth)} }

// unsure stands for the position of a cursor that is to be looked for.
const unsure = -2

// cursor is the next job of a bucket that the pass has not looked at.
type cursor struct {
	rank
	bucket *bucket
	entry  *entry
	used   int // starts of the entry that the pass used up
}

// cursor returns one at an entry.
func (p *Planner) cursor(b *bucket, e *entry) cursor {
	c := cursor{bucket: b, entry: e}
	p.rank(&c.rank, b, e)
	return c
}

// begin prepares a pass.
func (p *Planner) begin(s *Snapshot, q *Queue) {
	p.s, p.q = s, q
	p.pass++
	p.out.Place, p.out.Preempt, p.out.Kept = p.out.Place[:0], p.out.Preempt[:0], p.out.Kept[:0]
	p.out.Wake = Eternity
	p.kept, p.store, p.ends, p.listed = p.kept[:0], p.store[:0], p.ends[:0], false
	p.start.open(s)
	p.now.set(&p.start)
	p.beginAccounts()
	for _, sh := range q.shapes {
		sh.qualify(s)
		sh.verdict, sh.refused = untried, sh.refused[:0]
	}
}

// beginAccounts computes the factors of those who wait and of those whose jobs
// may be stopped, and of their groups.
func (p *Planner) beginAccounts() {
	half := p.s.Policy.HalfLife
	capacity := float64(len(p.s.GPUs)) * lifetime(1<<62, 0, half)
	for a := range p.q.accounts {
		a.begin(p.s.Now, half, capacity)
	}
	for i := range p.s.Running {
		if r := &p.s.Running[i]; r.Preemptible && p.q.accounts[r.Account] == 0 {
			r.Account.begin(p.s.Now, half, capacity)
		}
	}
}

// seek moves the cursor to the next entry that its gate lets through and ranks
// it; false when the bucket is exhausted.
func (p *Planner) seek(c *cursor) bool {
	for c.entry != nil {
		if c.open() {
			p.rank(&c.rank, c.bucket, c.entry)
			return true
		}
		p.skip(c)
	}
	return false
}

// open tells whether the entry may start once more in this pass.
func (c *cursor) open() bool {
	g := c.entry.Gate
	return c.used < c.entry.Count && (g == nil || g.used < g.Left)
}

// skip moves to the next entry, of which the pass may have started some.
func (p *Planner) skip(c *cursor) {
	if c.entry, c.used = c.entry.next, 0; c.entry != nil {
		c.used = p.starts(c.entry)
	}
}

// starts counts the placements of an entry.
func (p *Planner) starts(e *entry) (n int) {
	for i := range p.out.Place {
		if p.out.Place[i].Job == e.ID {
			n++
		}
	}
	return n
}

// next moves past the job that the cursor is at.
func (p *Planner) next(c *cursor) bool {
	p.skip(c)
	return p.seek(c)
}

// question is what the job at the cursor asks now.
func (c *cursor) question(at Instant, ahead bool) question {
	return question{shape: c.bucket.shape, account: c.bucket.account, at: at, ahead: ahead}
}

// Plan decides. The snapshot and the queue are not changed; the plan is valid
// until the next call of any method.
func (p *Planner) Plan(s *Snapshot, q *Queue) *Plan {
	p.begin(s, q)
	p.sift()
	for p.step() {
	}
	p.preempt()
	p.closeGates()
	p.wake()
	return &p.out
}

// through counts a start that a gate, if there is one, lets pass.
func (p *Planner) through(g *Gate) {
	if g == nil {
		return
	}
	if g.used == 0 {
		p.gates = append(p.gates, g)
	}
	g.used++
}

// closeGates forgets what went through the gates in this pass.
func (p *Planner) closeGates() {
	for _, g := range p.gates {
		g.used = 0
	}
	p.gates = p.gates[:0]
}

// sift splits the buckets into those whose jobs fit into what is free as the
// pass begins, a heap, and the others.
func (p *Planner) sift() {
	p.heap, p.blocked, p.top = p.heap[:0], p.blocked[:0], -1
	for _, b := range p.q.buckets {
		if b.account.capped(b.shape.milli) {
			continue
		}
		p.blocked = append(p.blocked, cursor{bucket: b, entry: b.head})
		last := len(p.blocked) - 1
		switch c := &p.blocked[last]; {
		case !p.seek(c):
			p.blocked = p.blocked[:last]
		case p.fitsAtStart(c):
			p.heap = append(p.heap, *c)
			p.blocked = p.blocked[:last]
		case p.top < 0 || c.before(&p.blocked[p.top].rank):
			p.top = last
		}
	}
	for i := len(p.heap)/2 - 1; i >= 0; i-- {
		p.down(i)
	}
}

// fitsAtStart asks once for all buckets of a shape; reservations of
// administrators concern accounts and are asked for each.
func (p *Planner) fitsAtStart(c *cursor) bool {
	sh := c.bucket.shape
	if sh.verdict == untried || len(p.s.Reserved) > 0 {
		q := c.question(p.s.Now, false)
		sh.verdict = failing
		if p.fits(&q, &p.start) {
			sh.verdict = fitting
		}
	}
	return sh.verdict == fitting
}

// step looks at the first job in order that is left; false when there is none.
func (p *Planner) step() bool {
	first := p.firstBlocked()
	switch {
	case first >= 0 && (len(p.heap) == 0 || p.blocked[first].before(&p.heap[0].rank)):
		p.refuse(&p.blocked[first])
		return true
	case len(p.heap) == 0:
		return false
	}
	p.tryFirst()
	return true
}

// firstBlocked returns which of the blocked jobs is the first; -1 for none, or
// when no further reservation is to be made.
func (p *Planner) firstBlocked() int {
	if len(p.kept) >= p.s.Policy.ReservationDepth {
		return -1
	}
	if p.top != unsure {
		return p.top
	}
	best := -1
	for i := range p.blocked {
		c := &p.blocked[i]
		if c.entry == nil || c.bucket.mark == p.pass {
			continue
		}
		if best < 0 || c.before(&p.blocked[best].rank) {
			best = i
		}
	}
	p.top = best
	return best
}

// refuse deals with a job that does not fit in its turn: unless it is capped by
// now, a reservation is made for it.
func (p *Planner) refuse(c *cursor) {
	p.top = unsure
	if !c.open() { // another job of its array was faster
		if !p.seek(c) {
			c.bucket.mark = p.pass
		}
		return
	}
	if c.bucket.account.capped(c.bucket.shape.milli) {
		c.bucket.mark = p.pass
		return
	}
	if !p.reserve(c) {
		c.bucket.mark = p.pass // no job of this bucket will ever fit by itself
		return
	}
	if !p.next(c) {
		c.bucket.mark = p.pass
	}
}

// tryFirst places the first job of the heap, or sorts it out.
func (p *Planner) tryFirst() {
	c := &p.heap[0]
	if c.bucket.account.capped(c.bucket.shape.milli) {
		p.pop()
		return
	}
	if !c.open() { // another job of its array was faster
		if p.seek(c) {
			p.down(0)
		} else {
			p.pop()
		}
		return
	}
	grants, ok := p.fit(c)
	if !ok {
		lost := *c
		p.pop()
		p.blocked = append(p.blocked, lost)
		p.top = unsure
		return
	}
	p.place(c, grants)
	if !p.seek(c) {
		p.pop()
		return
	}
	p.down(0)
}

// fit asks for the job at the cursor, behind the reservations there are.
func (p *Planner) fit(c *cursor) ([]Grant, bool) {
	q := c.question(p.s.Now, false)
	l := &p.now
	if mask := p.behind(c); mask != 0 {
		if c.bucket.shape.refusedAt(mask) {
			return nil, false
		}
		if l = p.lowered(&q, &p.now, mask); !p.fits(&q, l) {
			if len(p.s.Reserved) == 0 {
				c.bucket.shape.refused = append(c.bucket.shape.refused, mask)
			}
			return nil, false
		}
	} else if !p.fits(&q, l) {
		return nil, false
	}
	return p.choose(&q, l), true
}

// refusedAt tells whether the shape did not fit behind these reservations, or
// some of them, before in this pass. What is free only becomes less.
func (sh *shape) refusedAt(mask uint32) bool {
	for _, m := range sh.refused {
		if m&mask == m {
			return true
		}
	}
	return false
}

// place records a placement and takes it from what is left.
func (p *Planner) place(c *cursor, grants []Grant) {
	at := len(p.store)
	p.store = append(p.store, grants...)
	grants = p.store[at:len(p.store):len(p.store)]
	p.out.Place = append(p.out.Place, Placement{Job: c.entry.ID, Grants: grants, Guarded: c.guarded})
	sh := c.bucket.shape
	p.now.take(grants, sh.mem)
	for i := range p.kept {
		if p.inWay(c, &p.kept[i]) {
			p.kept[i].rest.take(grants, sh.mem)
		}
	}
	c.bucket.account.take(sh.milli)
	p.through(c.entry.Gate)
	c.used++
	p.ends = append(p.ends, release{at: p.s.Now.Add(c.bucket.run), grants: grants, mem: sh.mem, gpu: noGPU})
}

// pop takes the first cursor off the heap.
func (p *Planner) pop() {
	last := len(p.heap) - 1
	p.heap[0] = p.heap[last]
	p.heap = p.heap[:last]
	p.down(0)
}

// down restores the heap below a position.
func (p *Planner) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(p.heap) {
			return
		}
		if right := child + 1; right < len(p.heap) && p.heap[right].before(&p.heap[child].rank) {
			child = right
		}
		if !p.heap[child].before(&p.heap[i].rank) {
			return
		}
		p.heap[i], p.heap[child] = p.heap[child], p.heap[i]
		i = child
	}
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
