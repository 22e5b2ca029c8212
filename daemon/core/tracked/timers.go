package tracked

import (
	"container/heap"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// timer is a job and the time for which the job waits.
type timer struct {
	At time.Time
	ID job.ID
}

// timers contains the jobs that wait for a time. They form a heap whose first element is the next
// timer. The map index has the place of each job in the heap.
type timers struct {
	heap  []timer
	index map[job.ID]int
}

func newTimers() timers { return timers{index: map[job.ID]int{}} }

func (t *timers) has(id job.ID) bool {
	_, ok := t.index[id]
	return ok
}

// next returns the next timer, or the zero timer if there is none.
func (t *timers) next() timer {
	if len(t.heap) == 0 {
		return timer{}
	}
	return t.heap[0]
}

// set makes a job wait for the given time.
func (t *timers) set(id job.ID, at time.Time) {
	t.remove(id)
	heap.Push(t, timer{at, id})
}

// remove removes a job's timer, if it has one.
func (t *timers) remove(id job.ID) {
	if i, ok := t.index[id]; ok {
		heap.Remove(t, i)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (t *timers) Len() int { return len(t.heap) }

// Less compares by the wall clock alone. With monotonic readings, the order of two times would
// depend on whether both of them have such a reading.
func (t *timers) Less(i, k int) bool {
	a, b := t.heap[i], t.heap[k]
	if by := a.At.Round(0).Compare(b.At.Round(0)); by != 0 {
		return by < 0
	}
	return a.ID < b.ID
}

func (t *timers) Swap(i, k int) {
	t.heap[i], t.heap[k] = t.heap[k], t.heap[i]
	t.index[t.heap[i].ID], t.index[t.heap[k].ID] = i, k
}

func (t *timers) Push(x any) {
	added := x.(timer)
	t.index[added.ID] = len(t.heap)
	t.heap = append(t.heap, added)
}

func (t *timers) Pop() any {
	last := t.heap[len(t.heap)-1]
	t.heap = t.heap[:len(t.heap)-1]
	delete(t.index, last.ID)
	return last
}
