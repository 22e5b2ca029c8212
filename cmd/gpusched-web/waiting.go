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
// can open many, so of more than most the oldest is closed; a browser opens another.
type waiting struct {
	most int

	mu   sync.Mutex
	list []net.Conn // the oldest is first
}

// state is told what becomes of a connection.
func (w *waiting) state(c net.Conn, now http.ConnState) {
	switch now {
	case http.StateNew, http.StateIdle:
		if oldest := w.add(c); oldest != nil {
			oldest.Close()
		}
	case http.StateClosed, http.StateHijacked:
		w.remove(c)
	}
}

func (w *waiting) add(c net.Conn) (over net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, c)
	if len(w.list) <= w.most {
		return nil
	}
	over = w.list[0]
	w.list = slices.Delete(w.list, 0, 1)
	return over
}

func (w *waiting) remove(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := slices.Index(w.list, c); at >= 0 {
		w.list = slices.Delete(w.list, at, at+1)
	}
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
