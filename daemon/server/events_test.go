package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// backendWithEvents returns a backend with n events.
func backendWithEvents(n int) *servertest.Backend {
	b := queue()
	for i := range n {
		b.Announce(job.Event{Kind: job.EventStarted, Job: job.ID(i + 1), Called: fmt.Sprint(i + 1), Name: "train", User: "alice", UID: new(1001), State: job.Running, Attempt: 1, GPUs: []int{0, 1}})
	}
	return b
}

// shortForm returns the events of an answer in a short form.
func shortForm(t *testing.T, body string) string {
	t.Helper()
	var list []string
	for line := range strings.Lines(body) {
		var e api.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Schema != api.Schema || e.Kind == "" {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, fmt.Sprintf("%s %d", e.Kind, e.Number))
	}
	return strings.Join(list, ", ")
}

func TestPastEventsAreAnswered(t *testing.T) {
	for path, want := range map[string]string{
		"since=2&follow=0":  "position 2, job-started 3, job-started 4, job-started 5",
		"since=0&follow=0":  "position 1, job-started 2, job-started 3, job-started 4, job-started 5", // event 1 is no longer kept
		"since=5&follow=0":  "position 5",
		"":                  "position 5",
		"since=1&follow=0":  "position 1, job-started 2, job-started 3, job-started 4, job-started 5",
		"since=99&follow=0": "position 99, gap 5",
	} {
		status, body := ask(testServer(backendWithEvents(5), nil), bob, "GET", "/v1/events?"+path, "")
		if got := shortForm(t, body); status != http.StatusOK || got != want {
			t.Errorf("%s: %d %s, want %s", path, status, got, want)
		}
	}
	b := backendWithEvents(6)
	if _, body := ask(testServer(b, nil), bob, "GET", "/v1/events?since=1&follow=0", ""); shortForm(t, body) != "position 1, gap 6" {
		t.Error(body)
	}
	for _, path := range []string{"since=x", "since=-1", "follow=yes", "user=bob"} {
		status, body := ask(testServer(b, nil), bob, "GET", "/v1/events?"+path, "")
		if status != http.StatusBadRequest || refusal(t, body).Code != api.CodeUsage {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	b.Fail = job.Refuse("unavailable/stopping")
	if status, body := ask(testServer(b, nil), bob, "GET", "/v1/events", ""); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", status, body)
	}
}

func TestAnEventOnTheWire(t *testing.T) {
	b := queue()
	b.Announce(
		job.Event{Kind: job.EventEnded, Job: 9, Called: "7_3", Name: "sweep", User: "1001", UID: new(1001), State: job.Failed, Attempt: 2, GPUs: []int{1}, Result: &job.ShownResult{Result: job.Result{Outcome: job.Failed, ExitCode: 3}}},
		job.Event{Kind: job.EventGPU, GPU: &job.GPUNews{Index: 0, UUID: "GPU-a", InService: true}},
		job.Event{Kind: job.EventGPU, GPU: &job.GPUNews{Index: 0, UUID: "GPU-a", State: job.GPUPaused}, By: "root", Why: job.Text("fan")},
		job.Event{Kind: job.EventDrain, On: new(false), By: "root"},
	)
	_, body := ask(testServer(b, nil), bob, "GET", "/v1/events?since=0&follow=0", "")
	_, body, _ = strings.Cut(body, "\n")
	const at = `"time":"2026-03-01T12:00:00Z",`
	want := `{"schema":"gpusched.v1","number":1,` + at + `"event":"job-ended","job":9,"called":"7_3","name":"sweep","user":"alice","uid":1001,"state":"failed","attempt":2,"gpus":[1],"result":{"outcome":"failed","exit_code":3,"code":3,"sentence":"failed: exit code 3"},"sentence":"job 7_3 (sweep) of alice has ended: failed: exit code 3"}
{"schema":"gpusched.v1","number":2,` + at + `"event":"gpu-changed","gpu":{"index":0,"uuid":"GPU-a","in_service":true},"sentence":"GPU 0 is in service"}
{"schema":"gpusched.v1","number":3,` + at + `"event":"gpu-changed","by":"root","gpu":{"index":0,"uuid":"GPU-a","in_service":false,"state":"paused"},"why":{"text":"fan"},"sentence":"GPU 0 is paused by root: fan"}
{"schema":"gpusched.v1","number":4,` + at + `"event":"drain","by":"root","on":false,"sentence":"jobs may start again"}
`
	if body != want {
		t.Errorf("%s\nwant\n%s", body, want)
	}
}

// follow reads the events from a connection as they arrive, in the form of shortForm.
func follow(t *testing.T, socket, words string) (next func() string) {
	t.Helper()
	resp, err := overSocket(socket).Get("http://x/v1/events?" + words)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewReader(resp.Body)
	return func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return shortForm(t, line)
	}
}

// The server sends an event when the event is announced. A stop of the server ends the answer and
// frees the places of the connections.
func TestFollowing(t *testing.T) {
	b := backendWithEvents(2)
	s := testServer(b, nil)
	socket, stop := listen(t, s)
	next, other := follow(t, socket, "follow=1"), follow(t, socket, "follow=1&since=1")
	for _, want := range []string{"position 2"} {
		if got := next(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	b.Announce(job.Event{Kind: job.EventSettings})
	if got := next(); got != "settings 3" {
		t.Error(got)
	}
	if got := other() + ", " + other() + ", " + other(); got != "position 1, job-started 2, settings 3" {
		t.Error(got)
	}
	if s.limits.followers.count() != 2 || s.limits.waits.count() != 2 || s.limits.requests.Keys() != 0 {
		t.Errorf("%d follow, %d wait, turns of %d", s.limits.followers.count(), s.limits.waits.count(), s.limits.requests.Keys())
	}
	if err := stop(); err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if got := next(); got != io.EOF.Error() {
		t.Error(got)
	}
	waitUntil(t, func() bool { return s.limits.followers.count() == 0 && s.limits.waits.count() == 0 })
}

func TestFollowersAreBounded(t *testing.T) {
	s := testServer(backendWithEvents(1), nil)
	for range maxUserFollowers {
		s.limits.followers.enter(bob.uid)
	}
	w := reply(s, bob, "GET", "/v1/events?follow=1", "")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get(retryAfter) == "" || s.limits.waits.count() != 0 {
		t.Errorf("%d %s, %d wait", w.Code, w.Body, s.limits.waits.count())
	}
	if status, _ := ask(s, bob, "GET", "/v1/events", ""); status != http.StatusOK {
		t.Errorf("what there is: %d", status)
	}
	for s.limits.followers.enter(s.limits.followers.count() + 5000) {
	}
	if w := reply(s, alice, "GET", "/v1/events?follow=1", ""); w.Code != http.StatusServiceUnavailable || s.limits.followers.count() != maxFollowers {
		t.Errorf("one of all too many: %d, %d follow", w.Code, s.limits.followers.count())
	}
}

// A pausedWriter records what a handler writes. Its reader can stop.
type pausedWriter struct {
	http.ResponseWriter
	lines  chan string
	header http.Header
}

func (w pausedWriter) Header() http.Header              { return w.header }
func (w pausedWriter) SetWriteDeadline(time.Time) error { return nil }
func (w pausedWriter) FlushError() error                { return nil }
func (w pausedWriter) Write(b []byte) (int, error) {
	w.lines <- string(b)
	return len(b), nil
}

// If there is no event, the server sends the current number again, to show that the connection
// works. A client that reads too slowly gets a gap and is disconnected. Other clients do not wait.
func TestSlowFollowersAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := backendWithEvents(1)
		s := testServer(b, nil)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := pausedWriter{lines: make(chan string), header: http.Header{}}
		hr, _ := http.NewRequestWithContext(context.WithValue(ctx, peerKey{}, bob), "GET", "/v1/events?follow=1", nil)
		done := make(chan bool)
		go func() { s.mux.ServeHTTP(w, hr); close(done) }()
		if got := shortForm(t, <-w.lines); got != "position 1" {
			t.Error(got)
		}
		at := time.Now()
		if got := shortForm(t, <-w.lines); got != "position 1" || time.Since(at) != aliveTime {
			t.Errorf("%s after %v", got, time.Since(at))
		}
		b.Announce(job.Event{Kind: job.EventSettings})
		synctest.Wait() // now a line is being written, and nobody reads it
		for range 9 {
			b.Announce(job.Event{Kind: job.EventSettings})
		}
		if got := shortForm(t, <-w.lines); got != "settings 2" {
			t.Error(got)
		}
		if got := shortForm(t, <-w.lines); got != "gap 11" {
			t.Error(got)
		}
		<-done
		if s.limits.followers.count() != 0 {
			t.Error("its place is not given back")
		}
	})
}
