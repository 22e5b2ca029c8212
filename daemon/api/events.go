package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxEvent bounds one line of the events.
const maxEvent = 1 << 20

// Events yields what changes after a number, over restarts of the daemon, until the
// context is done: with 0 all that is kept, with -1 what changes from now on, of which the
// first is a position with the number so far. An event of the kind gap says that earlier
// ones are not kept any more: what follows is what changes after its number, and the jobs
// are to be listed anew. An error, which has no event, is the last that it yields.
//
// Whoever wants the jobs and then all that changes asks for the events with -1, lists the
// jobs after the position, and takes in each event: one that the list had already tells
// nothing wrong in the end.
func (c *Client) Events(ctx context.Context, since int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{c: c, last: since, yield: yield}
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

// Recent returns what has changed after a number and is kept, 0: all that is kept.
func (c *Client) Recent(ctx context.Context, since int64) (list []Event, err error) {
	f := follower{c: c, last: since, yield: func(e Event, _ error) bool {
		list = append(list, e)
		return true
	}}
	err = again(ctx, func() error { return f.follow(ctx, false) })
	return list, err
}

// follower reads events, over several connections.
type follower struct {
	c     *Client
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
	if !errors.As(err, &e) || !f.begun && !e.retry {
		return false
	}
	if e.Code == CodeUnavailable && f.begun {
		return true
	}
	if f.lost.IsZero() {
		f.lost = time.Now()
	}
	return (e.Code == CodeUnreachable || e.retry) && time.Since(f.lost) < retryTime
}

// follow reads one answer to its end.
func (f *follower) follow(ctx context.Context, on bool) error {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(answerTime, cancel) // a daemon that hangs sends no line
	defer silent.Stop()
	words := url.Values{}
	if on {
		words.Set("follow", "1")
	}
	if f.last >= 0 {
		words.Set("since", strconv.FormatInt(f.last, 10))
	}
	path := "/v1/events?" + words.Encode()
	resp, err := f.c.send(limited, nil, http.MethodGet, path, nil)
	if err != nil {
		return f.c.explain(ctx, err)
	}
	defer resp.Body.Close()
	if err := refused(resp); err != nil {
		return err
	}
	f.begun, f.lost = true, time.Time{}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		silent.Reset(answerTime)
		var e Event
		switch err := json.Unmarshal(lines.Bytes(), &e); {
		case err != nil && lines.Err() != nil: // half a line, with which the connection ended
			return nil
		case err != nil:
			return &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's event is not the JSON that is expected: %v", err),
				Hint: "see 'gpusched version'"}
		}
		if !f.take(e) {
			f.done = true
			return nil
		}
	}
	return nil // its end, or the connection's: whoever follows asks again
}

// take hands an event on, unless it is a position that says nothing new; false where
// the caller wants no more.
func (f *follower) take(e Event) bool {
	if e.Event == job.EventPosition && e.Number == f.last {
		return true
	}
	if e.Event == job.EventPosition && f.last == 0 {
		return true // of all that is kept
	}
	f.last = e.Number
	return f.yield(e, nil)
}
