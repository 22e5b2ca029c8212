package client

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// becomes waits, for a minute at most, until a job is as it should be.
func (r rig) becomes(t *testing.T, id, what string, is func(j *api.Job) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		reply, err := r.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if is(&reply.Job) {
			return
		}
		_, _ = r.Wait(t.Context(), id, 100*time.Millisecond) // it gives others time
	}
	t.Fatalf("job %s is not %s", id, what)
}

// conformRunning: a job that runs is joined, suspended where its user may do that, and queued again.
func conformRunning(t *testing.T, r rig) {
	ctx := t.Context()
	j := r.ask(t, "runs", nil, "sleep", "600")
	id := j.ID.String()
	r.begin(j.ID)
	r.becomes(t, id, "running", func(j *api.Job) bool { return j.State == job.Running })
	if reply, err := r.Open(ctx, id); err != nil || reply.Job.ID != j.ID {
		t.Errorf("open: %+v %v", reply.Job, err)
	}
	_, err := r.Hold(ctx, id)
	refused(t, "hold of one that runs", err, api.CodeConflict)
	_, err = r.Release(ctx, id)
	refused(t, "release of one that runs", err, api.CodeConflict)
	_, err = r.Resume(ctx, id)
	refused(t, "resume of one that runs", err, api.CodeConflict)
	reply, err := r.Suspend(ctx, id)
	if r.lacks { // for administrators
		refused(t, "suspend", err, api.CodeForbidden)
	} else if err != nil || reply.Job.SuspendedAt.IsZero() {
		t.Errorf("suspended: %+v %v", reply.Job, err)
	} else if reply, err = r.Resume(ctx, id); err != nil || !reply.Job.SuspendedAt.IsZero() {
		t.Errorf("resumed: %+v %v", reply.Job, err)
	}
	if reply, err = r.Requeue(ctx, id); err != nil || reply.Job.State.Terminal() {
		t.Errorf("queued again: %+v %v", reply.Job, err)
	}
	r.becomes(t, id, "queued again", func(j *api.Job) bool { return j.Requeues == 1 && !j.State.Terminal() })
	if _, err = r.Cancel(ctx, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

// conformRefusals: what only the scheduler of a machine has is answered by that, and refused by any other engine with
// what to do instead. Many jobs are held in one request there, and one after the other by whoever asks here.
func conformRefusals(t *testing.T, r rig) {
	ctx := t.Context()
	id := r.ask(t, "many", inAnHour, "true").ID.String()
	for what, ask := range map[string]func() error{
		"past by option": func() error { _, err := r.History(ctx, api.HistoryQuery{Attempts: true}); return err },
		"many": func() error {
			return r.Many(ctx, api.ManyRequest{Command: job.CommandHold, Jobs: []string{id, id}}, func(api.ManyPart) {})
		},
	} {
		if err := ask(); r.lacks {
			refused(t, what, err, api.CodeUsage)
		} else if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := r.Cancel(ctx, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}
