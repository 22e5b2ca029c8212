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

// Nor by many small things: a job that is written in three bytes takes more than a thousand.
func TestAnAnswerIsBoundedInWhatItHas(t *testing.T) {
	list := func(n int, of string) *Client {
		return there(t, func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"jobs":[%s]}`, strings.TrimSuffix(strings.Repeat(of+",", n), ","))
		})
	}
	if got, err := list(1000, "{}").List(t.Context(), ListQuery{}); err != nil || len(got.Jobs) != 1000 {
		t.Errorf("%d jobs, %v", len(got.Jobs), err)
	}
	for _, of := range []string{"{}", "null", "1", "[]"} {
		var e *Error
		if _, err := list(leastItems+70_000, of).List(t.Context(), ListQuery{}); !errors.As(err, &e) || e.Message != "the scheduler at a answers with more than can be held" {
			t.Errorf("%s: %v", of, err)
		}
	}
	for text, want := range map[string]int{
		`{"a":[1,2,{"b":[3,4]}],"c":"[,,,","d":["\\",",","\",["]}`: 3 + 2 + 3, `[]`: 0, `[[],[]]`: 2, `{"a":1,"b":2}`: 0, `[[[`: 2, `]]],`: 0, ``: 0, `["`: 1,
	} {
		if got := items([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
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
}

// Whatever a daemon answers about its jobs and GPUs, they are named as they are typed here.
func TestEveryAnswerOfAnotherMachineIsSigned(t *testing.T) {
	result := &Result{Sentence: "stopped to make room for job 3"}
	j := Job{ID: 2, Host: "not that", Why: "behind job 1", Reasons: []Reason{{Sentence: "held by job 1"}}, Result: result}
	gpu := GPU{GPU: job.GPU{Shares: []job.GPUShare{{Job: 8, Called: "7_3"}}}, StateDetail: "something of job 4"}
	c := there(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/gpus":
			answer(w, GPUsReply{GPUs: []GPU{gpu}})
		case "/v1/health":
			answer(w, HealthReply{Checks: []job.Check{{Name: "job 12", Detail: "no end of job 12"}}})
		case "/v1/history":
			answer(w, HistoryReply{Jobs: []PastJob{{Job: j}}})
		case "/v1/plan":
			answer(w, PlanReply{GPUs: []GPUPlan{{Spans: []Span{{Called: "7_3"}, {Detail: "what job 5 left"}}}}})
		case "/v1/events":
			answer(w, Event{Number: 1, Called: "9", Sentence: "job 9 ended", Result: result})
		case "/v1/jobs":
			answer(w, ListReply{Jobs: []Job{j}, Hosts: []HostAnswer{{Host: "another"}}})
		default:
			answer(w, JobReply{
				Job: j, Attempts: []Attempt{{Result: result}}, Results: &Results{Tasks: []TaskGroup{{Sentence: "behind job 6"}}},
				Queue: &Queue{Ahead: []Ahead{{Called: "1", Sentence: "behind job 6"}}},
			})
		}
	})
	ctx := t.Context()
	one, err := c.Why(ctx, "2")
	list, err2 := c.List(ctx, ListQuery{})
	gpus, err3 := c.GPUs(ctx)
	health, err4 := c.Health(ctx)
	past, err5 := c.History(ctx, HistoryQuery{})
	plan, err6 := c.Plan(ctx, 0)
	events, err7 := c.Recent(ctx, 0)
	if err := errors.Join(err, err2, err3, err4, err5, err6, err7); err != nil || len(events) != 1 {
		t.Fatal(err, events)
	}
	for got, want := range map[*string]string{
		&one.Job.Host: "a", &one.Job.Why: "behind job a:1", &one.Job.Reasons[0].Sentence: "held by job a:1",
		&one.Job.Result.Sentence: "stopped to make room for job a:3", &one.Attempts[0].Result.Sentence: "stopped to make room for job a:3",
		&one.Results.Tasks[0].Sentence: "behind job a:6", &one.Queue.Ahead[0].Called: "a:1", &one.Queue.Ahead[0].Sentence: "behind job a:6",
		&list.Jobs[0].Host: "a", &list.Hosts[0].Host: "a",
		&gpus.GPUs[0].Host: "a", &gpus.GPUs[0].Shares[0].Called: "a:7_3", &gpus.GPUs[0].StateDetail: "something of job a:4",
		&health.Checks[0].Name: "job a:12", &health.Checks[0].Detail: "no end of job a:12",
		&past.Jobs[0].Host: "a", &past.Jobs[0].Result.Sentence: "stopped to make room for job a:3",
		&plan.GPUs[0].Spans[0].Called: "a:7_3", &plan.GPUs[0].Spans[1].Called: "", &plan.GPUs[0].Spans[1].Detail: "what job a:5 left",
		&events[0].Called: "a:9", &events[0].Sentence: "job a:9 ended", &events[0].Result.Sentence: "stopped to make room for job a:3",
	} {
		if *got != want {
			t.Errorf("%q, want %q", *got, want)
		}
	}
}

// What an answer calls a job can be asked about: a machine is not asked for jobs by its own name.
func TestQuestionsTakeTheNamesOfAnswers(t *testing.T) {
	var asked []string
	c := there(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.String()+string(body))
		switch r.URL.Path {
		case "/v1/commands":
			answer(w, ManyPart{Done: true})
		default:
			if r.URL.Query().Get("form") != "ids" {
				answer(w, struct{}{})
			}
		}
	})
	ctx := t.Context()
	_, err := c.Results(ctx, "a:7_3")
	_, err2 := c.Cancel(ctx, "a:7", CancelRequest{})
	_, err3 := c.List(ctx, ListQuery{IDs: "a:1,a:2-3,4"})
	_, err4 := c.IDs(ctx, ListQuery{IDs: "a:1"})
	_, err5 := c.History(ctx, HistoryQuery{IDs: "a:1,b:2"})
	err6 := c.Many(ctx, ManyRequest{Command: job.CommandHold, Jobs: []string{"a:1", "7_3"}}, func(ManyPart) {})
	got := strings.Join(asked, "\n")
	want := "/v1/jobs/7_3?results=1\n/v1/jobs/7/cancel{}\n/v1/jobs?ids=1%2C2-3%2C4\n/v1/jobs?form=ids&ids=1\n/v1/history?ids=1%2Cb%3A2\n" +
		`/v1/commands{"command":"hold","jobs":["1","7_3"]}`
	if err := errors.Join(err, err2, err3, err4, err5, err6); err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
}

// What another machine calls its jobs is typed, and piped into commands: it can't name one of a third machine.
func TestAnotherMachineNamesItsOwnJobsAlone(t *testing.T) {
	for text, want := range map[string]string{
		"12": "12", "7_3": "7_3", "": "?", "a:1": "?", "1\nb:2": "?", "1 b:2": "?", "@": "?", "name:x": "?", "-1": "?", "7_": "?", "_3": "?", "7_3_1": "?", "1,2": "?",
	} {
		if got := named(text); got != want {
			t.Errorf("%q is called %q", text, got)
		}
	}
	c := there(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("form") == "ids":
			fmt.Fprint(w, "1\nb:2\n")
		case r.URL.Query().Get("form") == "owners":
			fmt.Fprint(w, "1 5\nb:2 5\n")
		default:
			answer(w, ListReply{Jobs: []Job{{ID: 1, Task: &Task{Name: "1\nb:2"}}}, GPUs: []GPU{{GPU: job.GPU{Shares: []job.GPUShare{{Called: "1,b:2"}}}}}})
		}
	})
	list, err := c.List(t.Context(), ListQuery{})
	if err != nil || list.Jobs[0].Task.Name != "?" || list.GPUs[0].Shares[0].Called != "a:?" {
		t.Errorf("%+v, %v", list, err)
	}
	if lines, err := c.IDs(t.Context(), ListQuery{}); err == nil {
		t.Errorf("%q are names", lines)
	}
	if ids, _, err := c.Takes(t.Context(), ListQuery{}, job.CommandCancel); err == nil {
		t.Errorf("%q are names", ids)
	}
}
