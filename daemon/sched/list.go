package sched

import (
	"math/bits"

	"github.com/gpusched/gpusched/daemon/job"
)

// The entries of a bucket form a skip list, doubly linked in order. One entry in four has a height
// of 1 or more, and also points to the next entry of height 1 or more. One in four of these entries
// has a height of 2 or more, and so on. So few steps are needed to insert an entry in the middle.

// maxHeight is enough for millions of entries.
const maxHeight = 10

// height returns the height of a job's entry. The height is computed from the id, and is as good as
// random.
func height(id job.ID) int {
	return min(bits.LeadingZeros64(uint64(id)*0x9E3779B97F4A7C15)/2, maxHeight)
}

// path is the position of an entry in the list. For each height it has the last entry before that
// position, or nil.
type path [maxHeight + 1]*entry

func (b *bucket) find(e *entry) (to path) {
	var at *entry
	for h := len(b.skips); h > 0; h-- {
		for next := b.nextAt(at, h); next != nil && next.before(e); next = b.nextAt(at, h) {
			at = next
		}
		to[h] = at
	}
	for next := b.nextAt(at, 0); next != nil && next.before(e); next = b.nextAt(at, 0) {
		at = next
	}
	to[0] = at
	return to
}

// nextAt returns the entry that follows e at height h. If e is nil, nextAt returns the first entry.
func (b *bucket) nextAt(e *entry, h int) *entry { return *b.link(e, h) }

// link returns the pointer to the entry that follows e at height h. If e is nil, link returns the
// bucket's pointer to the first entry.
func (b *bucket) link(e *entry, h int) **entry {
	switch {
	case e == nil && h == 0:
		return &b.head
	case e == nil:
		return &b.skips[h-1]
	case h == 0:
		return &e.next
	}
	return &(*e.skips)[h-1]
}

func (b *bucket) insert(e *entry) {
	h, last := height(e.ID), b.tail == nil || b.tail.before(e)
	if last && h == 0 { // most new entries come last
		b.put(e, b.tail)
		return
	}
	for len(b.skips) < h {
		b.skips = append(b.skips, nil)
	}
	to := b.find(e)
	b.put(e, to[0])
	skips := make(tower, h)
	e.skips = &skips
	for ; h > 0; h-- {
		from := b.link(to[h], h)
		skips[h-1], *from = *from, e
	}
}

// put links the entry e after the entry prev. If prev is nil, e becomes the first entry.
func (b *bucket) put(e, prev *entry) {
	b.count(e, 1)
	from := b.link(prev, 0)
	e.prev, e.next = prev, *from
	*from = e
	if e.next == nil {
		b.tail = e
	} else {
		e.next.prev = e
	}
}

func (b *bucket) count(e *entry, n int) {
	if b.len += n; e.Throttle != nil {
		b.bounded += n
	}
}

func (b *bucket) remove(e *entry) {
	b.count(e, -1)
	if e.skips != nil {
		to := b.find(e)
		for h := len(*e.skips); h > 0; h-- {
			*b.link(to[h], h) = (*e.skips)[h-1]
		}
	}
	*b.link(e.prev, 0) = e.next
	if e.next == nil {
		b.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
}
