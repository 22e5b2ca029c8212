package dst

import "time"

// agenda is what is to happen, by time; at the same time in the order in which
// it was put there.
type agenda struct {
	heap []event
	last uint64
}

type event struct {
	at  time.Duration
	seq uint64
	do  func()
}

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (a *agenda) add(at time.Duration, do func()) {
	a.last++
	a.heap = append(a.heap, event{at, a.last, do})
	for i := len(a.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !a.heap[i].before(&a.heap[up]) {
			return
		}
		a.heap[i], a.heap[up] = a.heap[up], a.heap[i]
		i = up
	}
}

// pop takes the first event off.
func (a *agenda) pop() event {
	first, n := a.heap[0], len(a.heap)-1
	a.heap[0] = a.heap[n]
	a.heap[n] = event{}
	a.heap = a.heap[:n]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < n && a.heap[down].before(&a.heap[least]) {
				least = down
			}
		}
		if least == i {
			return first
		}
		a.heap[i], a.heap[least] = a.heap[least], a.heap[i]
		i = least
	}
}
