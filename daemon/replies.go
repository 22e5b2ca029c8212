package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// replies holds those who wait for an answer of the core.
type replies struct {
	mu      sync.Mutex // guards the fields that follow
	last    core.Token
	waiting map[core.Token]chan core.Reply
}

func (r *replies) expect() (core.Token, <-chan core.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	ch := make(chan core.Reply, 1)
	r.waiting[r.last] = ch
	return r.last, ch
}

func (r *replies) forget(t core.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, t)
}

func (r *replies) deliver(reply core.Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ch := r.waiting[reply.Token]; ch != nil {
		ch <- reply
		delete(r.waiting, reply.Token)
	}
}

// request posts the event made for a token and waits for the answer to it.
func (d *Daemon) request(ctx context.Context, event func(core.Token) core.Event) (core.Reply, error) {
	token, answer := d.replies.expect()
	defer d.replies.forget(token)
	d.post(event(token))
	late := time.NewTicker(unwrittenAfter)
	defer late.Stop()
	for {
		select {
		case r := <-answer:
			if r.Refusal != nil {
				return r, r.Refusal
			}
			return r, nil
		case <-late.C:
			if err := d.commit.trouble(); err != nil {
				return core.Reply{}, unwritten(err)
			}
		case <-ctx.Done():
			return core.Reply{}, ctx.Err()
		case <-d.done:
			return core.Reply{}, errStopped
		}
	}
}

// unwrittenAfter is how long a client waits for a disk that fails before it is
// told.
const unwrittenAfter = 2 * time.Second

// unwritten answers a request that the disk began to fail under.
func unwritten(err error) *job.Refusal {
	return &job.Refusal{
		Kind:    job.RefusedUnavailable,
		Message: "the scheduler can't write its state, so nothing is confirmed: " + err.Error(),
		Hint:    "what was asked is done when it can write again, unless it is restarted first; see 'gpusched health', then 'gpusched list'",
	}
}

// waiters holds those who wait for a job's end.
type waiters struct {
	mu sync.Mutex // guards of
	of map[job.ID]map[chan struct{}]bool
}

// join registers for the end of a job; leave must be called.
func (w *waiters) join(id job.ID) (ended <-chan struct{}, leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := make(chan struct{})
	if w.of[id] == nil {
		w.of[id] = map[chan struct{}]bool{}
	}
	w.of[id][ch] = true
	return ch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.of[id], ch); len(w.of[id]) == 0 {
			delete(w.of, id)
		}
	}
}

func (w *waiters) ended(id job.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.of[id] {
		close(ch)
	}
	delete(w.of, id)
}
