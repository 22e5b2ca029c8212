package main

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// askInterval is the time between two requests while there are viewers.
const askInterval = 2 * time.Second

// Numbers of listed jobs. Several ended tasks share a
// row, so more ended jobs are requested than listed.
const (
	shownWaiting   = 200
	shownEnded     = 25
	requestedEnded = 200
)

// A state is the scheduler's last answer.
type state struct {
	number int       // grows by one with each state
	at     time.Time // time of the answer; zero before the first
	err    error     // why the answer is not newer (invariant 6)
	answer
}

// answer holds the scheduler's answers.
type answer struct {
	status api.StatusReply
	gpus   api.GPUsReply
	list   api.ListReply
	checks []job.Check // failed checks of an unhealthy scheduler
	plan   *api.PlanReply
}

// A watcher asks the scheduler for all viewers (invariant 4).
type watcher struct {
	source func(context.Context) (answer, error)
	every  time.Duration

	mu        sync.Mutex
	now       state
	tried     time.Time     // time of the last request
	changed   chan struct{} // closed when the next state is stored
	lookers   int
	followers int           // number of viewers with a stream
	left      time.Time     // when the last viewer left
	wanted    bool          // a viewer waits for a fresh state
	wake      chan struct{} // signals that one of these fields has changed
}

func newWatcher(source func(context.Context) (answer, error), every time.Duration) *watcher {
	return &watcher{
		source: source, every: every, changed: make(chan struct{}), wake: make(chan struct{}, 1), left: time.Now(),
	}
}

// addViewer counts its caller as a viewer until the returned function is called.
func (w *watcher) addViewer() (leave func()) { return w.count(&w.lookers) }

// follow counts its caller as a viewer with a stream until the returned function is called.
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

// latest returns the last state, and a channel that is closed when the next state is stored.
func (w *watcher) latest() (state, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now, w.changed
}

// freshState waits until the state is at most w.every old. Meanwhile its caller counts as a viewer.
func (w *watcher) freshState(ctx context.Context) (state, error) {
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

// run asks the scheduler while there are viewers, until ctx is done.
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

// ask asks the scheduler and stores the answer as the next state.
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

// untilIdle returns when ctx is done, or when there were no viewers for the duration maxIdle.
func (w *watcher) untilIdle(ctx context.Context, maxIdle time.Duration) {
	if maxIdle <= 0 {
		<-ctx.Done()
		return
	}
	for {
		rest := maxIdle
		w.mu.Lock()
		if w.lookers == 0 {
			rest = maxIdle - time.Since(w.left)
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
