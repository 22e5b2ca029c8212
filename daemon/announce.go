package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/events"
	"github.com/gpusched/gpusched/daemon/job"
)

// The bounds of what is kept of events, and of how many one who follows reads at once.
const (
	keepEvents = 16_384
	readEvents = 512
)

// announcer tells those who follow what has changed, once that is on disk.
type announcer struct {
	host Runtime

	// The committer's.
	book    *events.Book
	last    int64       // the number given last
	pending []job.Event // not announced yet

	mu      sync.Mutex // guards the fields that follow
	ring    *events.Ring
	waiting []*latch
}

// newAnnouncer goes on after the number that is on record. Where there is none, the
// state is new or was lost: the clock is then further than any number of a state that
// was here before, unless that had more than an event a second, or the clock was set back
// before the first event. Whoever followed it then gets a gap.
func newAnnouncer(h Runtime, r *job.Restored, now time.Time) *announcer {
	last := r.Events
	if last == 0 {
		last = max(0, now.Unix())
	}
	return &announcer{host: h, book: events.NewBook(r), last: last, ring: events.NewRing(keepEvents, last)}
}

// take makes events of what the steps want to be done. It returns the number of the last
// one, and whether there are some to be announced.
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

// announce lets everybody know what was taken.
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

// after is Ring.After; where there is nothing yet, come is released with the next.
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

// Events returns events after a number, as soon as there is one, or none when ctx is
// done. After -1 it is none at once, with the numbers of those that are kept.
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
