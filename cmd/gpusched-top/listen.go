package main

import (
	"context"
	"errors"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	// notifyInterval is the minimum delay between two
	// notices to the screen that something has changed.
	notifyInterval = 500 * time.Millisecond
	// reopenInterval is the delay before the event stream is opened again.
	reopenInterval = 10 * time.Second
)

// listen notifies the screen of changes while the scheduler streams events. Without a stream the
// screen polls; old schedulers have no event stream.
func (p *program) listen(ctx context.Context) {
	changed := make(chan struct{}, 1)
	go func() {
		for api.Pause(ctx, notifyInterval) == nil {
			select {
			case <-ctx.Done():
			case <-changed:
				p.send(screen.Changed{})
			}
		}
	}()
	for {
		err := p.readEvents(ctx, changed)
		p.send(screen.Announced{})
		var refused *api.Error
		if errors.As(err, &refused) && refused.Code == api.CodeUsage { // the scheduler does not know this request
			return
		}
		if api.Pause(ctx, reopenInterval) != nil {
			return
		}
	}
}

// readEvents reads events until the stream ends, and returns the reason for its end.
func (p *program) readEvents(ctx context.Context, changed chan<- struct{}) error {
	for e, err := range api.Events(ctx, p.client, -1) {
		if err != nil {
			return err
		}
		if e.Kind == job.EventPosition {
			p.send(screen.Announced{On: true})
		}
		select { // the stream does not report changes before the position event, so notify after this event too
		case changed <- struct{}{}:
		default:
		}
	}
	return ctx.Err()
}
