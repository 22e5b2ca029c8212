package loopback

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// A waitList lists the connections that wait for their client: new connections, connections with an
// incomplete request, connections between two requests, and connections whose client has not read
// its answer. A client can open many connections. If the list exceeds the limit, the oldest
// connection between two requests is closed, because a browser reopens it when needed. If no
// connection is between two requests, the oldest connection is closed.
type waitList struct {
	most int

	mu   sync.Mutex
	list []waiter // oldest first, each connection once
}

type waiter struct {
	conn net.Conn
	idle bool // between two requests
}

// MakeRoom sets the maximum number of connections that wait for their client. If more connections
// wait, the server closes some of them (invariant 2). MakeRoom sets ConnState and ConnContext of
// the server.
func MakeRoom(s *http.Server, most int) {
	w := &waitList{most: most}
	s.ConnState = w.recordState
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, connection{c, w})
	}
}

// recordState records a state change of a connection.
func (w *waitList) recordState(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew, http.StateIdle:
		w.add(waiter{c, now == http.StateIdle})
	case http.StateActive:
		w.beginRequest(c)
	case http.StateClosed, http.StateHijacked:
		w.remove(c)
	}
}

// add adds a connection. If there are then too many, it closes one.
func (w *waitList) add(c waiter) {
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

// beginRequest records that a connection has begun a request.
func (w *waitList) beginRequest(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.list {
		if w.list[i].conn == c {
			w.list[i].idle = false
		}
	}
}

func (w *waitList) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(there waiter) bool { return there.conn == c })
}

type connKey struct{}

// A connection is stored in the context of each request that arrives on it.
type connection struct {
	net.Conn
	waiting *waitList
}

// Hold protects the connection of a request from being closed while the server prepares the answer.
// The caller must call the returned function before writing the answer: from then on the connection
// waits for the client.
func Hold(r *http.Request) (done func()) {
	c, ok := r.Context().Value(connKey{}).(connection)
	if !ok {
		return func() {}
	}
	c.waiting.remove(c.Conn)
	return func() { c.waiting.add(waiter{conn: c.Conn}) }
}

// Close closes the connection of a request. It also works while the server writes an answer that
// the client does not read.
func Close(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(connection); ok {
		c.Conn.Close()
	}
}
