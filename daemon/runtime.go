package daemon

import (
	"context"
	"sync/atomic"
	"time"
)

// Runtime is what the daemon's parts run on: a clock, and activities that run at
// the same time. The machine's own clock and goroutines are one; daemon/dst
// has another that decides, from one seed, what happens next.
type Runtime interface {
	Now() time.Time
	// Go begins an activity.
	Go(f func())
	// Timeout is context.WithTimeout by this clock.
	Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	Wakeup() Wakeup
}

// Wakeup wakes those who wait for what another activity brings about. It says
// that something changed and not what: whoever wakes looks.
type Wakeup interface {
	// Ring wakes one who waits, or lets the next one who would wait go on.
	Ring()
	// Wait returns when the bell rang, when until has come (zero: never), when one
	// of at most two stops is closed, or for no reason.
	Wait(until time.Time, stops ...<-chan struct{})
}

// machine is the Runtime of a daemon that works.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

func (machine) Go(f func()) { go f() }

func (machine) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

func (machine) Wakeup() Wakeup { return make(bell, 1) }

type bell chan struct{}

func (b bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

func (b bell) Wait(until time.Time, stops ...<-chan struct{}) {
	var stop [2]<-chan struct{} // a nil channel never closes
	copy(stop[:], stops)
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-b:
	case <-due:
	case <-stop[0]:
	case <-stop[1]:
	}
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// pause lets d pass; false when ctx ended first.
func pause(ctx context.Context, h Runtime, d time.Duration) bool {
	until, never := h.Now().Add(d), h.Wakeup()
	for ctx.Err() == nil && h.Now().Before(until) {
		never.Wait(until, ctx.Done())
	}
	return ctx.Err() == nil
}

// latch is something that happens once.
type latch struct {
	bell Wakeup
	open atomic.Bool
}

func newLatch(h Runtime) *latch { return &latch{bell: h.Wakeup()} }

func (l *latch) release() {
	l.open.Store(true)
	l.bell.Ring()
}

// await waits for it; false when one of the stops was closed first.
func (l *latch) await(stops ...<-chan struct{}) bool {
	for !l.open.Load() {
		for _, s := range stops {
			if closed(s) {
				return false
			}
		}
		l.bell.Wait(time.Time{}, stops...)
	}
	return true
}

// group is activities whose end is waited for.
type group struct {
	host Runtime
	left atomic.Int64
	bell Wakeup
}

func newGroup(h Runtime) *group { return &group{host: h, bell: h.Wakeup()} }

func (g *group) Go(f func()) {
	g.left.Add(1)
	g.host.Go(func() {
		f()
		g.left.Add(-1)
		g.bell.Ring()
	})
}

func (g *group) Wait() {
	for g.left.Load() > 0 {
		g.bell.Wait(time.Time{})
	}
}
