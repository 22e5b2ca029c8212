package act

import (
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// In every output, array tasks that wait again are told apart from tasks that run.
func TestTasksThatWaitAgainAreToldFromRunningOnes(t *testing.T) {
	again := api.Job{ID: 7, State: job.Spawned, Why: "held by bob", Array: &api.Array{
		Spec: "0-3", Size: 4, Next: 4, Live: 3, Waiting: 2, WaitingTasks: "0-1", RunningTasks: "3"}}
	all, held := again, again
	all.Array = &api.Array{Spec: "0-1", Size: 2, Next: 2, Live: 2, Waiting: 2, WaitingTasks: "0-1"}
	held.Array = new(*again.Array)
	held.Array.Held = 2
	starts := api.Job{ID: 7, State: job.Spawned, Array: &api.Array{Spec: "0-1", Size: 2, Next: 2, Live: 2, RunningTasks: "0-1"}}
	for _, c := range []struct {
		j                   api.Job
		cell, state, others string
	}{
		{again, "2 waiting again, 1 running, 1 of 4 ended", "spawned", "; task 7_3 runs on"},
		{all, "2 waiting again", "spawned", ""},
		{held, "2 held, 1 running, 1 of 4 ended", "spawned (held)", "; task 7_3 runs on"},
		{starts, "2 running, all started", "spawned", "; tasks 7_[0-1] run on"},
	} {
		if got := cli.StateCell(c.j); got != c.cell {
			t.Errorf("list says %q, want %q", got, c.cell)
		}
		if got := c.j.StateWord(); got != c.state {
			t.Errorf("show says %q, want %q", got, c.state)
		}
		if got := othersRun(c.j); got != c.others {
			t.Errorf("who holds it is told %q, want %q", got, c.others)
		}
	}
}
