package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Limits for clients that follow the events. Each follower also counts as one of its user's waits.
// A follower takes no memory except for its connection, however slowly the client reads.
const (
	maxFollowers     = 256
	maxUserFollowers = 16
	aliveTime        = 15 * time.Second // time without an event after which the current number is sent
)

// handleEvents answers with past events. If the request asks to follow, it also sends new events.
func (s *Server) handleEvents(r *request) (any, error) {
	now, err := s.backend(r.Context()).Events(r.Context(), -1)
	if err != nil {
		return nil, err
	}
	f := eventStream{s: s, r: r, after: now.Newest, until: now.Newest}
	in := r.query.(*api.EventsQuery)
	switch {
	case in.Since != nil && *in.Since == 0:
		f.after = now.Oldest
	case in.Since != nil:
		f.after = *in.Since
	}
	if f.on = in.Follow; !f.on {
		return f, nil
	}
	if !s.limits.waits.enter(r.person) {
		return nil, retryLater(r, time.Second, errTooMany("waits"))
	}
	if !s.limits.followers.enter(r.person) {
		s.limits.waits.release(r.person)
		return nil, retryLater(r, time.Second, errTooMany("followed events"))
	}
	r.release() // a follower does not delay other requests
	r.leave = append(r.leave, func() { s.limits.followers.release(r.person); s.limits.waits.release(r.person) })
	return f, nil
}

// eventStream is a reply with the events after a number. The reply ends at a second number, or
// never if the client follows the events.
type eventStream struct {
	s     *Server
	r     *request
	after int64
	until int64
	on    bool
}

// send writes a line for each event. It ends when the client leaves or stops reading, or when the
// server stops. Events that happened before the request count against the user's rate.
func (f eventStream) send(w http.ResponseWriter, out *counter) {
	w.Header().Set("Content-Type", "application/jsonl")
	ctx, cancel := context.WithCancel(f.r.Context())
	defer cancel()
	defer context.AfterFunc(f.s.closing, cancel)()
	if !f.write(w, out, f.position(job.EventPosition)) {
		return
	}
	for first := true; f.on || f.after < f.until || first && f.after > f.until; first = false {
		got, err := f.next(ctx)
		if err != nil || ctx.Err() != nil {
			return
		}
		f.after = got.Last
		lines := job.Each(got.List, f.s.accounts.renderEvent)
		if got.Gap {
			lines = []api.Event{f.position(job.EventGap)}
		} else if len(lines) == 0 {
			lines = []api.Event{f.position(job.EventPosition)}
		}
		to := &counter{to: w}
		if f.after <= f.until {
			to = out
		}
		if !f.write(w, to, lines...) || got.Gap && !first {
			return // the client reads too slowly
		}
	}
}

func (f eventStream) next(ctx context.Context) (job.Events, error) {
	limited, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	return f.s.backend(ctx).Events(limited, f.after)
}

// write sends lines. It returns false if the client does not read them.
func (f eventStream) write(w http.ResponseWriter, to *counter, lines ...api.Event) bool {
	var text []byte
	for i := range lines {
		text = append(text, encodeJSON(&lines[i])...)
	}
	return sendLines(w, to, text)
}

// position returns a line with the number after which the next events follow. In a position, the
// client has all events up to that number. In a gap, it has missed some of them.
func (f eventStream) position(kind job.EventKind) api.Event {
	return f.s.accounts.renderEvent(job.Event{Number: f.after, Kind: kind, At: time.Now()})
}

// renderEvent converts an event, and adds a sentence about it.
func (a *accounts) renderEvent(e job.Event) api.Event {
	if e.UID != nil && e.User == strconv.Itoa(*e.UID) { // a directory service hung when the job was submitted
		e.User = a.knownName(*e.UID)
	}
	e.At, e.Sentence = e.At.UTC(), words.Event(&e)
	if e.Result != nil {
		e.Result = renderResult(&e.Result.Result)
	}
	return api.Event{Schema: api.Schema, Event: e}
}
