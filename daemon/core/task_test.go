package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// The record of an array stays small: only so many separate runs of tasks can
// be cancelled alone, but neighbours of these and the whole array still can.
func TestCancelledTasksAreBounded(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	s := job.Submission{
		Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"},
		Request: job.Request{Hold: true, Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 9999, Step: 1}}}},
	}
	w.core.Step(core.Submit{Submission: s}, w.now)
	cancel := func(task *int) *job.Refusal {
		what := job.Command{Kind: job.CommandCancel, Job: 1, Task: task}
		return w.core.Step(core.Command{Token: 1, Who: job.Actor{UID: 1001, User: "alice"}, What: what}, w.now).Replies[0].Refusal
	}
	for i := range job.MaxDrops {
		if refusal := cancel(new(3 * i)); refusal != nil {
			t.Fatalf("run %d is refused: %s", i, refusal.Message)
		}
	}
	if refusal := cancel(new(3 * job.MaxDrops)); refusal == nil || refusal.Kind != job.RefusedPolicy {
		t.Errorf("run %d: %+v", job.MaxDrops, refusal)
	}
	if refusal := cancel(new(1)); refusal != nil {
		t.Errorf("a neighbour is refused: %s", refusal.Message)
	}
	if refusal := cancel(nil); refusal != nil || w.core.Counts()[job.Queued] != 0 {
		t.Errorf("the array: %+v", refusal)
	}
}
