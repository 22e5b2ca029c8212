package daemon_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

func (n *noteRecorder) open(ctx context.Context, id job.ID, uid int) error {
	if n.hang {
		return errors.New("it does not answer")
	}
	return n.tell(ctx, id, uid, "open")
}

// A running job's owner can run commands in the job's unit, through a process in that unit.
// Requests by others, or for a job that does not run, are refused.
func TestOpen(t *testing.T) {
	r := newRig(t, 1, func(string, []units.Property) unittest.Behaviour { return unittest.Behaviour{} })
	id := r.submit(1, nil)
	r.waitUntil("it runs", func() bool { return r.state(id) == job.Running })
	waits := r.submit(1, nil)
	alice, bob := job.Actor{UID: 1001, User: "alice"}, job.Actor{UID: 1002, User: "bob"}
	open := func(who job.Actor, id job.ID) job.RefusalKind {
		t.Helper()
		err := r.d.Do(t.Context(), who, job.Command{Kind: job.CommandOpen, Job: id})
		var refusal *job.Refusal
		switch {
		case err == nil:
			return "done"
		case !errors.As(err, &refusal):
			t.Fatal(err)
		}
		return refusal.Kind()
	}
	for _, c := range []struct {
		who  job.Actor
		id   job.ID
		want job.RefusalKind
	}{
		{bob, id, job.RefusedForbidden}, {alice, waits, job.RefusedConflict}, {alice, 99, job.RefusedNotFound}, {alice, id, "done"},
	} {
		if got := open(c.who, c.id); got != c.want {
			t.Errorf("%s, job %d: %s, want %s", c.who.User, c.id, got, c.want)
		}
	}
	if got := r.told.all(); !slices.Equal(got, []string{units.Name(int64(id)) + ": open"}) {
		t.Errorf("%q", got)
	}
	r.told.hang = true
	if got := open(alice, id); got != job.RefusedConflict {
		t.Errorf("a unit that does not answer: %s", got)
	}
	if err := r.d.Do(t.Context(), alice, job.Command{Kind: job.CommandCancel, Job: id}); err != nil {
		t.Fatal(err)
	}
	r.wait(id)
	if got := open(alice, id); got != job.RefusedConflict {
		t.Errorf("a job that has ended: %s", got)
	}
}
