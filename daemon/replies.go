package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// pendingReplies contains the requests that wait for a reply from the core.
type pendingReplies struct {
	mu      sync.Mutex // guards the fields below
	last    core.Token
	waiting map[core.Token]*pendingReply
}

// pendingReply is a reply that a request waits for.
type pendingReply struct {
	given *latch
	reply core.Reply // valid once given is open
}

func (r *pendingReplies) expect(h Runtime) (core.Token, *pendingReply) {
	p := &pendingReply{given: newLatch(h)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.waiting[r.last] = p
	return r.last, p
}

func (r *pendingReplies) drop(t core.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, t)
}

func (r *pendingReplies) deliver(reply core.Reply) {
	r.mu.Lock()
	p := r.waiting[reply.Token]
	delete(r.waiting, reply.Token)
	r.mu.Unlock()
	if p != nil {
		p.reply = reply
		p.given.release()
	}
}

// request sends an event with a new token to the core, and waits for the reply.
func (d *Daemon) request(ctx context.Context, event func(core.Token) core.Event) (core.Reply, error) {
	token, answer := d.replies.expect(d.host)
	defer d.replies.drop(token)
	d.inbox.post(event(token))
	return d.awaitReply(ctx, answer)
}

// awaitReply waits for a reply from the core. While the disk fails,
// it gives up after unwrittenAfter.
func (d *Daemon) awaitReply(ctx context.Context, answer *pendingReply) (core.Reply, error) {
	late := d.host.Now().Add(unwrittenAfter)
	for !answer.given.open.Load() {
		switch now := d.host.Now(); {
		case ctx.Err() != nil:
			return core.Reply{}, ctx.Err()
		case closed(d.inbox.done):
			return core.Reply{}, errStopped
		case isPast(late, now):
			if err := d.commit.trouble(); err != nil {
				return core.Reply{}, job.Refuse("unavailable/unconfirmed", err)
			}
			late = now.Add(unwrittenAfter)
		}
		answer.given.bell.Wait(late, ctx.Done(), d.inbox.done)
	}
	if r := answer.reply; r.Refusal != nil {
		return r, r.Refusal
	}
	return answer.reply, nil
}

// unwrittenAfter is the time that a client waits before it is told that the disk fails.
const unwrittenAfter = 2 * time.Second

// A waiterSet contains the callers that wait for a change of a job.
type waiterSet struct {
	mu sync.Mutex // guards the map
	of map[job.ID][]*waiter
}

// waiter is a caller that waits for a job. Its latch opens when its condition holds for the job.
type waiter struct {
	*latch
	over func(*job.Job) bool
	news *job.Job // the job that met the condition; valid once the latch is open
}

// join registers a waiter for a job. Once a change makes the waiter's condition true, the waiter is
// woken. The caller must call the method leave in the end.
func (w *waiterSet) join(id job.ID, h Runtime, over func(*job.Job) bool) (one *waiter, leave func()) {
	one = &waiter{latch: newLatch(h), over: over}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[id] = append(w.of[id], one)
	return one, func() { w.drop(id, func(o *waiter) bool { return o == one }) }
}

// wake wakes the waiters whose condition holds for the job in its present state.
func (w *waiterSet) wake(j *job.Job) {
	for _, one := range w.drop(j.ID, func(o *waiter) bool { return o.over(j) }) {
		one.news = j
		one.release()
	}
}

// drop removes and returns those waiters of a job for which the given function returns true.
func (w *waiterSet) drop(id job.ID, which func(*waiter) bool) (gone []*waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[id] == nil {
		return nil
	}
	w.of[id] = slices.DeleteFunc(w.of[id], func(o *waiter) bool {
		if !which(o) {
			return false
		}
		gone = append(gone, o)
		return true
	})
	if len(w.of[id]) == 0 {
		delete(w.of, id)
	}
	return gone
}
