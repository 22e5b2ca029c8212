package daemon

import (
	"testing"
	"time"
)

// scriptBell is a bell on which the test acts.
type scriptBell struct {
	rung int
	wait func()
}

func (b *scriptBell) Ring() { b.rung++ }

func (b *scriptBell) Wait(time.Time, ...<-chan struct{}) { b.wait() }

// A sender that is woken because there is room, but no longer sends, wakes the next one.
func TestSenderThatGivesUpWakesTheNext(t *testing.T) {
	d := assemble(Options{})
	for range inboxSize {
		d.inbox.put(message{})
	}
	stop := make(chan struct{})
	room := &scriptBell{wait: func() { close(stop) }} // the bell rang as well
	d.inbox.room = room
	if d.inbox.send(message{}, stop) || room.rung != 1 {
		t.Errorf("the bell was rung on %d times", room.rung)
	}
}
