package server

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func TestAnUpdateArrivesWhole(t *testing.T) {
	b := queue()
	body, err := json.Marshal(job.Change{After: &[]job.Dependency{}, Begin: &time.Time{}, TimeLimit: new(job.Span(0))})
	if err != nil {
		t.Fatal(err)
	}
	status, reply := ask(testServer(b, nil), alice, "POST", "/v1/jobs/2/update", string(body))
	if status != 200 || len(b.Commands()) != 1 {
		t.Fatalf("%d %s", status, reply)
	}
	c := b.Commands()[0].Command
	if c.Kind != job.CommandUpdate || c.Job != 2 || c.Change.After == nil || len(*c.Change.After) != 0 || !c.Change.Begin.IsZero() || *c.Change.TimeLimit != 0 || c.Change.Name != nil {
		t.Errorf("%+v %+v", c, c.Change)
	}
}

func TestBadUpdatesAreRefused(t *testing.T) {
	for _, body := range []string{``, `{}`, `{"priority":"highest"}`, `{"time_limit_seconds":-5}`, `{"gpu_milli":5}`, `{"after":[{"kind":"later","job":1}]}`, `{"user":"root"}`} {
		b := queue()
		if _, reply := ask(testServer(b, nil), alice, "POST", "/v1/jobs/2/update", body); refusal(t, reply).Code != api.CodeUsage || len(b.Commands()) > 0 {
			t.Errorf("%s: %s", body, reply)
		}
	}
}

func TestHoldAndRelease(t *testing.T) {
	b := queue()
	s := testServer(b, nil)
	do := func(p peer, verb string) (int, string) { return ask(s, p, "POST", "/v1/jobs/2/"+verb, "") }
	status, body := do(operator, "hold")
	if j := readJob(t, status, body); j.HeldBy != "operator" || j.Why != "held by operator" {
		t.Errorf("%+v", j)
	}
	if status, body = do(alice, "release"); refusal(t, body).Code != api.CodeForbidden {
		t.Errorf("the owner released an administrator's hold: %d %s", status, body)
	}
	if status, body = do(alice, "hold"); readJob(t, status, body).HeldBy != "operator" {
		t.Errorf("the owner's hold replaced an administrator's: %d %s", status, body)
	}
	status, body = do(root, "release")
	if j := readJob(t, status, body); j.HeldBy != "" {
		t.Errorf("%+v", j)
	}
	v := &b.View.Jobs[1]
	v.Held, v.HeldOver = "alice", true // held by an administrator who has the owner's name
	if status, body = do(alice, "release"); refusal(t, body).Code != api.CodeForbidden {
		t.Errorf("the owner released the hold of another of that name: %d %s", status, body)
	}
}
