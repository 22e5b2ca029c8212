package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// timer is the moment that a job waits for.
type timer struct {
	at time.Time
	id job.ID
}

// before compares by the wall clock alone: a time that was read from the steady
// one, too, would come before some others by the one and after them by the other.
func (a timer) before(b timer) bool {
	if by := a.at.Round(0).Compare(b.at.Round(0)); by != 0 {
		return by < 0
	}
	return a.id < b.id
}

// timers are jobs that wait for a time, the next one first: a heap, and where
// each job is in it.
type timers struct {
	heap []timer
	at   map[job.ID]int
}

func newTimers() timers { return timers{at: map[job.ID]int{}} }

func (a *timers) has(id job.ID) bool {
	_, ok := a.at[id]
	return ok
}

// first returns the next alarm; zero where there is none.
func (a *timers) first() timer {
	if len(a.heap) == 0 {
		return timer{}
	}
	return a.heap[0]
}

// set has a job wait for a time.
func (a *timers) set(id job.ID, at time.Time) {
	a.remove(id)
	a.heap = append(a.heap, timer{at, id})
	a.at[id] = len(a.heap) - 1
	a.up(len(a.heap) - 1)
}

// remove forgets a job; one that does not wait changes nothing.
func (a *timers) remove(id job.ID) {
	i, ok := a.at[id]
	if !ok {
		return
	}
	last := len(a.heap) - 1
	a.swap(i, last)
	a.heap = a.heap[:last]
	delete(a.at, id)
	if i < last {
		a.down(i)
		a.up(i)
	}
}

func (a *timers) swap(i, k int) {
	a.heap[i], a.heap[k] = a.heap[k], a.heap[i]
	a.at[a.heap[i].id], a.at[a.heap[k].id] = i, k
}

func (a *timers) up(i int) {
	for parent := (i - 1) / 2; i > 0 && a.heap[i].before(a.heap[parent]); parent = (i - 1) / 2 {
		a.swap(i, parent)
		i = parent
	}
}

func (a *timers) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(a.heap); child++ {
			if a.heap[child].before(a.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		a.swap(i, least)
		i = least
	}
}
