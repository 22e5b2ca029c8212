package main

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// pace says how often the scheduler is asked while somebody looks. While it announces changes it is
// asked when there was one, and by the clock for what no event is about.
type pace struct {
	least   time.Duration // between two questions for everything, and by the clock where nothing is told
	settle  time.Duration // from a change to the question: most changes come with others
	figures time.Duration // between two questions for the GPUs' figures, which no event tells
	whole   time.Duration // between two questions for everything though nothing has changed: expected times drift
	again   time.Duration // between two tries to be told what changes
}

var usual = pace{
	least: 2 * time.Second, settle: 200 * time.Millisecond, figures: 5 * time.Second,
	whole: 30 * time.Second, again: 10 * time.Second,
}

// How much of the queue and of what has ended a page shows, and how many ended jobs it asks for, as tasks share a row.
const (
	shownWaiting = 200
	shownEnded   = 25
	askedEnded   = 200
)

// state is what the scheduler said at one moment.
type state struct {
	number int       // counts the states
	listed int       // the number of the state whose jobs these are
	at     time.Time // when it said so; zero: it has said nothing yet
	asked  time.Time // when it was asked for everything last
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

// asker is whom a watcher asks.
type asker interface {
	// everything asks for all that a page shows.
	everything(ctx context.Context) (answer, error)
	// figures asks for what changes without an event, and puts it into an answer.
	figures(ctx context.Context, a *answer) error
	// hear calls told for each change, until it hears no more.
	hear(ctx context.Context, told func()) error
}

// watcher asks for all who look (invariant 4).
type watcher struct {
	source asker
	pace   pace

	mu        sync.Mutex
	now       state
	tried     time.Time     // when anything was asked last
	changed   chan struct{} // closed at the next state
	lookers   int
	followers int           // of these, who want to see what changes
	left      time.Time     // when the last one left
	wanted    bool          // somebody waits for everything as it is now
	hearing   bool          // changes are told
	stale     time.Time     // since when the state is not as it was told; zero: it is
	wake      chan struct{} // something of this has changed
}

func newWatcher(source asker, p pace) *watcher {
	return &watcher{
		source: source, pace: p, changed: make(chan struct{}), wake: make(chan struct{}, 1), left: time.Now(),
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

// fresh waits for a state in which nothing is missing that has changed earlier than a moment ago.
// The caller looks.
func (w *watcher) fresh(ctx context.Context) (state, error) {
	for {
		w.mu.Lock()
		s, next := w.now, w.changed
		told := w.hearing && w.stale.IsZero() && s.err == nil
		if s.number > 0 && (told || time.Since(s.asked) <= w.pace.least) {
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

// due says when to ask next, and whether for everything; zero: nobody wants anything. The caller
// has the lock.
func (w *watcher) due() (at time.Time, everything bool) {
	s := &w.now
	switch {
	case w.wanted, w.followers > 0 && (!w.hearing || s.err != nil):
		return w.tried.Add(w.pace.least), true
	case w.followers == 0:
		return time.Time{}, false
	case !w.stale.IsZero():
		at = s.asked.Add(w.pace.least)
		if settled := w.stale.Add(w.pace.settle); settled.After(at) {
			at = settled
		}
		return at, true
	}
	at = w.tried.Add(w.pace.figures)
	return at, !at.Before(s.asked.Add(w.pace.whole))
}

// run asks while somebody looks, until ctx is done.
func (w *watcher) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	deaf := func() {} // ends the listening
	defer func() { deaf() }()
	listens := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-timer.C:
		}
		w.mu.Lock()
		follow := w.followers > 0
		at, everything := w.due()
		before := w.now.answer
		w.mu.Unlock()
		switch {
		case follow && !listens:
			limited, cancel := context.WithCancel(ctx)
			deaf = cancel
			go w.listen(limited)
		case !follow && listens:
			deaf()
			w.tell(context.Background(), false)
		}
		listens = follow
		if at.IsZero() {
			continue
		}
		if wait := time.Until(at); wait > 0 {
			timer.Reset(wait)
			continue
		}
		w.ask(ctx, before, everything)
		w.rouse() // for when to ask next
	}
}

// ask asks, and takes the answer for the state.
func (w *watcher) ask(ctx context.Context, a answer, everything bool) {
	var err error
	w.mu.Lock()
	if everything { // what changes from here on may be missing in the answer
		w.stale = time.Time{}
	}
	w.mu.Unlock()
	if everything {
		a, err = w.source.everything(ctx)
	} else {
		err = w.source.figures(ctx, &a)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.number++
	w.tried = time.Now()
	if everything {
		w.now.asked, w.wanted = w.tried, false
	}
	if w.now.err = err; err == nil {
		w.now.at, w.now.answer = w.tried, a
		if everything {
			w.now.listed = w.now.number
		}
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// listen is told what changes for as long as ctx is not done, and tries again where that ends.
func (w *watcher) listen(ctx context.Context) {
	for {
		_ = w.source.hear(ctx, func() { w.tell(ctx, true) }) // why it ended shows when it is asked
		w.tell(ctx, false)
		if api.Pause(ctx, w.pace.again) != nil {
			return
		}
	}
}

// tell notes that something has changed, or that this is told no more; of a listener that has been
// ended it notes nothing.
func (w *watcher) tell(ctx context.Context, on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	if w.hearing = on; on && w.stale.IsZero() {
		w.stale = time.Now()
	}
	w.rouse()
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
