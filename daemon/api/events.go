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

// EventsQuery says from which event on, and whether to follow.
type EventsQuery struct {
	Since  *int64 `query:"since" in:"0-9223372036854775807" wrong:"%q is not the number of an event: use 0 for all that are kept"` // nil: from now on
	Follow bool   `query:"follow" wrong:"%q is neither 0 nor 1"`
}

// Events yields events until ctx ends, over restarts of the daemon. It starts after the event with
// the number since: 0 means all events that are kept; -1 means from now on, and then the first
// event is a position with the current number.
//
// An event of the kind gap means that earlier events are no longer kept: list the jobs again, and
// expect only the events after its number. An error comes without an event and is the last value.
//
// To keep a list of jobs up to date, call Events with -1, list the jobs after the position, and
// apply every event. An event that the list already includes does no harm.
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

// PastEvents returns the kept events after the number since, 0 for all of them.
func PastEvents(ctx context.Context, e Engine, since int64) (list []Event, err error) {
	f := follower{e: e, last: since, yield: func(e Event, _ error) bool {
		list = append(list, e)
		return true
	}}
	err = again(ctx, func() error { return f.follow(ctx, false) })
	return list, err
}

// follower reads events over several connections.
type follower struct {
	e     Engine
	last  int64     // the number of the last event; -1: start with new ones
	begun bool      // a request has been answered
	lost  time.Time // when requests began to fail
	yield func(Event, error) bool
	done  bool // the caller wants no more
}

// mayComeBack reports whether to ask again: the daemon is restarting, or has no room for the
// moment.
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

// follow reads one answer to its end.
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

// take yields an event, unless it is a position that says nothing new. It returns false if the
// caller wants no more.
func (f *follower) take(e Event) bool {
	if e.Kind == job.EventPosition && e.Number == f.last {
		return true
	}
	if e.Kind == job.EventPosition && f.last == 0 {
		return true // the position of a request for all events
	}
	f.last = e.Number
	return f.yield(e, nil)
}
