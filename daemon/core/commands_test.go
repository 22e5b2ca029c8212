package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

var alice = job.Actor{UID: 1001, User: "alice"}

// queue returns a world in which n jobs of one person wait, and an array behind them.
func queue(t *testing.T, n int) (w *world, ids []job.ID, array job.ID) {
	t.Helper()
	w = newWorld(1, t.Logf)
	w.step(w.listed(), -1)
	submit := func(r job.Request) job.ID {
		r.Hold = true
		s := job.Submission{Owner: job.Owner{UID: alice.UID, User: alice.User}, Label: job.Label{Name: "j"}, Request: r}
		eff := w.core.Step(core.Submit{Token: 1, Submission: s}, w.now)
		if eff.Replies[0].Refusal != nil {
			t.Fatal(eff.Replies[0].Refusal)
		}
		return eff.Replies[0].ID
	}
	for range n {
		ids = append(ids, submit(job.Request{}))
	}
	return w, ids, submit(job.Request{Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}}})
}

func (w *world) many(ids []job.ID, c job.Change) []job.Outcome {
	var list []job.Command
	for _, id := range ids {
		list = append(list, job.Command{Kind: job.CommandUpdate, Job: id, Change: &c})
	}
	return w.core.Step(core.Commands{Token: 2, Who: alice, List: list}, w.now).Replies[0].Each
}

// A command that makes a job wait for an array does not search the other jobs. If it did, a few
// such commands would reach the bound on the work of a step.
func TestWaitingForAnArraySearchesNoOtherJob(t *testing.T) {
	w, ids, array := queue(t, 2500)
	after := []job.Dependency{{Kind: job.AfterAny, Job: array}}
	each := w.many(ids[:500], job.Change{After: &after})
	for i, o := range each {
		if o.Refusal != nil {
			t.Fatalf("%d: %v", i, o.Refusal)
		}
	}
	if len(each) != 500 {
		t.Errorf("%d of 500 in a step", len(each))
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
}

// The number of expensive commands that a step executes is bounded. Here each command makes a job
// wait for the last job of a chain. Commands that only change a name are not bounded.
func TestExpensiveCommandsAreCutShort(t *testing.T) {
	w, ids, _ := queue(t, 2000)
	chain := ids[1000:]
	for i, id := range chain[1:] {
		after := []job.Dependency{{Kind: job.AfterAny, Job: chain[i]}}
		if each := w.many([]job.ID{id}, job.Change{After: &after}); each[0].Refusal != nil {
			t.Fatal(each[0].Refusal)
		}
	}
	after := []job.Dependency{{Kind: job.AfterAny, Job: chain[len(chain)-1]}}
	for left, steps := ids[:500], 0; len(left) > 0; steps++ {
		each := w.many(left, job.Change{After: &after})
		if n := len(each); n == 0 || n > 250 || steps > 5 {
			t.Fatalf("%d of %d in step %d", n, len(left), steps)
		}
		for _, o := range each {
			if o.Refusal != nil {
				t.Fatal(o.Refusal)
			}
		}
		left = left[len(each):]
	}
	name := "x"
	if each := w.many(ids, job.Change{Name: &name}); len(each) != len(ids) {
		t.Errorf("%d of %d are named", len(each), len(ids))
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
}
