package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// A short command ends, and systemd signals its end, before the answer to its start arrives. That
// answer shows the unit as it was before the end.
func TestEndsBeforeItsStartIsKnown(t *testing.T) {
	w := newWorld(1, t.Logf)
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.settle()
	w.step(core.Submit{Token: 1, Submission: job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}}}, -1)
	if len(w.pending) != 1 {
		t.Fatalf("%d actions", len(w.pending))
	}
	started := w.answer(0)
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.step(started, -1)
	w.settle()
	if j := w.jobs[1]; j.State != job.Completed {
		t.Errorf("the job is %s", j.State)
	}
}
