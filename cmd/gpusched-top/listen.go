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
	// told is between two times that the screen hears of changes, however many there are.
	told = 500 * time.Millisecond
	// listenAgain is between two tries to hear of changes.
	listenAgain = 10 * time.Second
)

// listen tells the screen of changes, for as long as the scheduler tells them. While it does not,
// or where it is too old for that, the screen asks by the clock.
func (p *program) listen(ctx context.Context) {
	changed := make(chan struct{}, 1)
	go func() {
		for api.Pause(ctx, told) == nil {
			select {
			case <-ctx.Done():
			case <-changed:
				p.send(screen.Changed{})
			}
		}
	}()
	for {
		err := p.hear(ctx, changed)
		p.send(screen.Told{})
		var refused *api.Error
		if errors.As(err, &refused) && refused.Code == api.CodeUsage { // it does not know the request
			return
		}
		if api.Pause(ctx, listenAgain) != nil {
			return
		}
	}
}

// hear listens until it hears no more, and says why.
func (p *program) hear(ctx context.Context, changed chan<- struct{}) error {
	for e, err := range api.Events(ctx, p.client, -1) {
		if err != nil {
			return err
		}
		if e.Kind == job.EventPosition {
			p.send(screen.Told{On: true})
		}
		select { // also after a position: what has changed before is not told
		case changed <- struct{}{}:
		default:
		}
	}
	return ctx.Err()
}
