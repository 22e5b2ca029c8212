package loopback

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// waiting are the connections that wait for their client: new ones, those whose request has not
// come whole, those between two requests, and those whose client has not read its answer. They
// cost a place each, and anybody can open many, so of more than most one is closed: the oldest of
// those between two requests, as a browser opens another when it needs one, or else the oldest of all.
type waiting struct {
	most int

	mu   sync.Mutex
	list []waiter // the oldest is first; no connection twice
}

type waiter struct {
	conn net.Conn
	idle bool // between two requests
}

// MakeRoom lets the oldest connections of a server that wait for their client make room, where
// there are more than most (invariant 2). It sets ConnState and ConnContext.
func MakeRoom(s *http.Server, most int) {
	w := &waiting{most: most}
	s.ConnState = w.state
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, connection{c, w})
	}
}

// state is told what becomes of a connection.
func (w *waiting) state(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew, http.StateIdle:
		w.add(waiter{c, now == http.StateIdle})
	case http.StateActive:
		w.ask(c)
	case http.StateClosed, http.StateHijacked:
		w.remove(c)
	}
}

// add closes the connection that makes room, if one has to.
func (w *waiting) add(c waiter) {
	w.remove(c.conn)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, c)
	if len(w.list) <= w.most {
		return
	}
	at := max(0, slices.IndexFunc(w.list, func(c waiter) bool { return c.idle }))
	w.list[at].conn.Close()
	w.list = slices.Delete(w.list, at, at+1)
}

// ask is told that a connection is between two requests no more.
func (w *waiting) ask(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if w.list[i].conn == c {
			w.list[i].idle = false
		}
	}
}

func (w *waiting) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(there waiter) bool { return there.conn == c })
}

type connKey struct{}

// connection is what requests know of theirs.
type connection struct {
	net.Conn
	waiting *waiting
}

// Hold keeps the connection of a request from making room while its client waits for us, until
// done is called: before the answer is written, as it waits for the client then.
func Hold(r *http.Request) (done func()) {
	c, ok := r.Context().Value(connKey{}).(connection)
	if !ok {
		return func() {}
	}
	c.waiting.remove(c.Conn)
	return func() { c.waiting.add(waiter{conn: c.Conn}) }
}

// Close closes the connection of a request, also while an answer is written that nobody reads.
func Close(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(connection); ok {
		c.Conn.Close()
	}
}
