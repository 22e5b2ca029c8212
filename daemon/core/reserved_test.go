package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A GPU that is free now and reserved later is shown as free until the reservation begins. A GPU
// that a job holds is not shown as free.
func TestFreeUntilReserved(t *testing.T) {
	a := newAsker(t, 1, nil)
	from := a.now.Add(3 * time.Hour)
	a.reserveFor(3 * time.Hour)
	says := func(what, want string) {
		g := a.core.View(job.Query{}, a.now).GPUs[0]
		a.want(what, string(g.State)+": "+words.Say(g.StateDetail), want)
	}
	says("before", "free: until "+job.FormatMoment(from)+", then reserved for dora")
	long := a.submit("bob", whole(1), func(s *job.Submission) { s.Request.TimeLimit = job.Span(4 * time.Hour) })
	want := "GPU 0 is reserved (for dora from " + job.FormatMoment(from) + " to " + job.FormatMoment(from.Add(6*time.Hour+3*time.Hour)) + ")"
	a.want("why a long job waits", words.Why(a.reasons(long)), want)
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.TimeLimit = job.Span(2 * time.Hour) })
	says("while a job runs", "busy: ")
	a.waitAndSample(4 * time.Hour)
	if g := a.core.View(job.Query{}, a.now).GPUs[0]; words.Say(g.StateDetail) != "reserved for dora" {
		t.Errorf("while it lasts: %s", words.Say(g.StateDetail))
	}
}

// reasons returns why a job waits.
func (a *asker) reasons(id job.ID) []job.Reason {
	for _, v := range a.core.View(job.Query{Reasons: true}, a.now).Jobs {
		if v.ID == id {
			return v.Reasons
		}
	}
	a.Fatalf("job %d is not there", id)
	return nil
}
