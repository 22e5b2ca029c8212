package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// The record of an array stays small. It lists the cancelled tasks as ranges, and the number of
// ranges is bounded. At the bound, neighbours of cancelled tasks and the whole array can still be
// cancelled.
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
			t.Fatalf("run %d is refused: %s", i, refusal)
		}
	}
	if refusal := cancel(new(3 * job.MaxDrops)); refusal == nil || refusal.Kind() != job.RefusedPolicy {
		t.Errorf("run %d: %+v", job.MaxDrops, refusal)
	}
	if refusal := cancel(new(1)); refusal != nil {
		t.Errorf("a neighbour is refused: %s", refusal)
	}
	if refusal := cancel(nil); refusal != nil || w.core.Counts()[job.Queued] != 0 {
		t.Errorf("the array: %+v", refusal)
	}
}

// A task's record leaves out what the task shares with its array. A restart restores that.
func TestRestoredTaskGetsItsArray(t *testing.T) {
	a := &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}, Limit: 1, Params: []job.Param{{Name: "p", Values: []string{"a", "b", "c", "d"}}}}
	owner := job.Owner{UID: 1001, User: "alice"}
	array := job.Job{ID: 1, Owner: owner, Label: job.Label{Name: "j"}, Request: job.Request{Array: a}, State: job.Queued, Life: job.Life{Tasks: &job.Tasks{Next: 1, Live: 1}}}
	task := job.Job{ID: 2, Owner: owner, Label: job.Label{Name: "j"}, State: job.Running, Attempt: &job.Attempt{Number: 1, BootID: "boot"}, Life: job.Life{Task: &job.Task{Array: 1}}}
	c := core.New(newWorld(1, func(string, ...any) {}).policy, "boot", job.Restored{NextID: 3, Jobs: []job.Job{array, task}})
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	active := c.Active()
	if len(active) != 1 || active[0].Request.Array != a {
		t.Errorf("the task is %+v", active)
	}
}
