package sched

// heap has the first in order at the front.
type heap []cursor

// order makes a heap of what is in it.
func (h heap) order() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

// push adds a cursor.
func (h *heap) push(c cursor) {
	*h = append(*h, c)
	list := *h
	for i := len(list) - 1; i > 0; {
		parent := (i - 1) / 2
		if !list[i].before(&list[parent].rank) {
			return
		}
		list[i], list[parent] = list[parent], list[i]
		i = parent
	}
}

// pop takes the first off.
func (h *heap) pop() {
	list := *h
	last := len(list) - 1
	list[0] = list[last]
	*h = list[:last]
	h.down(0)
}

// settle puts the first where it belongs after it moved on, or takes it off when
// there is nothing more of it.
func (h *heap) settle(more bool) {
	if !more {
		h.pop()
		return
	}
	h.down(0)
}

// down restores the heap below a position.
func (h heap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if right := child + 1; right < len(h) && h[right].before(&h[child].rank) {
			child = right
		}
		if !h[child].before(&h[i].rank) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
