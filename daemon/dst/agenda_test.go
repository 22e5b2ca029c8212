package dst

import (
	"cmp"
	"slices"
	"time"
)

// agenda lists the events to come. The next event is the last element. Events at the same time
// happen in the order in which they were added.
type agenda []event

type event struct {
	at time.Duration
	do func()
}

func (a *agenda) add(at time.Duration, do func()) {
	before, _ := slices.BinarySearchFunc(*a, at, func(e event, at time.Duration) int { return cmp.Compare(at, e.at) })
	*a = slices.Insert(*a, before, event{at, do})
}

// pop removes and returns the next event.
func (a *agenda) pop() event {
	last := len(*a) - 1
	next := (*a)[last]
	*a = slices.Delete(*a, last, last+1)
	return next
}
