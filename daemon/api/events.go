package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// EventsQuery is where events begin, and whether they go on.
type EventsQuery struct {
	Since  *int64 `query:"since" in:"0-9223372036854775807" wrong:"%q is not the number of an event: use 0 for all that are kept"` // nil: from now on
	Follow bool   `query:"follow" wrong:"%q is neither 0 nor 1"`
}

// Events yields what changes after a number, over restarts of the daemon, until the
// context is done: with 0 all that is kept, with -1 what changes from now on, of which the
// first is a position with the number so far. An event of the kind gap says that earlier
// ones are not kept any more: what follows is what changes after its number, and the jobs
// are to be listed anew. An error, which has no event, is the last that it yields.
//
// Whoever wants the jobs and then all that changes asks for the events with -1, lists the
// jobs after the position, and takes in each event: one that the list had already tells
// nothing wrong in the end.
func Events(ctx context.Context, e Engine, since int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{e: e, last: since, yield: yield}
		for !f.done {
			err := f.follow(ctx, true)
			if f.done {
				return
			}
			if err == nil || f.mayComeBack(err) {
				err = Pause(ctx, retryPause)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// PastEvents returns what has changed after a number and is kept, 0: all that is kept.
func PastEvents(ctx context.Context, e Engine, since int64) (list []Event, err error) {
	f := follower{e: e, last: since, yield: func(e Event, _ error) bool {
		list = append(list, e)
		return true
	}}
	err = again(ctx, func() error { return f.follow(ctx, false) })
	return list, err
}

// follower reads events, over several connections.
type follower struct {
	e     Engine
	last  int64     // the number that it has; -1: it begins with what is new
	begun bool      // it has been answered
	lost  time.Time // since when it was not
	yield func(Event, error) bool
	done  bool // the caller wants no more
}

// mayComeBack reports whether to ask again: the daemon restarts, or has no room and may
// have some soon.
func (f *follower) mayComeBack(err error) bool {
	var e *Error
	if !errors.As(err, &e) || !f.begun {
		return false
	}
	if f.lost.IsZero() {
		f.lost = time.Now()
	}
	return e.Code == CodeUnavailable || e.Code == CodeUnreachable && time.Since(f.lost) < retryTime
}

// follow reads one answer to its end. Whoever follows asks again then.
func (f *follower) follow(ctx context.Context, on bool) error {
	q := EventsQuery{Follow: on}
	if f.last >= 0 {
		q.Since = &f.last
	}
	for line, err := range f.e.Stream(ctx, RouteEvents, q) {
		if err != nil {
			return err
		}
		f.begun, f.lost = true, time.Time{}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return notExpected(err)
		}
		if !e.whole() {
			return notExpected(fmt.Errorf("the event %s lacks what it is about", e.Kind))
		}
		if !f.take(e) {
			f.done = true
			return nil
		}
	}
	return nil
}

// take hands an event on, unless it is a position that says nothing new; false where
// the caller wants no more.
func (f *follower) take(e Event) bool {
	if e.Kind == job.EventPosition && e.Number == f.last {
		return true
	}
	if e.Kind == job.EventPosition && f.last == 0 {
		return true // of all that is kept
	}
	f.last = e.Number
	return f.yield(e, nil)
}
