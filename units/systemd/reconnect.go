package systemd

import (
	"context"
	"errors"
	"time"

	"github.com/gpusched/gpusched/units/retry"
)

// The back-off between attempts to reach the bus.
const (
	firstRetry  = 50 * time.Millisecond
	lastRetry   = 5 * time.Second
	dialTimeout = 10 * time.Second // for one attempt
)

var errLost = errors.New("connection to the bus lost")

// keepConnected maintains the connection until ctx ends. After the first connection it sends a
// value on the channel ready.
func (m *Manager) keepConnected(ctx context.Context, ready chan<- struct{}) {
	failures := 0
	for first := true; ctx.Err() == nil; {
		l, err := m.dial(ctx)
		if err != nil {
			m.setLink(nil, err)
			failures++
			sleep(ctx, retry.After(failures, firstRetry, lastRetry))
			continue
		}
		failures = 0
		m.setLink(l, nil)
		if first {
			ready <- struct{}{}
			first = false
		} else {
			m.changes.resync()
		}
		select {
		case <-l.closed():
		case <-ctx.Done():
		}
		m.setLink(nil, errLost)
		l.conn.Close()
		m.seen.Clear()
		m.exited.Clear()
		m.groups.Clear()
		m.reloading.Store(false)
	}
}

func (m *Manager) dial(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return dialLink(ctx, m.dialBus, m.address, m.last, m.user, m)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
