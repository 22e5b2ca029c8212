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

// EventsQuery says which past events to send, and whether to send new events as they happen.
type EventsQuery struct {
	Since  *int64 `query:"since" in:"0-9223372036854775807" wrong:"%q is not the number of an event: use 0 for all that are kept"` // nil: only new events
	Follow bool   `query:"follow" wrong:"%q is neither 0 nor 1"`
}

// Events yields events until ctx ends. It continues when the daemon restarts. The argument since is
// the number of the last event that the caller has; Events begins with the event after it. For 0,
// Events yields all events that the daemon has kept. For -1, it yields a position with the current
// number, and then only new events.
//
// An event of the kind gap means that some events are lost. List the jobs again, and expect only
// events after the number of the gap. An error is the last value, and comes without an event.
//
// To keep a list of jobs up to date, call Events with -1, list the jobs after the position, and
// then apply every event. An event that the list already includes does no harm.
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

// PastEvents returns the kept events whose numbers are above the given one. For 0, it returns all
// kept events.
func PastEvents(ctx context.Context, e Engine, since int64) (list []Event, err error) {
	f := follower{e: e, last: since, yield: func(e Event, _ error) bool {
		list = append(list, e)
		return true
	}}
	err = Repeat(ctx, func() error { return f.follow(ctx, false) })
	return list, err
}

// follower reads events over several connections.
type follower struct {
	e     Engine
	last  int64     // number of the last event; -1: only new events are wanted
	begun bool      // at least one request was answered
	lost  time.Time // time at which requests began to fail
	yield func(Event, error) bool
	done  bool // the caller wants no more events
}

// mayComeBack reports whether to repeat the request after an error. A repetition makes sense if the
// daemon is restarting or has no room now.
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

// follow reads one answer until its end. If keepOn is true, the answer continues with new events.
func (f *follower) follow(ctx context.Context, keepOn bool) error {
	q := EventsQuery{Follow: keepOn}
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
		if !e.isWhole() {
			return notExpected(fmt.Errorf("the event %s lacks what it is about", e.Kind))
		}
		if !f.pass(e) {
			f.done = true
			return nil
		}
	}
	return nil
}

// pass yields an event. It does not yield a position that says nothing new. It returns false if the
// caller wants no more events.
func (f *follower) pass(e Event) bool {
	if e.Kind == job.EventPosition && e.Number == f.last {
		return true
	}
	if e.Kind == job.EventPosition && f.last == 0 {
		return true // this position answers a request for all events
	}
	f.last = e.Number
	return f.yield(e, nil)
}
