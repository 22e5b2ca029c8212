package daemon

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
)

// message is what the loop consumes: an event for the core, or a question.
type message struct {
	event core.Event
	ask   func(*core.Core, time.Time)
	at    time.Time // when it was sent
}

// inboxSize is the number of messages that may wait. Further senders block.
const inboxSize = 256

// inbox is the queue of the messages that the loop has not consumed yet.
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

// put adds a message. It returns false if the inbox is full.
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
		b.room.Ring() // for other senders
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

// send gives a message to the loop. It returns false if stop was closed or the loop ended before.
func (b *inbox) send(m message, stop <-chan struct{}) bool {
	m.at = b.host.Now()
	for !closed(stop) && !closed(b.done) {
		if b.put(m) {
			return true
		}
		b.room.Wait(time.Time{}, stop, b.done)
	}
	b.room.Ring() // a ring that woke us is for the next sender
	return false
}

// post hands an event to the loop. After the end of the loop the event is dropped: recovery finds
// out by itself.
func (b *inbox) post(ev core.Event) { b.send(message{event: ev}, nil) }

// ask runs a question on the loop and returns when it is answered. A question whose caller has left
// is not run.
func (b *inbox) ask(ctx context.Context, question func(*core.Core, time.Time)) error {
	answered := newLatch(b.host)
	var taken atomic.Bool // by the loop, to run it, or by the caller, to leave
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
