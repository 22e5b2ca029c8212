package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/events"
	"github.com/gpusched/gpusched/daemon/job"
)

// The numbers of events that are kept, and that a subscriber gets in one answer.
const (
	keepEvents = 16_384
	readEvents = 512
)

// announcer tells subscribers about changes that are on disk.
type announcer struct {
	host Runtime

	// The committer's goroutine alone uses these.
	book    *events.Book
	last    int64       // of the last event that got a number
	pending []job.Event // not announced yet

	mu      sync.Mutex // guards the fields that follow
	ring    *events.Ring
	waiting []*latch
}

// newAnnouncer continues from the number on record. Without one, the state is new or was lost, and
// numbers begin at the clock's seconds: higher than any number of a lost state, unless that had
// more than one event per second or the clock was set back. Subscribers of a lost state then see a
// gap.
func newAnnouncer(h Runtime, r *job.Restored, now time.Time) *announcer {
	last := r.Events
	if last == 0 {
		last = max(0, now.Unix())
	}
	return &announcer{host: h, book: events.NewBook(r), last: last, ring: events.NewRing(keepEvents, last)}
}

// take turns the records and news of batches into numbered events. It returns the last number, and
// whether there are events to announce.
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

// announce publishes the events that take made.
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

// after is Ring.After. If there is no event yet, come is released with the next one.
func (a *announcer) after(number int64) (out job.Events, come *latch) {
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

// Events returns the events after a number. It waits until there is one, or returns none when ctx
// is done. After -1 it returns none at once, with the range of numbers that are kept.
func (d *Daemon) Events(ctx context.Context, after int64) (job.Events, error) {
	for {
		out, come := d.events.after(after)
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
