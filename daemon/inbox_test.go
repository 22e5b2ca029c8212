package daemon

import (
	"testing"
	"time"
)

// scriptBell is a bell whose Wait runs the test's code.
type scriptBell struct {
	rung int
	wait func()
}

func (b *scriptBell) Ring() { b.rung++ }

func (b *scriptBell) Wait(time.Time, ...<-chan struct{}) { b.wait() }

// A sender that has given up may still be woken because there is room. It then wakes the next
// sender.
func TestSenderThatGivesUpWakesTheNext(t *testing.T) {
	d := assemble(Options{})
	for range inboxSize {
		d.inbox.put(message{})
	}
	stop := make(chan struct{})
	room := &scriptBell{wait: func() { close(stop) }} // the sender gives up while the bell rings
	d.inbox.room = room
	if d.inbox.send(message{}, stop) || room.rung != 1 {
		t.Errorf("the bell was rung on %d times", room.rung)
	}
}
