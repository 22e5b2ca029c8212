package sched

// cursor is the next job of a bucket that the pass has not looked at.
type cursor struct {
	rank
	bucket *bucket
	entry  *entry
	used   int  // starts of the entry that the pass used up
	given  bool // up: no more is kept for a job of the bucket
}

// cursor returns one at an entry.
func (p *pass) cursor(b *bucket, e *entry) cursor {
	c := cursor{bucket: b, entry: e}
	p.rank(&c.rank, b, e)
	return c
}

// seek moves the cursor to the next entry that its throttle lets through and ranks
// it; false when the bucket is exhausted.
func (p *pass) seek(c *cursor) bool {
	for c.entry != nil {
		if c.open() {
			p.rank(&c.rank, c.bucket, c.entry)
			return true
		}
		p.skip(c)
	}
	return false
}

// open reports whether the entry may start once more in this pass.
func (c *cursor) open() bool {
	g := c.entry.Throttle
	return c.used < int(c.entry.Count) && (g == nil || g.used < g.Left)
}

// skip moves to the next entry, of which the pass may have started some.
func (p *pass) skip(c *cursor) {
	if c.entry, c.used = c.entry.next, 0; c.entry != nil {
		c.used = c.entry.startedBy(p.number)
	}
}

// next moves past the job that the cursor is at.
func (p *pass) next(c *cursor) bool {
	p.skip(c)
	return p.seek(c)
}

// query is what the job at the cursor asks now.
func (c *cursor) query(at Instant, when horizon) query {
	return query{shape: c.bucket.shape, account: c.bucket.account, at: at, when: when}
}

// capped reports whether the jobs of the cursor's bucket are passed over.
func (c *cursor) capped(r *room) bool { return r.capped(c.bucket.account, &c.bucket.shape.amount) }
