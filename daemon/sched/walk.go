package sched

import stdheap "container/heap"

// walk goes through the buckets of a pass in the order of their next jobs.
type walk struct {
	pass      *pass
	fit       heap     // buckets whose next jobs may fit
	blocked   heap     // buckets that may get reservations
	cursors   []cursor // one for each bucket, by the bucket's position in the queue
	siftAfter int      // a heap is sifted after this many buckets were dropped
}

// begin empties both heaps.
func (w *walk) begin() {
	w.fit.list, w.blocked.list = w.fit.list[:0], w.blocked.list[:0]
	if more := len(w.pass.q.buckets) - len(w.cursors); more > 0 {
		w.cursors = append(w.cursors, make([]cursor, more)...)
	}
}

// atHead sets the cursor of a bucket to the bucket's first job, and returns the cursor.
func (w *walk) atHead(b *bucket) *cursor {
	c := &w.cursors[b.at]
	*c = w.pass.cursor(b, b.head)
	c.used = b.head.startedBy(w.pass.number)
	return c
}

// heap is a heap of cursors. The cursor whose job is first in order is at the front.
type heap struct {
	walk *walk
	list cursors
	dead int // how many cursors were dropped since the last sift
}

type cursors []*cursor

func (l cursors) Len() int           { return len(l) }
func (l cursors) Less(i, j int) bool { return l[i].isBefore(&l[j].rank) }
func (l cursors) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *cursors) Push(c any)        { *l = append(*l, c.(*cursor)) }

func (l *cursors) Pop() any {
	last := len(*l) - 1
	c := (*l)[last]
	*l = (*l)[:last]
	return c
}

func (h *heap) first() *cursor { return h.list[0] }

// order turns the list into a heap.
func (h *heap) order() {
	h.dead = 0
	stdheap.Init(&h.list)
}

func (h *heap) push(c *cursor) { stdheap.Push(&h.list, c) }

func (h *heap) pop() { stdheap.Pop(&h.list) }

// drop removes the first cursor, whose bucket is done. It reports whether it is time to sift. If
// many similar buckets are done, sifting them out together is cheaper than dropping them one by
// one.
func (h *heap) drop() bool {
	h.pop()
	h.dead++
	return h.dead > h.walk.siftAfter+len(h.list)/32
}

// sift keeps the cursors for which the function keep returns true.
func (h *heap) sift(keep func(*cursor) bool) {
	h.walk.pass.work += len(h.list)
	kept := h.list[:0]
	for _, c := range h.list {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	h.list = kept
	h.order()
}

// reinsert moves the first cursor to its place in the heap after the cursor has moved on to another
// job. If the bucket has no more jobs, reinsert removes the cursor.
func (h *heap) reinsert(more bool) {
	if !more {
		h.pop()
		return
	}
	stdheap.Fix(&h.list, 0)
}
