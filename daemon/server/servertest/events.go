package servertest

import (
	"context"

	"github.com/gpusched/gpusched/daemon/events"
	"github.com/gpusched/gpusched/daemon/job"
)

// keptEvents is the number of events that are kept. It is small, so that a test can miss an event.
const keptEvents = 4

// Announce adds events and gives them the next numbers.
func (b *Backend) Announce(list ...job.Event) {
	defer b.mu.Unlock()
	if b.lock() != nil {
		return
	}
	for _, e := range list {
		e.Number, e.At = b.log().Last()+1, b.Now
		b.log().Add([]job.Event{e})
	}
	b.news()
}

func (b *Backend) log() *events.Ring {
	if b.events == nil {
		b.events = events.NewRing(keptEvents, 0)
	}
	return b.events
}

// Events returns the announced events that are kept.
func (b *Backend) Events(ctx context.Context, after int64) (job.Events, error) {
	for {
		err := b.lock()
		out, changed := b.log().After(after, 2), b.changed
		b.mu.Unlock()
		if err != nil || after < 0 || out.Gap || len(out.List) > 0 {
			return out, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return out, nil
		}
	}
}
