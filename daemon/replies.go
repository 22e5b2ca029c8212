package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// replies holds those who wait for an answer of the core.
type replies struct {
	mu      sync.Mutex // guards the fields that follow
	last    core.Token
	waiting map[core.Token]*pendingReply
}

// pendingReply is an answer that is waited for.
type pendingReply struct {
	given *latch
	reply core.Reply // once it is given
}

func (r *replies) expect(h Runtime) (core.Token, *pendingReply) {
	p := &pendingReply{given: newLatch(h)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last++
	r.waiting[r.last] = p
	return r.last, p
}

func (r *replies) forget(t core.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.waiting, t)
}

func (r *replies) deliver(reply core.Reply) {
	r.mu.Lock()
	p := r.waiting[reply.Token]
	delete(r.waiting, reply.Token)
	r.mu.Unlock()
	if p != nil {
		p.reply = reply
		p.given.release()
	}
}

// request posts the event made for a token and waits for the answer to it.
func (d *Daemon) request(ctx context.Context, event func(core.Token) core.Event) (core.Reply, error) {
	token, answer := d.replies.expect(d.host)
	defer d.replies.forget(token)
	d.inbox.post(event(token))
	return d.answered(ctx, answer)
}

// answered waits for an answer of the core.
func (d *Daemon) answered(ctx context.Context, answer *pendingReply) (core.Reply, error) {
	late := d.host.Now().Add(unwrittenAfter)
	for !answer.given.open.Load() {
		switch now := d.host.Now(); {
		case ctx.Err() != nil:
			return core.Reply{}, ctx.Err()
		case closed(d.inbox.done):
			return core.Reply{}, errStopped
		case passed(late, now):
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

// unwrittenAfter is how long a client waits for a disk that fails before it is
// told.
const unwrittenAfter = 2 * time.Second

// waiters holds those who wait for a job to come to something.
type waiters struct {
	mu sync.Mutex // guards of
	of map[job.ID][]*waiter
}

// waiter is one of them.
type waiter struct {
	*latch
	over func(*job.Job) bool
	news *job.Job // with which it was over, once the latch is open
}

// join registers for the first news of a job with which it is over; leave must be
// called.
func (w *waiters) join(id job.ID, h Runtime, over func(*job.Job) bool) (one *waiter, leave func()) {
	one = &waiter{latch: newLatch(h), over: over}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.of[id] = append(w.of[id], one)
	return one, func() { w.drop(id, func(o *waiter) bool { return o == one }) }
}

// news wakes those for whom it is over with a job as it is now.
func (w *waiters) news(j *job.Job) {
	for _, one := range w.drop(j.ID, func(o *waiter) bool { return o.over(j) }) {
		one.news = j
		one.release()
	}
}

// drop takes off some of those who wait for a job, and returns them.
func (w *waiters) drop(id job.ID, which func(*waiter) bool) (gone []*waiter) {
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
