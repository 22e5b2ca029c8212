package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
)

// message is an event for the core, or a question that the loop answers.
type message struct {
	event core.Event
	ask   func(*core.Core, time.Time)
	at    time.Time // time of sending
}

// inboxSize is the number of messages that may wait. When the inbox is full, senders block.
const inboxSize = 256

// inbox is the queue of messages to the loop.
type inbox struct {
	host       Runtime
	some, room Wakeup
	done       chan struct{} // closed when the loop has ended

	mu   sync.Mutex // guards list
	list []message
}

func newInbox(h Runtime) *inbox {
	return &inbox{host: h, some: h.Wakeup(), room: h.Wakeup(), done: make(chan struct{})}
}

// put adds a message, or returns false if the inbox is full.
func (b *inbox) put(m message) bool {
	b.mu.Lock()
	n := len(b.list)
	if n < inboxSize {
		b.list = append(b.list, m)
	}
	b.mu.Unlock()
	if n == inboxSize {
		return false
	}
	b.some.Ring()
	if n+1 < inboxSize {
		b.room.Ring() // wakes another sender
	}
	return true
}

func (b *inbox) take() (message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) == 0 {
		return message{}, false
	}
	m := b.list[0]
	b.list[0] = message{}
	if b.list = b.list[1:]; len(b.list) == 0 {
		b.list = nil
	}
	b.room.Ring()
	return m, true
}

// send gives a message to the loop. It returns false if the loop ends or the channel done is closed
// first.
func (b *inbox) send(m message, done <-chan struct{}) bool {
	m.at = b.host.Now()
	for !closed(done) && !closed(b.done) {
		if b.put(m) {
			return true
		}
		b.room.Wait(time.Time{}, done, b.done)
	}
	b.room.Ring() // this sender was woken in place of another that may have to go on
	return false
}

// post sends an event to the loop. If the loop has ended, the event is dropped: the next daemon
// finds out by itself what happened.
func (b *inbox) post(ev core.Event) { b.send(message{event: ev}, nil) }

// ask runs a question on the loop, and returns when the question is answered.
// If the caller gives up first, the question is not run.
func (b *inbox) ask(ctx context.Context, question func(*core.Core, time.Time)) error {
	answered := newLatch(b.host)
	var taken atomic.Bool // set by the loop before it runs the question, or by a caller that gives up
	sent := b.send(message{ask: func(c *core.Core, now time.Time) {
		if taken.CompareAndSwap(false, true) {
			question(c, now)
			answered.release()
		}
	}}, ctx.Done())
	if sent && (answered.await(ctx.Done(), b.done) || !taken.CompareAndSwap(false, true) && answered.await(b.done)) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errStopped
}
