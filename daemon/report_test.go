package daemon

import (
	"fmt"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// A line about a job says why its state is what it is.
func TestJobFieldsTellTheCause(t *testing.T) {
	at := &job.Attempt{Number: 2}
	back := &job.Attempt{Number: 2, Result: &job.Result{Outcome: job.Cancelled, Cause: job.StopRequeue, By: "bob"}}
	for want, j := range map[string]job.Job{
		"[job 7 state queued uid 1 user ada]":                                                      {State: job.Queued},
		"[job 7 state running uid 1 user ada attempt 2 gpu -]":                                     {State: job.Running, Attempt: at},
		"[job 7 state ending uid 1 user ada attempt 2 gpu - stop preempt]":                         {State: job.Ending, Attempt: at, Life: job.Life{StopOrder: job.StopOrder{Stop: job.StopPreempt}}},
		"[job 7 state queued uid 1 user ada attempt 2 gpu - result sent back to the queue by bob]": {State: job.Queued, Attempt: back},
		"[job 7 state cancelled uid 1 user ada task 3_1 attempt 2 gpu - result cancelled by bob]":  {State: job.Cancelled, Attempt: back, Life: job.Life{Task: &job.Task{Array: 3, Index: 1}}, Result: &job.Result{Outcome: job.Cancelled, By: "bob"}},
	} {
		j.ID, j.Owner.UID, j.Owner.User = 7, 1, "ada"
		if got := fmt.Sprint(jobFields(&j)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
