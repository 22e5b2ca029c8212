package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/netutil"

	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
)

// servePage serves a page without a scheduler until the test ends. Clients have no time limits.
func servePage(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	hs, w := newServer(&api.Client{Socket: filepath.Join(t.TempDir(), "none")})
	hs.ReadHeaderTimeout, hs.ReadTimeout = 0, 0 // no connection times out
	hs.WriteTimeout, hs.IdleTimeout = 0, 0
	go func() { done <- serve(ctx, l, hs, w, 0) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// This dialer has small buffers. If a client does not read, the server's writes therefore block
// soon.
var narrow = net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
	}); e != nil {
		return e
	}
	return err
}}

// Invariant 5: a client that opens many connections and keeps them does not lock other clients out,
// whatever it sends and whether or not it reads the answers.
func TestHeldConnectionsMakeRoom(t *testing.T) {
	const icon = "GET /icon.svg HTTP/1.1\r\nHost: localhost\r\n\r\n"
	many := func(request string) string {
		return strings.Repeat(request+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400)
	}
	for what, c := range map[string]struct {
		said string
		read bool
	}{
		"nothing asked":        {"", false},
		"half a request":       {"GET /icon.svg HTTP/1.1\r\nHost:", false},
		"between two requests": {icon, true},
		"files not read":       {many("GET /style.css"), false},
		"refusals not read":    {many("DELETE /style.css"), false},
		"the page not read":    {many("GET /"), false},
	} {
		address := servePage(t)
		for range 2*maxConns + 44 {
			conn, err := narrow.DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			if _, err := io.WriteString(conn, c.said); err == nil && c.read {
				if reply, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					_, _ = io.Copy(io.Discard, reply.Body)
				}
			}
		}
		client := http.Client{Timeout: time.Minute, Transport: &http.Transport{}}
		for range 3 {
			begin := time.Now()
			reply, err := client.Get("http://" + address + "/icon.svg")
			if err != nil {
				t.Fatalf("%s: the page gives no answer after %s: %v", what, time.Since(begin), err)
			}
			reply.Body.Close()
			client.CloseIdleConnections()
		}
	}
}

// Invariant 5: a connection takes one place, even if it sends many requests that have no handler.
// If there are too many connections, one that waits for its next request is closed, rather than a
// new one.
func TestOneConnectionHasOnePlace(t *testing.T) {
	address := servePage(t)
	var conns [2]net.Conn
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", address); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close()
		_ = conns[i].SetDeadline(time.Now().Add(time.Minute))
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
}

// pipes is a listener whose connections have no buffer: a write blocks until the other side reads.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.closed); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p pipes) ask(what string) *bufio.Reader {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		_, _ = io.WriteString(near, what+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	case <-p.closed:
		near.Close()
	}
	return bufio.NewReader(near)
}

// Invariant 5: a stream that is not read is replaced at once.
func TestStreamThatIsNotReadMakesRoom(t *testing.T) {
	client := &api.Client{Socket: filepath.Join(t.TempDir(), "none")}
	s := newSite(newWatcher((&source{client: client}).everything, askInterval), client, "lab")
	s.streams.most = 1
	l := pipes{make(chan net.Conn), make(chan struct{})}
	srv := &http.Server{Handler: s}
	loopback.MakeRoom(srv, maxWaiting)
	go srv.Serve(netutil.LimitListener(l, 2)) //nolint:errcheck // it ends with the test
	defer srv.Close()
	l.ask("GET /live")
	for joined := 0; joined == 0; time.Sleep(time.Millisecond) {
		s.streams.mu.Lock()
		joined = len(s.streams.list)
		s.streams.mu.Unlock()
	}
	second := l.ask("GET /live")
	answered := make(chan error, 1)
	go func() {
		_, err := http.ReadResponse(l.ask("GET /icon.svg"), nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a stream that nobody reads keeps its place")
	}
	if _, err := http.ReadResponse(second, nil); err != nil {
		t.Errorf("the second stream: %v", err)
	}
}
