package sched

import "math"

// heap has the buckets whose jobs the pass has not looked at, the first in order at
// the front. It moves where a job stands and not the job: of many a pass comes to a few.
type heap struct {
	p    *Planner
	list []standing
	dead int // were taken off since the last sift without having come to anything
}

// standing is where the next job of a bucket stands, in few bytes. Two that are equal
// are told apart by their ranks.
type standing struct {
	level int64  // four times the priority's, two more for one that is owed its start, and one for a guarded one
	key   uint64 // the higher the earlier
	at    int32  // the bucket's place in the queue
}

// standing is the rank as one: level and guard, and then, where that decides, the score,
// else the moment from which the wait counts.
func (r *rank) standing(at int, fifo bool) standing {
	s := standing{level: 4 * r.level, at: int32(at)}
	if r.owed {
		s.level += 2
	}
	switch {
	case r.guarded:
		s.level++
		s.key = ^uint64(r.since)
	case fifo:
		s.key = ^uint64(r.since)
	default:
		s.key = math.Float64bits(r.score) // which is not negative: the order is the same
	}
	return s
}

// before reports whether one stands before another.
func (h *heap) before(a, b *standing) bool {
	switch {
	case a.level != b.level:
		return a.level > b.level
	case a.key != b.key:
		return a.key > b.key
	}
	return h.p.at(a).before(&h.p.at(b).rank)
}

// first returns the cursor of the first.
func (h *heap) first() *cursor { return h.p.at(&h.list[0]) }

// order makes a heap of what is in it.
func (h *heap) order() {
	h.dead = 0
	for i := len(h.list)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// push adds one.
func (h *heap) push(s standing) {
	h.list = append(h.list, s)
	list := h.list
	for i := len(list) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(&list[i], &list[parent]) {
			return
		}
		list[i], list[parent] = list[parent], list[i]
		i = parent
	}
}

// pop takes the first off.
func (h *heap) pop() {
	last := len(h.list) - 1
	h.list[0] = h.list[last]
	h.list = h.list[:last]
	h.down(0)
}

// drop takes the first off, which has come to nothing, and reports whether it is time
// to sift: whoever is like it is better taken off at once than one by one.
func (h *heap) drop() bool {
	h.pop()
	h.dead++
	return h.dead > h.p.siftAfter+len(h.list)/32
}

// sift keeps those that are to stay.
func (h *heap) sift(stays func(*standing) bool) {
	h.p.looks += len(h.list)
	kept := h.list[:0]
	for i := range h.list {
		if stays(&h.list[i]) {
			kept = append(kept, h.list[i])
		}
	}
	h.list = kept
	h.order()
}

// settle puts the first where it belongs after it moved on, or takes it off when
// there is nothing more of it.
func (h *heap) settle(more bool) {
	if !more {
		h.pop()
		return
	}
	c := h.first()
	h.list[0] = c.rank.standing(c.bucket.at, h.p.s.Policy.FIFO)
	h.down(0)
}

// down restores the heap below a position.
func (h *heap) down(i int) {
	list := h.list
	for {
		child := 2*i + 1
		if child >= len(list) {
			return
		}
		if right := child + 1; right < len(list) && h.before(&list[right], &list[child]) {
			child = right
		}
		if !h.before(&list[child], &list[i]) {
			return
		}
		list[i], list[child] = list[child], list[i]
		i = child
	}
}
