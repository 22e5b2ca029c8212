package server

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// waitUntil lets other goroutines run until ok returns true, or until the test's time limit.
func waitUntil(t *testing.T, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal("gave up")
		}
		runtime.Gosched()
	}
}

func (g *connLimiter) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

func TestWaitAnswersWhenTheJobEnds(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	socket, _ := listen(t, s)
	got := make(chan string, 1)
	go func() { got <- get(socket, "/v1/jobs/1/wait") }()
	waitUntil(t, func() bool { return s.limits.waits.count() == 1 })
	b.End(1, job.Result{Outcome: job.Failed, ExitCode: 3})
	if body := <-got; !strings.Contains(body, `"state":"failed"`) || !strings.Contains(body, `"code":3`) {
		t.Errorf("%s", body)
	}
	waitUntil(t, func() bool { return s.limits.waits.count() == 0 })
}

func get(socket, path string) string {
	resp, err := overSocket(socket).Get("http://x" + path)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

func TestWaitGivesUp(t *testing.T) {
	status, body := ask(testServer(queue(), nil), bob, "GET", "/v1/jobs/1/wait?timeout_seconds=0", "")
	if status != http.StatusRequestTimeout || refusal(t, body).Code != api.CodeWaitTimeout {
		t.Errorf("%d %s", status, body)
	}
	status, body = ask(testServer(queue(), nil), bob, "GET", "/v1/jobs/99/wait", "")
	if status != http.StatusNotFound || refusal(t, body).Code != api.CodeNotFound {
		t.Errorf("%d %s", status, body)
	}
}

// A server that stops does not wait for the jobs that its clients wait for.
func TestStoppingEndsLongPolls(t *testing.T) {
	s := testServer(queue(), nil)
	socket, stop := listen(t, s)
	got := make(chan string, 1)
	go func() { got <- get(socket, "/v1/jobs/1/wait?timeout_seconds=600") }()
	waitUntil(t, func() bool { return s.limits.waits.count() == 1 })
	if err := stop(); err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if e := refusal(t, <-got); e.Code != api.CodeUnavailable {
		t.Errorf("%+v", e)
	}
}

// Invariant 4: if a client leaves, its wait no longer counts.
func TestAbandonedWaitsEnd(t *testing.T) {
	s := testServer(queue(), nil)
	socket, _ := listen(t, s)
	c := hold(t, socket)
	io.WriteString(c, "GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n\r\n")
	waitUntil(t, func() bool { return s.limits.waits.count() == 1 })
	c.Close()
	waitUntil(t, func() bool { return s.limits.waits.count() == 0 })
}

func TestWaitsAreBoundedPerUser(t *testing.T) {
	s := testServer(queue(), nil)
	for range config.Default().Limits.UserWaits {
		s.limits.waits.enter(bob.uid)
	}
	w := reply(s, bob, "GET", "/v1/jobs/1/wait?timeout_seconds=0", "")
	if w.Code != http.StatusServiceUnavailable || refusal(t, w.Body.String()).Code != api.CodeUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w.Header().Get("Connection") != "close" || w.Header().Get(retryAfter) == "" {
		t.Errorf("who is turned away keeps the place: %v", w.Header())
	}
	if status, _ := ask(s, alice, "GET", "/v1/jobs/1/wait?timeout_seconds=0", ""); status != http.StatusRequestTimeout {
		t.Errorf("another user's wait: %d", status)
	}
}

// A client can ask to wait until the journal has everything that a job printed. The answer says
// whether the journal has everything.
func TestWaitSaysWhetherAllIsPrinted(t *testing.T) {
	for want, printed := range map[string]func(context.Context) error{
		`"printed":true`: func(context.Context) error { return nil }, "": func(context.Context) error { return io.EOF },
	} {
		b := queue()
		b.End(1, job.Result{Outcome: job.Completed})
		s := testServer(b, nil)
		s.opt.Printed = printed
		socket, _ := listen(t, s)
		if body := get(socket, "/v1/jobs/1?printed=1"); !strings.Contains(body, want) || want == "" && strings.Contains(body, "printed") {
			t.Errorf("%q: %s", want, body)
		}
		if body := get(socket, "/v1/jobs/1"); strings.Contains(body, "printed") {
			t.Errorf("nobody asked: %s", body)
		}
	}
}
