package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// there is a client of a daemon that Dial leads to.
func there(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	near := daemon(t, h)
	return &Client{Host: "a", Dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", near.Socket)
	}}
}

func TestAnswersOfAnotherMachineBearItsName(t *testing.T) {
	c := there(t, func(w http.ResponseWriter, r *http.Request) {
		one := []Job{{ID: 1, Host: "not that"}}
		gpus := []GPU{{GPU: job.GPU{UUID: "g"}}}
		switch r.URL.Path {
		case "/v1/jobs":
			if r.Method == methodPost {
				answer(w, SubmitReply{Job: one[0]})
				return
			}
			answer(w, ListReply{Jobs: one, GPUs: gpus})
		case "/v1/status":
			answer(w, StatusReply{Running: one, Waiting: one, GPUs: gpus})
		case "/v1/gpus":
			answer(w, GPUsReply{GPUs: gpus})
		case "/v1/commands":
			answer(w, ManyPart{Jobs: one, Done: true})
		default:
			answer(w, JobReply{Job: one[0]})
		}
	})
	ctx := t.Context()
	list, _ := c.List(ctx, ListQuery{})
	status, _ := c.Status(ctx)
	gpus, _ := c.GPUs(ctx)
	reply, _ := c.Job(ctx, "1")
	submitted, _ := c.Submit(ctx, SubmitRequest{Key: "k"})
	var part ManyPart
	err := c.Many(ctx, ManyRequest{}, func(p ManyPart) { part = p })
	for i, got := range []string{
		list.Jobs[0].Host, list.GPUs[0].Host, status.Running[0].Host, status.Waiting[0].Host, status.GPUs[0].Host, gpus.GPUs[0].Host,
		reply.Job.Host, submitted.Job.Host, part.Jobs[0].Host,
	} {
		if got != "a" || err != nil {
			t.Errorf("%d: %q, %v", i, got, err)
		}
	}
}

// Nothing of a request has been sent where there was no connection; where there was one, nobody knows.
func TestErrorsOfWhatConnects(t *testing.T) {
	refused := &Error{Code: CodeUnreachable, Message: "no key", Hint: "get one"}
	asked := 0
	for name, c := range map[string]struct {
		dial func() (net.Conn, error)
		want string
		sent bool
	}{
		"refused": {func() (net.Conn, error) { return nil, refused }, "no key (get one)", false},
		"plain":   {func() (net.Conn, error) { return nil, io.ErrNoProgress }, "it cannot be reached: " + io.ErrNoProgress.Error(), false},
		"ends": {func() (net.Conn, error) {
			mine, its := net.Pipe()
			go func() { _, _ = its.Read(make([]byte, 1000)); its.Close() }()
			return mine, nil
		}, "the connection ended without an answer", true},
		"says why": {func() (net.Conn, error) { return lost{}, nil }, "no key (get one)", true},
	} {
		asked = 0
		client := &Client{Host: "a", Dial: func(context.Context) (net.Conn, error) { asked++; return c.dial() }}
		_, err := client.Status(t.Context())
		var e *Error
		if !errors.As(err, &e) || err.Error() != c.want || e.sent != c.sent || asked != 1 {
			t.Errorf("%s: %v, sent %v, asked %d times", name, err, e != nil && e.sent, asked)
		}
	}
}

// lost takes a request and then says why it has ended.
type lost struct{ net.Conn }

func (lost) Write(p []byte) (int, error) { return len(p), nil }
func (lost) Read([]byte) (int, error) {
	return 0, fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, &Error{Code: CodeUnreachable, Message: "no key", Hint: "get one"})
}
func (lost) Close() error { return nil }

// Of many machines none can have the client hold what it likes.
func TestAnAnswerIsBounded(t *testing.T) {
	long := there(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"version":%q}`, strings.Repeat("x", 5<<20))
	})
	if _, err := long.Version(t.Context()); err != nil {
		t.Errorf("5 MB: %v", err)
	}
	bounded := there(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"version":%q}`, strings.Repeat("x", 5<<20))
	})
	bounded.MaxReply = 4 << 20
	var e *Error
	if _, err := bounded.Version(t.Context()); !errors.As(err, &e) || e.Message != "the scheduler at a answers with more than 4 MiB" {
		t.Errorf("more than it may: %v", err)
	}
}

// What a daemon says of its jobs names them as they are typed here; nothing else with a number is changed.
func TestSentencesOfAnotherMachineNameItsJobs(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"held by job 1":                     "held by job a:1",
		"held by job 7_3 (of bob)":          "held by job a:7_3 (of bob)",
		"held by jobs 1, 7_3 and 12":        "held by jobs a:1, a:7_3 and a:12",
		"held by jobs 1, 2 and 3 more":      "held by jobs a:1, a:2 and 3 more",
		"alice has 4 jobs running, as many": "alice has 4 jobs running, as many",
		"kept for job 9, which is before this one; 2 of 4 GPUs": "kept for job a:9, which is before this one; 2 of 4 GPUs",
		"waits until job 1 completes and job 2 ends":            "waits until job a:1 completes and job a:2 ends",
		"job 5":                 "job a:5",
		"no job is ahead":       "no job is ahead",
		"of gpujob 5":           "of gpujob 5",
		"jobs without a GPU, 3": "jobs without a GPU, 3",
		"job":                   "job", "jobs ": "jobs ", "jobs 1": "jobs a:1", "jobs 1, x": "jobs a:1, x",
	} {
		if got := NameJobs("a", text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	c := there(t, func(w http.ResponseWriter, r *http.Request) {
		j := Job{ID: 2, Why: "behind job 1", Reasons: []Reason{{Sentence: "held by job 1"}}, Result: &Result{Sentence: "stopped to make room for job 3"}}
		shares := []job.GPUShare{{Job: 1}, {Job: 8, Called: "7_3"}}
		if r.URL.Path == "/v1/gpus" {
			answer(w, GPUsReply{GPUs: []GPU{{GPU: job.GPU{Shares: shares}, StateDetail: "something of job 4"}}})
			return
		}
		answer(w, JobReply{Job: j, Queue: &Queue{Ahead: []Ahead{{Called: "1", Sentence: "behind job 6"}}}})
	})
	reply, err := c.Why(t.Context(), "2")
	j := reply.Job
	if err != nil || j.Why != "behind job a:1" || j.Reasons[0].Sentence != "held by job a:1" || j.Result.Sentence != "stopped to make room for job a:3" ||
		reply.Queue.Ahead[0].Called != "a:1" || reply.Queue.Ahead[0].Sentence != "behind job a:6" {
		t.Errorf("%+v, %v", reply, err)
	}
	gpus, err := c.GPUs(t.Context())
	if err != nil || gpus.GPUs[0].Shares[0].Called != "a:1" || gpus.GPUs[0].Shares[1].Called != "a:7_3" || gpus.GPUs[0].StateDetail != "something of job a:4" {
		t.Errorf("%+v, %v", gpus, err)
	}
}
