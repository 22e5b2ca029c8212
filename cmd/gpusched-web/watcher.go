package main

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// interval is how often the scheduler is asked while somebody looks.
const interval = 2 * time.Second

// How much of the queue and of what has ended a page shows.
const (
	shownWaiting = 200
	shownEnded   = 25
)

// state is what the scheduler said at one moment.
type state struct {
	number int       // counts the states
	at     time.Time // when it said so; zero: it has said nothing yet
	asked  time.Time // when it was asked last
	err    error     // why there is nothing newer than at (invariant 6)
	answer
}

// answer is what the scheduler says.
type answer struct {
	status api.StatusReply
	gpus   api.GPUsReply
	list   api.ListReply
	checks []job.Check // where the status is not healthy: what is checked
	plan   *api.PlanReply
}

// watcher asks for all who look (invariant 4).
type watcher struct {
	ask      func(context.Context) (answer, error)
	interval time.Duration

	mu      sync.Mutex
	now     state
	changed chan struct{} // closed at the next state
	lookers int
	left    time.Time     // when the last one left
	wake    chan struct{} // there is a looker, or one has left
}

func newWatcher(ask func(context.Context) (answer, error), every time.Duration) *watcher {
	return &watcher{
		ask: ask, interval: every, changed: make(chan struct{}), wake: make(chan struct{}, 1), left: time.Now(),
	}
}

// look counts somebody who looks until leave is called.
func (w *watcher) look() (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookers++
	w.rouse()
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.lookers--
		w.left = time.Now()
		w.rouse()
	})
}

func (w *watcher) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// latest is the last state, and a channel that is closed at the next.
func (w *watcher) latest() (state, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.changed
}

// fresh waits for a state that is no older than the interval. The caller looks.
func (w *watcher) fresh(ctx context.Context) (state, error) {
	for {
		s, next := w.latest()
		if s.number > 0 && time.Since(s.asked) <= w.interval {
			return s, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
}

// run asks while somebody looks, until ctx is done.
func (w *watcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		if !w.watched() {
			continue
		}
		if wait := w.interval - time.Since(last); wait > 0 {
			timer.Reset(wait)
			continue
		}
		last = time.Now()
		w.take(w.ask(ctx))
		timer.Reset(w.interval)
	}
}

func (w *watcher) watched() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lookers > 0
}

// take puts an answer in the place of the last, or notes why there is none.
func (w *watcher) take(a answer, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.number++
	w.now.asked = time.Now()
	if w.now.err = err; err == nil {
		w.now.at, w.now.answer = w.now.asked, a
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// untilIdle returns when ctx is done, or nobody has looked for so long.
func (w *watcher) untilIdle(ctx context.Context, idle time.Duration) {
	if idle <= 0 {
		<-ctx.Done()
		return
	}
	for {
		rest := idle
		w.mu.Lock()
		if w.lookers == 0 {
			rest = idle - time.Since(w.left)
		}
		w.mu.Unlock()
		if rest <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
	}
}
