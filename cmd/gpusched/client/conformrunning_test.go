package client

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// becomes waits, for up to a minute, until a condition on a job is true. The error message contains
// the description.
func (r rig) becomes(t *testing.T, id, description string, ok func(j *api.Job) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		reply, err := api.Show(t.Context(), r.Engine, id, api.JobQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if ok(&reply.Job) {
			return
		}
		_, _ = api.Wait(t.Context(), r.Engine, id, 100*time.Millisecond) // used as a short pause
	}
	t.Fatalf("job %s is not %s", id, description)
}

// conformRunning checks that a running job can be entered and requeued. If the engine lets users
// suspend jobs, it also checks that the job can be suspended.
func conformRunning(t *testing.T, r rig) {
	ctx := t.Context()
	j := r.ask(t, "runs", nil, "sleep", "600")
	id := j.ID.String()
	r.begin(j.ID)
	r.becomes(t, id, "running", func(j *api.Job) bool { return j.State == job.Running })
	if reply, err := api.ActOnJob(ctx, r.Engine, api.RouteOpen, id, nil); err != nil || reply.Job.ID != j.ID {
		t.Errorf("open: %+v %v", reply.Job, err)
	}
	_, err := api.ActOnJob(ctx, r.Engine, api.RouteHold, id, nil)
	checkCode(t, "hold of one that runs", err, api.CodeConflict)
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteRelease, id, nil)
	checkCode(t, "release of one that runs", err, api.CodeConflict)
	_, err = api.ActOnJob(ctx, r.Engine, api.RouteResume, id, nil)
	checkCode(t, "resume of one that runs", err, api.CodeConflict)
	reply, err := api.ActOnJob(ctx, r.Engine, api.RouteSuspend, id, nil)
	if r.lacks { // only administrators may suspend
		checkCode(t, "suspend", err, api.CodeForbidden)
	} else if err != nil || reply.Job.SuspendedAt.IsZero() {
		t.Errorf("suspended: %+v %v", reply.Job, err)
	} else if reply, err = api.ActOnJob(ctx, r.Engine, api.RouteResume, id, nil); err != nil || !reply.Job.SuspendedAt.IsZero() {
		t.Errorf("resumed: %+v %v", reply.Job, err)
	}
	if reply, err = api.ActOnJob(ctx, r.Engine, api.RouteRequeue, id, nil); err != nil || reply.Job.State.Terminal() {
		t.Errorf("queued again: %+v %v", reply.Job, err)
	}
	r.becomes(t, id, "queued again", func(j *api.Job) bool { return j.Requeues == 1 && !j.State.Terminal() })
	if _, err = api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{}); err != nil {
		t.Error(err)
	}
}

// conformRefusals checks that other engines refuse requests that only this machine's scheduler
// supports, with a hint. It also checks that one request can hold many jobs on either engine.
func conformRefusals(t *testing.T, r rig) {
	ctx := t.Context()
	one, two := r.ask(t, "many", inAnHour, "true").ID.String(), r.ask(t, "many", inAnHour, "true").ID.String()
	if _, err := api.History(ctx, r.Engine, api.HistoryQuery{Attempts: true}); r.lacks {
		checkCode(t, "past by option", err, api.CodeUsage)
	} else if err != nil {
		t.Errorf("past by option: %v", err)
	}
	var held, not []string
	err := api.Many(ctx, r.Engine, api.ManyRequest{Command: job.CommandHold, Jobs: []string{one, "99999999", two}}, func(p api.ManyPart) {
		for _, j := range p.Jobs {
			if held = append(held, j.ID.String()); j.HeldBy == "" {
				t.Errorf("not held: %+v", j)
			}
		}
		for _, x := range p.Refused {
			not = append(not, x.Job+" "+string(x.Error.Code))
		}
	})
	if err != nil || !slices.Equal(held, []string{one, two}) || !slices.Equal(not, []string{"99999999 not-found"}) {
		t.Errorf("held %v, refused %v: %v", held, not, err)
	}
	for _, id := range held {
		if _, err := api.ActOnJob(ctx, r.Engine, api.RouteCancel, id, api.CancelRequest{}); err != nil {
			t.Error(err)
		}
	}
}
