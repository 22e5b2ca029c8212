package daemon_test

import (
	"errors"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
)

// An array whose dependency can no longer be met ends after its last task, and stays on record
// until then. If the array were forgotten earlier, its tasks would have no parent, which could stop
// the scheduler.
func TestArrayWithUnmeetableDependency(t *testing.T) {
	r := newRig(t, 1, nil)
	array := r.submit(1, func(s *job.Submission) {
		s.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}, Limit: 1}
	})
	task := array + 1
	r.runs(task)
	held := r.submit(0, func(s *job.Submission) { s.Request.Hold = true })
	alice := job.Actor{UID: 1001, User: "alice"}
	after := []job.Dependency{{Kind: job.AfterOK, Job: held}}
	for _, c := range []job.Command{{Kind: job.CommandUpdate, Job: array, Change: &job.Change{After: &after}}, {Kind: job.CommandCancel, Job: held}} {
		if err := r.d.Do(t.Context(), alice, c); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.store.Forget(t.Context(), store.History{Age: time.Nanosecond}, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d jobs are forgotten: %v", n, err)
	}
	if s := r.state(array); s != job.Spawned {
		t.Errorf("the array is %s while its task runs", s)
	}
	r.bus.Exit(units.Name(int64(task)), 0)
	if v := r.wait(task); v.State != job.Completed {
		t.Errorf("its task is %s", v.State)
	}
	if v := r.wait(array); v.State != job.Cancelled || words.Say(v.Result.Detail) != "job "+held.String()+" was cancelled, so --after-ok "+held.String()+" can never be met" {
		t.Errorf("it ended as %+v", v.Result)
	}
}

// A record that can never be written stops the daemon, as a damaged state file does. The next
// daemon has everything that was acknowledged and all running jobs, and accepts new jobs.
func TestRecordThatDoesNotFit(t *testing.T) {
	r := newRig(t, 2, nil)
	on, waits := r.submit(1, nil), r.submit(2, nil)
	r.runs(on)
	r.waitUntil("all is written", func() bool { return r.state(on) == job.Running })
	r.store.unfit.Store(true)
	var refusal *job.Refusal
	if _, err := r.d.Submit(t.Context(), submission(0), false); !errors.As(err, &refusal) || refusal.Kind() != job.RefusedUnavailable {
		t.Errorf("submit with a record that does not fit: %v", err)
	}
	if err := <-r.ended; !errors.Is(err, job.ErrInvalid) {
		t.Fatalf("the daemon ended: %v", err)
	}
	r.restart()
	if s := r.state(on); s != job.Running {
		t.Errorf("what ran is %s", s)
	}
	r.runs(r.submit(0, func(s *job.Submission) { s.Owner = job.Owner{UID: 1002, GID: 1002, User: "bob"} }))
	r.bus.Exit(units.Name(int64(on)), 0)
	r.runs(waits)
	if n := r.bus.Started(units.Name(int64(on))); n != 1 {
		t.Errorf("it was started %d times", n)
	}
}
