package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Invariant 6: a client sees an internal error only as a number.
func TestInternalErrorsArriveAsANumber(t *testing.T) {
	for name, breakIt := range map[string]func(*bytes.Buffer) *Server{
		"error": func(log *bytes.Buffer) *Server {
			b := queue()
			b.Fail = errors.New("disk path /var/lib/secret")
			return testServer(b, log)
		},
		"panic": func(log *bytes.Buffer) *Server {
			b := queue()
			b.Panic = true
			return testServer(b, log)
		},
	} {
		var log bytes.Buffer
		status, body := ask(breakIt(&log), root, "GET", "/v1/jobs", "")
		e := refusal(t, body)
		id := strings.TrimPrefix(e.Message, "internal error ")
		if status != 500 || e.Code != api.CodeInternal || len(id) != 8 || strings.Contains(body, "secret") {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "id="+id) {
			t.Errorf("%s: the log does not have id %s: %s", name, id, log.String())
		}
	}
}

func TestRefusalsKeepTheirCode(t *testing.T) {
	for _, kind := range []job.RefusalKind{job.RefusedUsage, job.RefusedNotFound, job.RefusedForbidden, job.RefusedNever,
		job.RefusedPolicy, job.RefusedConflict, job.RefusedUnavailable} {
		b := queue()
		b.Fail = &job.Refusal{Message: job.Message{Code: job.Code(kind) + "/m", Text: "m"}}
		status, body := ask(testServer(b, nil), root, "GET", "/v1/jobs", "")
		e := refusal(t, body)
		if string(e.Code) != string(kind) || e.Message != "m" || status != e.Code.HTTPStatus() {
			t.Errorf("%s: %d %s", kind, status, body)
		}
	}
}

// Invariant 4: one user's connections cannot use up the places of others.
func TestConnectionsAreBounded(t *testing.T) {
	s := testServer(queue(), nil)
	s.limits.conns = newConnLimiter(bounds(100, 2))
	socket, _ := listen(t, s)
	var held []net.Conn
	for range 2 {
		held = append(held, hold(t, socket))
	}
	third, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	resp, err := http.ReadResponse(bufio.NewReader(third), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get(retryAfter) == "" || refusal(t, string(body)).Code != api.CodeUnavailable {
		t.Fatalf("%d %s %v", resp.StatusCode, body, err)
	}
	held[0].Close()
	waitUntil(t, func() bool { return s.limits.conns.count() == 1 })
	hold(t, socket).Close()
}

// hold opens a connection and makes one request, so that the connection has been accepted.
func hold(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, "GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("hold a connection: %v %v", resp, err)
	}
	return c
}

func bounds(most, perUID int) func() (int, int) { return func() (int, int) { return most, perUID } }

func TestGate(t *testing.T) {
	g := newConnLimiter(bounds(3, 2))
	steps := []struct {
		uid  int
		want bool
	}{{1, true}, {1, true}, {1, false}, {2, true}, {3, false}, {0, true}, {0, true}, {0, false}}
	for i, s := range steps {
		if got := g.enter(s.uid); got != s.want {
			t.Errorf("step %d: enter(%d) = %v", i, s.uid, got)
		}
	}
	for _, uid := range []int{1, 1, 2, 0, 0} {
		g.release(uid)
	}
	if g.total != 0 || len(g.held) != 0 {
		t.Errorf("after all have left: %d, %v", g.total, g.held)
	}
}

// Even if some users have as many places as they can get, a user who has none gets a place.
func TestGateLeavesPlaces(t *testing.T) {
	g := newConnLimiter(bounds(1024, 96))
	for uid := range 40 {
		for range 96 {
			g.enter(1000 + uid)
		}
	}
	for range fewPlaces {
		if !g.enter(5000) {
			t.Errorf("of 1024 places %d are taken, %d by the first user, and another one has %d", g.total, g.held[1000], g.held[5000])
		}
	}
	if g.held[1000] != 96 {
		t.Errorf("the first user has %d", g.held[1000])
	}
}

// pipeListener gives the server one connection, which uses the clock of the synctest bubble.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// Invariant 4: a client loses its place if it sends its header,
// its body or its next request slowly, or not at all.
func TestSlowClientsAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		sent  string
		until time.Duration
	}{
		"header":                    {"GET /v1/version HT", headerTime},
		"body":                      {"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", bodyTime},
		"body of a refused request": {"POST /v1/gpus/0/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", bodyTime},
		"body of a GET":             {"GET /v1/version HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{", bodyTime},
		"idle":                      {"GET /v1/version HTTP/1.1\r\nHost: x\r\n\r\n", idleTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hs := testServer(queue(), nil).httpServer()
				hs.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
					return context.WithValue(ctx, peerKey{}, alice)
				}
				l := &pipeListener{conns: make(chan net.Conn, 1), done: make(chan struct{})}
				client, end := net.Pipe()
				l.conns <- end
				go hs.Serve(l)
				defer hs.Close()
				start := time.Now()
				go io.WriteString(client, c.sent)
				io.Copy(io.Discard, client) // returns when the server closes
				if took := time.Since(start); took < c.until || took > c.until+time.Second {
					t.Errorf("cut off after %s, want %s", took, c.until)
				}
			})
		})
	}
}

func TestAHugeHeaderIsRefused(t *testing.T) {
	socket, _ := listen(t, testServer(queue(), nil))
	r, _ := http.NewRequest("GET", "http://x/v1/version", nil)
	r.Header.Set("X", strings.Repeat("x", 64<<10))
	resp, err := overSocket(socket).Do(r)
	if err == nil && resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", resp.StatusCode)
	}
}

// A request that is cut off is not carried out, and its status is never 200.
func TestACutOffRequestIsNotAnsweredWith200(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), peerKey{}, alice))
	cancel()
	b.Fail = context.Canceled
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest("POST", "/v1/jobs/1/cancel", strings.NewReader("{}")).WithContext(ctx))
	if w.Code != http.StatusRequestTimeout || len(b.Commands()) > 0 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
