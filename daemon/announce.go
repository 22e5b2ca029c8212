package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/events"
	"github.com/gpusched/gpusched/daemon/job"
)

// keepEvents is the number of events that are kept. readEvents is the maximum number of events in
// one answer.
const (
	keepEvents = 16_384
	readEvents = 512
)

// announcer sends events to subscribers once the records of the events are on disk.
type announcer struct {
	host Runtime

	// Only the committer's goroutine uses these fields.
	book    *events.Book
	last    int64       // number of the newest event
	pending []job.Event // numbered, but not yet announced

	mu      sync.Mutex // guards the fields below
	ring    *events.Ring
	waiting []*latch
}

// newAnnouncer continues after the last recorded event number. If no number is recorded, the state
// is new or was lost. The first number is then the clock's time in seconds. This time is higher
// than any number in the lost state, unless there was more than one event per second or the clock
// was set back. Subscribers of the lost state therefore see a gap.
func newAnnouncer(h Runtime, r *job.Restored, now time.Time) *announcer {
	last := r.Events
	if last == 0 {
		last = max(0, now.Unix())
	}
	return &announcer{host: h, book: events.NewBook(r), last: last, ring: events.NewRing(keepEvents, last)}
}

// take makes numbered events from the batches. It returns the last number, and whether any events
// wait to be announced.
func (a *announcer) take(batches []batch) (last int64, news bool) {
	for i := range batches {
		b := &batches[i]
		for n := range b.effects.Records {
			a.number(a.book.Record(&b.effects.Records[n], b.at))
		}
		for _, e := range b.effects.News {
			a.number([]job.Event{a.book.News(e, b.at)})
		}
	}
	return a.last, len(a.pending) > 0
}

func (a *announcer) number(list []job.Event) {
	for _, e := range list {
		a.last++
		e.Number = a.last
		a.pending = append(a.pending, e)
	}
}

// announce publishes the pending events, which take has numbered.
func (a *announcer) announce() {
	a.mu.Lock()
	a.ring.Add(a.pending)
	waiting := a.waiting
	a.waiting = nil
	a.mu.Unlock()
	a.pending = nil
	for _, w := range waiting {
		w.release()
	}
}

// eventsAfter returns the events after a number, like Ring.After. If there are none yet, it also
// returns a latch that the next event opens.
func (a *announcer) eventsAfter(number int64) (out job.Events, come *latch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out = a.ring.After(number, readEvents)
	if number < 0 {
		out.Gap = false
	} else if len(out.List) == 0 && !out.Gap {
		come = newLatch(a.host)
		a.waiting = append(a.waiting, come)
	}
	return out, come
}

func (a *announcer) leave(come *latch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(w *latch) bool { return w == come })
}

// Events returns the events after a number. If there are none, Events waits for the next event, or
// until ctx is done. If the number is -1, Events returns no events, only the numbers of the oldest
// and the newest event that are kept.
func (d *Daemon) Events(ctx context.Context, after int64) (job.Events, error) {
	for {
		out, come := d.events.eventsAfter(after)
		if come == nil {
			return out, nil
		}
		came := come.await(ctx.Done(), d.inbox.done)
		d.events.leave(come)
		switch {
		case came:
		case ctx.Err() != nil:
			return out, nil
		default:
			return out, errStopped
		}
	}
}
