package main

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// waiting are the connections on which no request is answered: new ones, those whose request
// has not come whole, and those between two requests. They cost a place each, and anybody
// can open many, so of more than most one is closed: the oldest of those between two
// requests, as a browser opens another when it needs one, or else the oldest of all.
type waiting struct {
	most int

	mu   sync.Mutex
	list []waiter // the oldest is first; no connection twice
}

type waiter struct {
	conn net.Conn
	idle bool // between two requests
}

// state is told what becomes of a connection.
func (w *waiting) state(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew, http.StateIdle:
		if over := w.add(waiter{c, now == http.StateIdle}); over != nil {
			over.Close()
		}
	case http.StateClosed, http.StateHijacked:
		w.remove(c)
	}
}

func (w *waiting) add(c waiter) (over net.Conn) {
	w.remove(c.conn) // it is there where the server itself answered what came on it
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, c)
	if len(w.list) <= w.most {
		return nil
	}
	at := max(0, slices.IndexFunc(w.list, func(c waiter) bool { return c.idle }))
	over = w.list[at].conn
	w.list = slices.Delete(w.list, at, at+1)
	return over
}

func (w *waiting) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = slices.DeleteFunc(w.list, func(there waiter) bool { return there.conn == c })
}

type connKey struct{}

// withConn has requests know their connection.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// answering takes the connection of a request off while that is answered.
func (w *waiting) answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			w.remove(c)
		}
		next.ServeHTTP(rw, r)
	})
}
