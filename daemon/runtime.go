package daemon

import (
	"context"
	"sync/atomic"
	"time"
)

// Runtime is a clock, and a way to start goroutines. All parts of the daemon use it. The real
// daemon uses the machine's clock and goroutines. In the simulation daemon/dst, a seed decides what
// happens next.
type Runtime interface {
	Now() time.Time
	// Go starts a goroutine.
	Go(f func())
	// Timeout is context.WithTimeout with this clock.
	Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	Wakeup() Wakeup
}

// Wakeup is a bell: it wakes goroutines that wait until another goroutine changes something. The
// bell does not say what changed, so the woken goroutine must check.
type Wakeup interface {
	// Ring wakes one waiting goroutine. If none waits, the next Wait returns at once.
	Ring()
	// Wait returns when the bell rings, when the given time has passed (zero: never), or when a
	// stop channel is closed. It may also return for no reason. At most two stop channels are
	// allowed.
	Wait(until time.Time, stops ...<-chan struct{})
}

// machine is the Runtime of the real daemon.
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
	var stop [2]<-chan struct{} // missing channels are nil, so they never close
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

// pause waits for d. It returns false if ctx ended first.
func pause(ctx context.Context, h Runtime, d time.Duration) bool {
	until, never := h.Now().Add(d), h.Wakeup()
	for ctx.Err() == nil && h.Now().Before(until) {
		never.Wait(until, ctx.Done())
	}
	return ctx.Err() == nil
}

// latch is an event that happens once.
type latch struct {
	bell Wakeup
	open atomic.Bool
}

func newLatch(h Runtime) *latch { return &latch{bell: h.Wakeup()} }

func (l *latch) release() {
	l.open.Store(true)
	l.bell.Ring()
}

// await waits until the latch is open. It returns false if a stop channel is closed first.
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

// group starts goroutines, and waits until all of them have ended.
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
