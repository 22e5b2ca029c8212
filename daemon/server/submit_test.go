package server

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func fullRequest() api.SubmitRequest {
	grace, requeue := int64(45), false
	return api.SubmitRequest{
		Key: "k", Name: "train", Comment: "c", Tags: map[string]string{"a": "b"},
		GPUMilli: 2000, GPUsFrom: []int{0, 1, 2}, GPUType: "a100", GPUMemBytes: 20 << 30, GPUVisible: "uuid",
		MemBytes: 32 << 30, CPUs: 8, TimeLimitSeconds: 7200, GraceSeconds: &grace, Priority: "high", Requeue: &requeue,
		MaxLoadPercent: 10, MaxUsedPercent: 20, Spread: true, OnTimeout: "requeue", WarnSignal: 10, WarnBeforeSeconds: 60,
		Preemptible: true, Retries: 3, BackoffSeconds: 5, Begin: noon, Hold: true,
		After: []api.Dependency{{Kind: "after-ok", Job: 1}}, Array: &api.ArrayWish{Spec: "0-9%2"}, Dedup: "d",
		Argv: [][]byte{[]byte("python"), {0xff, 'x'}}, EnvMode: "clean", Env: [][]byte{[]byte("A=b")}, Dir: []byte("/srv"), Umask: 0o27,
	}
}

func TestASubmissionIsTheRequestWithTheKernelsIdentity(t *testing.T) {
	b := queue()
	in := fullRequest()
	in.Dedup = "" // excluded by Array
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	me := peer{uid: os.Getuid(), gid: 1001, pid: os.Getpid(), seen: sinceBoot()}
	s := testServer(b, nil)
	s.processOf = processOf
	status, reply := ask(s, me, "POST", "/v1/jobs", string(body))
	if status != 200 || len(b.Submissions()) != 1 {
		t.Fatalf("%d %s", status, reply)
	}
	got := b.Submissions()[0]
	if len(got.Payload.Limits) != len(limitNames) {
		t.Errorf("%d limits came from the kernel, want %d", len(got.Payload.Limits), len(limitNames))
	}
	got.Payload.Limits = nil
	grace, requeue := 45*time.Second, false
	want := job.Submission{
		Key: "k", Owner: job.Owner{UID: me.uid, GID: 1001, User: testServer(b, nil).userName(me.uid)}, Admin: me.uid == 0,
		Label: job.Label{Name: "train", Comment: "c", Tags: map[string]string{"a": "b"}},
		Request: job.Request{GPUMilli: 2000, GPUsFrom: []int{0, 1, 2}, GPUType: "a100", GPUMemBytes: 20 << 30, GPUVisible: "uuid",
			MemBytes: 32 << 30, CPUs: 8, TimeLimit: 2 * time.Hour, Priority: job.Priority{Class: job.High},
			MaxLoadPercent: 10, MaxUsedPercent: 20, Spread: true, OnTimeout: job.TimeoutRequeue, WarnSignal: 10, WarnBefore: time.Minute,
			Preemptible: true, Retries: 3, Backoff: 5 * time.Second, Begin: noon, Hold: true,
			After: []job.Dependency{{Kind: job.AfterOK, Job: 1}}, Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}, Limit: 2},
			Shape: shapeOf(me.uid, []string{"python", "\xffx"}), Script: scriptOf(me.uid, []string{"python", "\xffx"})},
		Payload: job.Payload{Argv: []string{"python", "\xffx"}, EnvMode: job.EnvClean, Env: []string{"A=b"}, Dir: "/srv", Umask: 0o27},
		Grace:   &grace, Requeue: &requeue, GIDs: me.gids(),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if !strings.Contains(reply, `"id":3,"name":"train"`) {
		t.Errorf("reply %s", reply)
	}
}

// Every field of the request must reach the submission: a field that is added
// and not converted is found here.
func TestNoFieldOfARequestIsDropped(t *testing.T) {
	full := fullRequest()
	base, err := submission(full)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]bool{"DryRun": true, "GPUIDs": true} // an argument of its own; excluded by GPUsFrom
	typ := reflect.TypeOf(full)
	for i := range typ.NumField() {
		in := full
		field := reflect.ValueOf(&in).Elem().Field(i)
		if elsewhere[typ.Field(i).Name] {
			continue
		}
		if field.IsZero() {
			t.Errorf("%s is not set in fullRequest", typ.Field(i).Name)
		}
		field.SetZero()
		got, err := submission(in)
		if err != nil {
			t.Fatal(err)
		}
		if reflect.DeepEqual(got, base) {
			t.Errorf("%s makes no difference to the submission", typ.Field(i).Name)
		}
	}
}

func TestTimesNeverOverflow(t *testing.T) {
	for _, n := range []int64{-1 << 63, -1, 1<<63 - 1, 1 << 40} {
		in := fullRequest()
		in.Dedup = ""
		for name, field := range map[string]*int64{"time limit": &in.TimeLimitSeconds, "warning": &in.WarnBeforeSeconds, "back-off": &in.BackoffSeconds} {
			was := *field
			*field = n
			if sub, err := submission(in); err == nil && sub.Validate() == nil {
				t.Errorf("a %s of %d seconds is accepted", name, n)
			}
			*field = was
		}
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
