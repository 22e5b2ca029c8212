package daemon_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestTrialsHoldUpNobody: one person asks for trials all the time, on many connections. If other
// people ask for a trial, they wait for at most one of that person's trials. Everything else is
// answered at once.
func TestTrialsHoldUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, nil)
		r.runs(r.submit(1, nil))
		id := r.submit(1, nil)
		r.waitUntil("the other waits", func() bool {
			e, err := r.d.Explain(t.Context(), id, 0, true)
			return err == nil && e.Tried > 0
		})
		r.d.TrialsTurn() <- struct{}{} // a trial that takes long
		const hostile, victim = 1, 2
		var theirs atomic.Int64
		for range 20 {
			go func() {
				for t.Context().Err() == nil {
					r.d.Explain(t.Context(), id, hostile, true)
					theirs.Add(1)
				}
			}()
		}
		synctest.Wait()
		if n := r.d.Trying(); n != 1 || theirs.Load() > 0 {
			t.Errorf("of %d persons one waits for its turn, and %d trials are over", n, theirs.Load())
		}
		if _, err := r.d.Query(t.Context(), job.Query{Reasons: true}); err != nil {
			t.Error(err)
		}
		if _, err := r.d.Course(t.Context()); err != nil {
			t.Error(err)
		}
		if e, err := r.d.Explain(t.Context(), id, victim, false); err != nil || e.Tried != 0 {
			t.Errorf("what is before it: %d tried (%v)", e.Tried, err)
		}
		answered := false
		go func() {
			if e, err := r.d.Explain(t.Context(), id, victim, true); err != nil || e.Tried == 0 {
				t.Errorf("%d tried (%v)", e.Tried, err)
			}
			answered = true
		}()
		synctest.Wait()
		go func() { r.d.TrialsTurn() <- struct{}{} }() // this caller waits behind the two persons
		synctest.Wait()
		<-r.d.TrialsTurn()
		synctest.Wait() // the last caller has the turn
		if !answered || theirs.Load() != 1 {
			t.Errorf("answered: %t, after %d trials of who asks over and over, of whom one was before it", answered, theirs.Load())
		}
	})
}

// TestTrialsOfNobody: for a job that does not wait for room, no change is tried.
func TestTrialsOfNobody(t *testing.T) {
	r := newRig(t, 1, nil)
	running := r.submit(1, nil)
	r.runs(running)
	held := r.submit(1, func(s *job.Submission) { s.Request.Hold = true })
	for _, id := range []job.ID{running, held, 99} {
		if e, err := r.d.Explain(t.Context(), id, 1, true); err != nil || e.Tried > 0 || len(e.Ahead) > 0 {
			t.Errorf("job %d: %+v (%v)", id, e, err)
		}
	}
}
