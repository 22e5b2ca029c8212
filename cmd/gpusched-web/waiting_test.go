package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// Invariant 5: whoever opens many connections and keeps them, whatever was said on them,
// keeps nobody else from the page.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	for what, said := range map[string]string{
		"nothing asked": "", "half a request": "GET /icon.svg HTTP/1.1\r\nHost:", "between two requests": "GET /icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- serve(ctx, l, &api.Client{Socket: filepath.Join(t.TempDir(), "none")}, 0) }()
		for range 2*maxConns + 44 {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, said); err == nil && what == "between two requests" {
				if reply, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil {
					_, _ = io.Copy(io.Discard, reply.Body)
				}
			}
		}
		client := http.Client{Timeout: headerTime / 2, Transport: &http.Transport{}}
		for range 3 {
			begin := time.Now()
			reply, err := client.Get("http://" + l.Addr().String() + "/icon.svg")
			if err != nil {
				t.Fatalf("%s: the page gives no answer after %s: %v", what, time.Since(begin), err)
			}
			reply.Body.Close()
			client.CloseIdleConnections()
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Invariant 5: one connection has one place, however much is asked on it that the server
// answers by itself, and those between two requests go before those that are new.
func TestOneConnectionHasOnePlace(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, l, &api.Client{Socket: filepath.Join(t.TempDir(), "none")}, 0) }()
	var conns [2]net.Conn
	for i := range conns {
		if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		_ = conns[i].SetDeadline(time.Now().Add(headerTime / 2))
	}
	ask := func(c net.Conn, from *bufio.Reader, what string) {
		t.Helper()
		if _, err := io.WriteString(c, what+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		reply, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		_, _ = io.Copy(io.Discard, reply.Body)
	}
	from := bufio.NewReader(conns[1])
	for range maxWaiting + 2 {
		ask(conns[1], from, "OPTIONS *")
	}
	ask(conns[0], bufio.NewReader(conns[0]), "GET /icon.svg")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}

	w := &waiting{most: 2}
	var three [3]net.Conn
	for i := range three {
		three[i], _ = net.Pipe()
	}
	w.state(three[0], http.StateNew)
	w.state(three[1], http.StateIdle)
	w.state(three[1], http.StateIdle)
	w.state(three[2], http.StateNew)
	if len(w.list) != 2 || w.list[0].conn != three[0] || w.list[1].conn != three[2] {
		t.Errorf("%v wait", w.list)
	}
}
