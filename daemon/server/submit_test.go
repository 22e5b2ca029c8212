package server

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/sandbox"
)

func fullRequest() api.SubmitRequest {
	grace, requeue := job.Span(45*time.Second), false
	return api.SubmitRequest{
		Key: "k", Label: job.Label{Name: "train", Comment: "c", Tags: map[string]string{"a": "b"}},
		Request: job.Request{
			GPUMilli: 2000, GPUsFrom: []int{0, 1, 2}, GPUType: "a100", GPUMemBytes: 20 << 30, GPUVisible: "uuid",
			MemBytes: 32 << 30, CPUs: 8, TimeLimit: job.Span(2 * time.Hour), Priority: job.Priority{Class: job.High},
			MaxLoadPercent: 10, MaxUsedPercent: 20, Spread: true, OnTimeout: job.TimeoutRequeue, WarnSignal: 10, WarnBefore: job.Span(time.Minute),
			Preemptible: true, Retries: 3, Backoff: job.Span(5 * time.Second), Begin: noon, Hold: true,
			After: []job.Dependency{{Kind: job.AfterOK, Job: 1}}, Dedup: "d",
			Grace: &grace, Requeue: &requeue, Array: &job.Array{Written: "0-9%2"},
		},
		Program: api.Program{Argv: api.Words{"python", "\xffx"}, EnvMode: "clean", Env: api.Words{"A=b"}, Dir: "/srv", Umask: 0o27,
			Setup: contract.Setup{Modules: []string{"cuda/12"}, Conda: "/c", Venv: "/v", Command: "source x"}},
	}
}

func TestASubmissionIsTheRequestWithTheKernelsIdentity(t *testing.T) {
	b := queue()
	in := fullRequest()
	in.Dedup = "" // not allowed together with Array
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	me := peer{uid: os.Getuid(), gid: 1001, pid: os.Getpid(), seen: sandbox.SinceBoot()}
	s := testServer(b, nil)
	s.processOf = newProcessOf()
	status, reply := ask(s, me, "POST", "/v1/jobs", string(body))
	if status != 200 || len(b.Submissions()) != 1 {
		t.Fatalf("%d %s", status, reply)
	}
	got := b.Submissions()[0]
	if len(got.Payload.Limits) != len(limitNames) {
		t.Errorf("%d limits came from the kernel, want %d", len(got.Payload.Limits), len(limitNames))
	}
	got.Payload.Limits = nil
	request := in.Request
	request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}, Limit: 2}
	request.Derived = job.Derived{Shape: shapeOf(me.uid, []string{"python", "\xffx"}), Script: scriptOf(me.uid, []string{"python", "\xffx"})}
	want := job.Submission{
		Key: "k", Owner: job.Owner{UID: me.uid, GID: 1001, User: testServer(b, nil).accounts.userName(me.uid)}, Admin: me.uid == 0,
		Label: in.Label, Request: request,
		Payload: job.Payload{Program: contract.Program{Argv: []string{"python", "\xffx"}, EnvMode: contract.EnvClean, Env: []string{"A=b"}, Dir: "/srv", Umask: 0o27, Setup: in.Setup}},
		GIDs:    me.gids(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !strings.Contains(reply, `"id":3,"name":"train"`) {
		t.Errorf("reply %s", reply)
	}
}

// A client asks for a brief answer in a header. The header has no other effect.
func TestBriefSubmission(t *testing.T) {
	for prefer, brief := range map[string]bool{"": false, api.PreferBrief: true, "wait=5": false, "wait=5, Return=Minimal": true} {
		b := queue()
		body := `{"name":"n","gpu_milli":1000,"argv":["dHJ1ZQ=="],"dir":"Lw=="}`
		r := httptest.NewRequest("POST", "/v1/jobs", strings.NewReader(body))
		r.Header.Set(api.PreferHeader, prefer)
		w := httptest.NewRecorder()
		testServer(b, nil).mux.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), peerKey{}, alice)))
		if w.Code != 200 || b.Submissions()[0].Brief != brief {
			t.Errorf("%q: %d, %+v", prefer, w.Code, b.Submissions())
		}
	}
}

// If a request sets fields that the daemon derives, they are ignored.
func TestDerivedFieldsAreIgnored(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	body := `{"name":"n","gpu_milli":1000,"argv":["dHJ1ZQ=="],"dir":"Lw==","derived":{"defaulted_mem":true,"implied_stop":true,"shape":"x","script":"x"}}`
	me := peer{uid: os.Getuid(), pid: os.Getpid(), seen: sandbox.SinceBoot()}
	s.processOf = newProcessOf()
	if status, reply := ask(s, me, "POST", "/v1/jobs", body); status != 200 {
		t.Fatalf("%d %s", status, reply)
	}
	want := job.Derived{Shape: shapeOf(me.uid, []string{"true"}), Script: scriptOf(me.uid, []string{"true"})}
	if got := b.Submissions()[0].Request.Derived; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTimesNeverOverflow(t *testing.T) {
	for _, n := range []string{"-9223372036854775808", "-1", "9223372036854775807", "1099511627776", "1e30", "99999999999999999999"} {
		for _, name := range []string{"time_limit_seconds", "warn_before_seconds", "backoff_seconds", "grace_seconds"} {
			body := `{"name":"n","gpu_milli":1000,"argv":["dHJ1ZQ=="],"dir":"Lw==","` + name + `":` + n + `}`
			if status, reply := ask(testServer(queue(), nil), alice, "POST", "/v1/jobs", body); status == 200 {
				t.Errorf("%s of %s seconds is accepted: %s", name, n, reply)
			}
		}
	}
}

// Durations are rounded up to whole seconds in requests and answers. Without the rounding, a job
// with a time limit of a nanosecond would be started again and again.
func TestTimesAreWholeSeconds(t *testing.T) {
	b := queue()
	body := `{"name":"n","gpu_milli":1000,"argv":["dHJ1ZQ=="],"dir":"Lw==","time_limit_seconds":1.5,"grace_seconds":0.000000001,` +
		`"warn_signal":10,"warn_before_seconds":0.5,"retries":1,"backoff_seconds":2}`
	if status, reply := ask(testServer(b, nil), alice, "POST", "/v1/jobs", body); status != 200 {
		t.Fatalf("%d %s", status, reply)
	}
	s, second := b.Submissions()[0], job.Span(time.Second)
	if r := s.Request; r.TimeLimit != 2*second || *r.Grace != second || r.WarnBefore != second || r.Backoff != 2*second {
		t.Errorf("%+v, grace %s", r, r.Grace)
	}
	c := job.Change{TimeLimit: new(second / 2)}
	if err := checkChange(&c); err != nil || *c.TimeLimit != second {
		t.Errorf("an update to half a second: %s, %v", c.TimeLimit, err)
	}
	text, err := json.Marshal(publicPart(job.Request{Grace: new(second * 3 / 2)}))
	if err != nil || !strings.Contains(string(text), `"grace_seconds":2,`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	_, body := ask(testServer(queue(), nil), alice, "POST", "/v1/jobs", `{"name":"","gpu_milli":505,"dir":"eA==","env_mode":"all"}`)
	e := refusal(t, body)
	for _, want := range []string{"--name", "--gpus", "--chdir", "--env", "no command"} {
		if !strings.Contains(e.Message, want) {
			t.Errorf("the answer does not mention %s: %s", want, e.Message)
		}
	}
}

func TestBadArraysAreRefused(t *testing.T) {
	many := `["` + strings.Repeat(`a","`, 999) + `b"]`
	for _, array := range []string{
		`{"spec":"a\nb"}`, `{"spec":"\u001b[31m"}`, `{"spec":"%0","params":[{"name":"p","values":["1"]}]}`, `{}`,
		`{"params":[{"name":"p","values":` + many + `},{"name":"q","values":` + many + `}]}`,
	} {
		body := `{"name":"n","gpu_milli":1000,"argv":["dHJ1ZQ=="],"dir":"Lw==","array":` + array + `}`
		status, reply := ask(testServer(queue(), nil), alice, "POST", "/v1/jobs", body)
		if status != 400 || refusal(t, reply).Code != api.CodeUsage {
			t.Errorf("%.60s: %d %s", array, status, reply)
		}
	}
}

func TestADryRunShowsTheUnit(t *testing.T) {
	b := queue()
	b.Unit = []job.Property{{Name: "MemoryMax", Value: "1073741824"}}
	in := fullRequest()
	in.DryRun, in.Dedup = true, ""
	body, _ := json.Marshal(in)
	status, reply := ask(testServer(b, nil), alice, "POST", "/v1/jobs", string(body))
	if status != 200 || !strings.Contains(reply, `"unit":[{"name":"MemoryMax","value":"1073741824"}]`) || len(b.View.Jobs) != 2 {
		t.Errorf("%d %s", status, reply)
	}
}

// A job that names no log gets the site's log. A job can also ask for no log.
func TestLogOfTheSite(t *testing.T) {
	for asked, want := range map[string]string{"": "/var/log/jobs/%j", "none": "", "./none": "./none"} {
		b := queue()
		s := testServer(b, nil)
		s.opt.Config().Jobs.Log = "/var/log/jobs/%j"
		in := api.SubmitRequest{
			Label: job.Label{Name: "x"}, Program: api.Program{Argv: api.Words{"x"}, Dir: "/", Log: contract.Log{Path: asked}},
		}
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		me := peer{uid: os.Getuid(), gid: 1001, pid: os.Getpid(), seen: sandbox.SinceBoot()}
		s.processOf = newProcessOf()
		if status, reply := ask(s, me, "POST", "/v1/jobs", string(body)); status != 200 {
			t.Fatalf("%d %s", status, reply)
		}
		if got := b.Submissions()[0].Payload.Log.Path; got != want {
			t.Errorf("%q: the log is %q, want %q", asked, got, want)
		}
	}
}
