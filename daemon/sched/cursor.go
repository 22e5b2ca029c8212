package sched

// cursor points to the first job of a bucket at which the pass has not looked.
type cursor struct {
	rank
	bucket *bucket
	entry  *entry
	used   int  // how many of the entry's tasks the pass has started
	given  bool // the pass makes no further reservation for the bucket
}

// cursor returns a cursor that points to an entry of a bucket.
func (p *pass) cursor(b *bucket, e *entry) cursor {
	c := cursor{bucket: b, entry: e}
	p.rank(&c.rank, b, e)
	return c
}

// seek moves the cursor forward to the first entry that may start, and ranks that entry's job. If
// the cursor's entry may start, the cursor stays where it is. If no entry is left, seek returns
// false.
func (p *pass) seek(c *cursor) bool {
	for c.entry != nil {
		if c.isOpen() {
			p.rank(&c.rank, c.bucket, c.entry)
			return true
		}
		p.skip(c)
	}
	return false
}

// isOpen reports whether one more task of the entry may start in this pass.
func (c *cursor) isOpen() bool {
	return c.used < int(c.entry.Count) && c.entry.Throttle.isOpen(c.entry.bucket.run)
}

// skip moves the cursor to the next entry of the bucket.
func (p *pass) skip(c *cursor) {
	if c.entry, c.used = c.entry.next, 0; c.entry != nil {
		c.used = c.entry.startedBy(p.number)
	}
}

// next moves the cursor past its job.
func (p *pass) next(c *cursor) bool {
	p.skip(c)
	return p.seek(c)
}

// query returns a query for the job at the cursor.
func (c *cursor) query(at Instant, when horizon) query {
	return query{shape: c.bucket.shape, account: c.bucket.account, at: at, when: when}
}

// isCapped reports whether the pass skips the jobs of the cursor's bucket.
func (c *cursor) isCapped(r *room) bool { return r.isCapped(c.bucket.account, &c.bucket.shape.amount) }
