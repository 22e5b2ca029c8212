package sched

import stdheap "container/heap"

// walk goes through the buckets of a pass in order, each by its next job.
type walk struct {
	pass      *pass
	fit       heap     // of buckets whose jobs fit
	blocked   heap     // of buckets whose jobs do not fit
	cursors   []cursor // by the places of their buckets in the queue
	siftAfter int      // after so many dead buckets in a row the rest of a heap is sifted
}

// begin forgets the cursors of the walk before.
func (w *walk) begin() {
	w.fit.list, w.blocked.list = w.fit.list[:0], w.blocked.list[:0]
	if more := len(w.pass.q.buckets) - len(w.cursors); more > 0 {
		w.cursors = append(w.cursors, make([]cursor, more)...)
	}
}

// atHead returns the cursor of a bucket for this walk, at the bucket's first job.
func (w *walk) atHead(b *bucket) *cursor {
	c := &w.cursors[b.at]
	*c = w.pass.cursor(b, b.head)
	c.used = b.head.startedBy(w.pass.number)
	return c
}

// heap has the buckets whose jobs the pass has not looked at, each by its next job: the first
// in order is at the front.
type heap struct {
	walk *walk
	list cursors
	dead int // taken off since the last sift without having come to anything
}

// cursors is the list of a heap.
type cursors []*cursor

func (l cursors) Len() int           { return len(l) }
func (l cursors) Less(i, j int) bool { return l[i].before(&l[j].rank) }
func (l cursors) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *cursors) Push(c any)        { *l = append(*l, c.(*cursor)) }

func (l *cursors) Pop() any {
	last := len(*l) - 1
	c := (*l)[last]
	*l = (*l)[:last]
	return c
}

// first returns the first cursor in order.
func (h *heap) first() *cursor { return h.list[0] }

// order makes a heap of what is in the list.
func (h *heap) order() {
	h.dead = 0
	stdheap.Init(&h.list)
}

func (h *heap) push(c *cursor) { stdheap.Push(&h.list, c) }

func (h *heap) pop() { stdheap.Pop(&h.list) }

// drop takes the first off, which has come to nothing, and reports whether it is time to sift:
// the buckets like it are better taken off at once than one by one.
func (h *heap) drop() bool {
	h.pop()
	h.dead++
	return h.dead > h.walk.siftAfter+len(h.list)/32
}

// sift keeps the buckets that are to stay.
func (h *heap) sift(stays func(*cursor) bool) {
	h.walk.pass.work += len(h.list)
	kept := h.list[:0]
	for _, c := range h.list {
		if stays(c) {
			kept = append(kept, c)
		}
	}
	h.list = kept
	h.order()
}

// settle moves the first to where it belongs after its cursor has moved on, or takes it off
// where its bucket has no more jobs.
func (h *heap) reinsert(more bool) {
	if !more {
		h.pop()
		return
	}
	stdheap.Fix(&h.list, 0)
}
