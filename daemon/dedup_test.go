package daemon_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units"
)

// A submission with --dedup that repeats an earlier job is skipped.
// Once that job's record has been forgotten, the submission runs as a new job.
func TestDedupOfAForgottenJob(t *testing.T) {
	r := newRig(t, 1, nil)
	same := submission(1)
	same.Request.Dedup = "content"
	out, err := r.d.Submit(t.Context(), same, false)
	if err != nil {
		t.Fatal(err)
	}
	r.runs(out.ID)
	r.bus.Exit(units.Name(int64(out.ID)), 0)
	if v := r.wait(out.ID); v.State != job.Completed {
		t.Fatalf("it is %s", v.State)
	}
	if again, err := r.d.Submit(t.Context(), same, false); err != nil || !again.Known || again.ID != out.ID {
		t.Errorf("while it is on record: %+v, %v", again, err)
	}
	if n, err := r.store.Forget(t.Context(), store.History{Age: time.Second}, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Fatalf("%d jobs are forgotten: %v", n, err)
	}
	next, err := r.d.Submit(t.Context(), same, false)
	if err != nil || next.Known || next.ID == out.ID {
		t.Fatalf("once it is forgotten: %+v, %v", next, err)
	}
	if again, err := r.d.Submit(t.Context(), same, false); err != nil || !again.Known || again.ID != next.ID {
		t.Errorf("beside that one: %+v, %v", again, err)
	}
}

// A new account may get the uid of a removed account. The new account's submissions are never
// answered with the removed account's jobs, even if the request key is the same.
func TestTheRequestsOfAnotherAccount(t *testing.T) {
	r := newRig(t, 1, nil)
	s := submission(1)
	s.Request.Dedup, s.Key = "content", "its-key"
	out, err := r.d.Submit(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	r.runs(out.ID)
	r.bus.Exit(units.Name(int64(out.ID)), 0)
	r.wait(out.ID)
	s.Owner.User = "liam"
	var refused *job.Refusal
	if again, err := r.d.Submit(t.Context(), s, false); !errors.As(err, &refused) || refused.Code != "conflict/key" {
		t.Errorf("by the key: %+v, %v", again, err)
	}
	s.Key = ""
	if next, err := r.d.Submit(t.Context(), s, false); err != nil || next.Known || next.ID == out.ID {
		t.Errorf("by --dedup: %+v, %v", next, err)
	}
}
