package main

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// usual is the time between two questions while somebody looks.
const usual = 2 * time.Second

// How much of the queue and of what has ended a page shows, and how many ended jobs it asks for, as tasks share a row.
const (
	shownWaiting = 200
	shownEnded   = 25
	askedEnded   = 200
)

// state is what the scheduler said at one moment.
type state struct {
	number int       // counts the states
	at     time.Time // when it said so; zero: it has said nothing yet
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
	source func(context.Context) (answer, error)
	every  time.Duration

	mu        sync.Mutex
	now       state
	tried     time.Time     // when it was asked last
	changed   chan struct{} // closed at the next state
	lookers   int
	followers int           // of these, who want to see what changes
	left      time.Time     // when the last one left
	wanted    bool          // somebody waits for a state as of now
	wake      chan struct{} // something of this has changed
}

func newWatcher(source func(context.Context) (answer, error), every time.Duration) *watcher {
	return &watcher{
		source: source, every: every, changed: make(chan struct{}), wake: make(chan struct{}, 1), left: time.Now(),
	}
}

// look counts somebody who looks until leave is called.
func (w *watcher) look() (leave func()) { return w.count(&w.lookers) }

// follow counts somebody who wants to see what changes until leave is called.
func (w *watcher) follow() (leave func()) {
	gone, silent := w.count(&w.lookers), w.count(&w.followers)
	return func() { silent(); gone() }
}

func (w *watcher) count(n *int) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*n++
	w.rouse()
	return sync.OnceFunc(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		*n--
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

// fresh waits for a state that is as of a moment ago at the earliest. The caller looks.
func (w *watcher) fresh(ctx context.Context) (state, error) {
	for {
		w.mu.Lock()
		s, next := w.now, w.changed
		if s.number > 0 && time.Since(w.tried) <= w.every {
			w.mu.Unlock()
			return s, nil
		}
		w.wanted = true
		w.rouse()
		w.mu.Unlock()
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
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		w.mu.Lock()
		asks, rest := w.wanted || w.followers > 0, time.Until(w.tried.Add(w.every))
		w.mu.Unlock()
		switch {
		case !asks:
		case rest > 0:
			timer.Reset(rest)
		default:
			w.ask(ctx)
			timer.Reset(w.every)
		}
	}
}

// ask asks, and takes the answer for the state.
func (w *watcher) ask(ctx context.Context) {
	a, err := w.source(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.number++
	w.tried, w.wanted = time.Now(), false
	if w.now.err = err; err == nil {
		w.now.at, w.now.answer = w.tried, a
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
