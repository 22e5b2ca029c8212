package daemon

import (
	"testing"
	"testing/synctest"
	"time"
)

// A Wait ends when the bell rings, when its time comes, or when a stop channel is closed. If the
// bell has rung before, the Wait ends at once.
func TestBell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, stop := machine{}.Wakeup(), make(chan struct{})
		begin := time.Now()
		b.Ring()
		b.Ring()
		b.Wait(time.Time{})
		b.Wait(begin.Add(time.Second), nil, stop)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("two rings that nobody heard let more than one go on: %v", took)
		}
		time.AfterFunc(time.Second, func() { close(stop) })
		b.Wait(time.Time{}, nil, stop)
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("went on after %v", took)
		}
	})
}

// A sender waits while the inbox is full. When the loop ends, all senders are released.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := assemble(Options{})
		sent := make(chan bool, inboxSize+3)
		for range inboxSize + 3 {
			go func() { sent <- d.inbox.send(message{}, nil) }()
		}
		synctest.Wait()
		if len(sent) != inboxSize {
			t.Fatalf("%d messages were taken", len(sent))
		}
		d.inbox.take()
		d.inbox.take()
		synctest.Wait()
		if len(sent) != inboxSize+2 {
			t.Errorf("%d messages were taken after room was made for two", len(sent))
		}
		close(d.inbox.done)
		synctest.Wait()
		if len(sent) != inboxSize+3 {
			t.Error("somebody still waits for a loop that has ended")
		}
	})
}
