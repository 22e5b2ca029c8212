package dst

import (
	"context"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon"
)

// life is one process of the daemon, from its start to its death.
type life struct {
	w    *World
	born time.Duration
	last time.Duration // time at which its last call reaches systemd
	over bool
	all  []*activity
}

// activity is a coroutine that runs until it waits. Only one activity runs at a time.
type activity struct {
	w     *World
	life  *life // process to which the activity belongs; nil: it is the world's own
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
	bell  *bell
	stops []<-chan struct{}
	woken uint64 // changes with each wake, so that an outdated timer is recognized
	ready bool   // the activity's turn is on the agenda
	id    uint64
	turns uint64
}

// killedPanic is the panic that ends an activity of a dead process. While the panic unwinds the
// activity, nothing that the activity does has an effect.
type killedPanic struct{}

// spawn creates an activity that runs f soon.
func (w *World) spawn(l *life, f func()) { w.wake(w.activity(l, f)) }

// activity creates an activity that waits for its first turn.
func (w *World) activity(l *life, f func()) *activity {
	w.activities++
	a := &activity{w: w, life: l, id: w.activities}
	a.next, a.stop = iter.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		defer func() {
			switch r := recover(); r.(type) {
			case nil, killedPanic:
			default:
				w.breach(10, "panic: %v\n%s", r, debug.Stack())
				if l != nil {
					l.over = true
				}
			}
		}()
		f()
	})
	if l != nil {
		l.all = append(l.all, a)
	} else {
		w.own = append(w.own, a)
	}
	return a
}

// wake makes the activity's turn come soon.
func (w *World) wake(a *activity) {
	if a.ready {
		return
	}
	a.ready = true
	a.woken++
	a.turns++
	d := time.Duration(mix(w.seed^a.id<<20^a.turns) % uint64(20*time.Microsecond))
	w.after(d, func() { w.turn(a) })
}

// turn runs the activity until it waits or ends.
func (w *World) turn(a *activity) {
	if a.life != nil && a.life.over {
		return
	}
	a.ready = false
	w.current = a
	_, more := a.next()
	w.current = nil
	if w.stopping {
		w.wakeCancelled() // the loop may have ended, which closes a channel: wake those who wait on that channel
	}
	switch {
	case a.life != nil && a.life.over:
		w.bury(a.life)
	case more:
	case a.life != nil:
		a.life.all = slices.DeleteFunc(a.life.all, func(o *activity) bool { return o == a })
	default:
		w.own = slices.DeleteFunc(w.own, func(o *activity) bool { return o == a })
	}
}

// bury unwinds the activities of a process that died.
func (w *World) bury(l *life) {
	all := l.all
	l.all = nil
	for _, a := range all {
		a.stop()
	}
	if w.life == l {
		w.restartDaemon()
	}
}

// park waits for the activity's next turn.
func (a *activity) park() {
	if !a.yield(struct{}{}) {
		panic(killedPanic{})
	}
}

// mayDie marks a point at which the process may die.
func (w *World) mayDie(l *life) {
	switch {
	case l == nil:
	case l.over:
		panic(killedPanic{})
	case w.doom > 0:
		if w.doom--; w.doom == 0 && w.current != nil && w.current.life == l {
			w.count("crash")
			w.tell("the daemon dies")
			l.over = true
			panic(killedPanic{})
		}
	}
}

// Now returns the time as the process sees it.
func (l *life) Now() time.Time { return l.w.now(l) }

// Go starts an activity of the process.
func (l *life) Go(f func()) {
	l.w.mayDie(l)
	l.w.spawn(l, f)
}

// Timeout is context.WithTimeout on the virtual clock.
func (l *life) Timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.w.after(d, func() {
		if ctx.Err() == nil {
			cancel(context.DeadlineExceeded)
			l.w.wakeCancelled()
		}
	})
	return ctx, func() { cancel(context.Canceled) }
}

// Wakeup returns a new bell.
func (l *life) Wakeup() daemon.Wakeup { return l.w.bell(l) }

func (w *World) bell(l *life) *bell { return &bell{w: w, life: l} }

// bell is a daemon.Wakeup.
type bell struct {
	w     *World
	life  *life
	rang  bool
	queue []*activity // activities that wait for the bell, in the order in which they began to wait
}

func (b *bell) Ring() {
	switch {
	case b.life != nil && b.life.over:
	case len(b.queue) > 0:
		a := b.queue[0]
		b.queue = b.queue[1:]
		b.w.wake(a)
	default:
		b.rang = true
	}
}

func (b *bell) Wait(until time.Time, stops ...<-chan struct{}) {
	b.w.mayDie(b.life)
	if b.rang || stopped(stops) {
		b.rang = false
		return
	}
	a := b.w.current
	a.bell, a.stops = b, stops
	b.queue = append(b.queue, a)
	if !until.IsZero() {
		left := max(0, until.Sub(b.w.now(b.life)))
		woken := a.woken
		b.w.after(left, func() {
			if a.woken == woken && a.bell == b {
				b.w.wake(a)
			}
		})
	}
	b.w.waiting = append(b.w.waiting, a)
	a.park()
	a.bell, a.stops = nil, nil
	b.queue = slices.DeleteFunc(b.queue, func(o *activity) bool { return o == a })
	b.w.waiting = slices.DeleteFunc(b.w.waiting, func(o *activity) bool { return o == a })
}

// feed passes items to the daemon one after the other.
type feed[T any] struct {
	list []T
	bell *bell // bell of the process that follows the feed; nil: none follows it
}

func (f *feed[T]) add(news T) {
	f.list = append(f.list, news)
	if f.bell != nil {
		f.bell.Ring()
	}
}

// follow calls its last argument for all items, old and new, until ctx is done.
func (f *feed[T]) follow(ctx context.Context, w *World, tell func(T)) {
	bell := w.bell(w.current.life)
	f.bell = bell
	for told := 0; ctx.Err() == nil; {
		if told >= len(f.list) {
			bell.Wait(time.Time{}, ctx.Done())
			continue
		}
		told++
		tell(f.list[told-1])
	}
}

func stopped(stops []<-chan struct{}) bool {
	for _, s := range stops {
		select {
		case <-s:
			return true
		default:
		}
	}
	return false
}

// wakeCancelled wakes activities whose wait was cancelled.
func (w *World) wakeCancelled() {
	for _, a := range w.waiting {
		if stopped(a.stops) {
			w.wake(a)
		}
	}
}

// sleep makes the running activity wait for d, or until ctx is done.
func (w *World) sleep(ctx context.Context, d time.Duration) error {
	l := w.current.life
	until, b := w.Elapsed+d, w.bell(l)
	for w.Elapsed < until {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.Wait(w.now(l).Add(until-w.Elapsed), ctx.Done())
	}
	return ctx.Err()
}

// now returns what time.Now would return in a process.
func (w *World) now(l *life) time.Time {
	born := time.Duration(0)
	if l != nil {
		born = l.born
	}
	return stamp(w.wall(), w.Elapsed-born+time.Second)
}

// wall returns the time of the wall clock.
func (w *World) wall() time.Time { return genesis.Add(w.Elapsed + w.skew) }

// genesis is far in the future, so that nothing in a real store is too old.
var genesis = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *World) after(d time.Duration, do func()) { w.agenda.add(w.Elapsed+max(d, 0), do) }
