package loopback

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"time"
)

// Invariant 2: a connection counts once, and idle connections are closed first. A connection whose
// request is being answered is not closed.
func TestMakeRoom(t *testing.T) {
	s := &http.Server{}
	MakeRoom(s, 2)
	var conns, far [5]net.Conn
	for i := range conns {
		conns[i], far[i] = net.Pipe()
	}
	open := func() (n int) {
		for i := range far {
			_ = far[i].SetReadDeadline(time.Unix(1, 0))
			if _, err := far[i].Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				n |= 1 << i
			}
		}
		return n
	}
	asks := func(i int) *http.Request {
		s.ConnState(conns[i], http.StateActive)
		return new(http.Request).WithContext(s.ConnContext(context.Background(), conns[i]))
	}
	for i, step := range []struct {
		do   func()
		open int
	}{
		{func() { s.ConnState(conns[0], http.StateNew) }, 0b11111},
		{func() { s.ConnState(conns[1], http.StateIdle) }, 0b11111},
		{func() { s.ConnState(conns[1], http.StateIdle) }, 0b11111},
		{func() { s.ConnState(conns[2], http.StateNew) }, 0b11101}, // connection 1 is idle and is closed
		{func() { done := Hold(asks(0)); s.ConnState(conns[3], http.StateNew); done() }, 0b11001},
		{func() { s.ConnState(conns[0], http.StateIdle); asks(0) }, 0b11001},
		{func() { s.ConnState(conns[4], http.StateNew) }, 0b10001}, // connection 0 is being served, so 3 is closed
		{func() { Close(asks(0)) }, 0b10000},
	} {
		step.do()
		if got := open(); got != step.open {
			t.Fatalf("step %d: %05b are open, want %05b", i, got, step.open)
		}
	}
	Hold(&http.Request{})() // the server of this request does not use MakeRoom
	Close(&http.Request{})
}
