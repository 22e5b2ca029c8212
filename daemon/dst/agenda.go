package dst

import (
	"cmp"
	"slices"
	"time"
)

// agenda is what is to happen, the last first; at the same time in the order in
// which it was put there.
type agenda []event

type event struct {
	at time.Duration
	do func()
}

func (a *agenda) add(at time.Duration, do func()) {
	before, _ := slices.BinarySearchFunc(*a, at, func(e event, at time.Duration) int { return cmp.Compare(at, e.at) })
	*a = slices.Insert(*a, before, event{at, do})
}

// pop takes off what is next.
func (a *agenda) pop() event {
	last := len(*a) - 1
	next := (*a)[last]
	*a = slices.Delete(*a, last, last+1)
	return next
}
