package daemon_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// TestShutdown: in a reboot after which the kernel's boot id is the same, systemd stops the units
// of jobs before the daemon's unit. A running job is requeued, or is lost if its submission set
// Requeue to false. Waiting jobs still wait.
func TestShutdown(t *testing.T) {
	r := newRig(t, 2, nil)
	no := false
	again, lost := r.submit(1, nil), r.submit(1, func(s *job.Submission) { s.Request.Requeue = &no })
	waiting := r.submit(2, nil)
	r.runs(again)
	r.runs(lost)
	r.bus.Leave(true)
	before := r.asked.Load()
	for _, id := range []job.ID{again, lost} {
		name := units.Name(int64(id))
		r.bus.Vanish(name)
		r.bus.Signal(name)
	}
	r.waitUntil("the daemon looks why the units are gone", func() bool { return r.asked.Load() >= before+2 })
	small := r.submit(0, nil) // there is room for this job, but it waits, or its start fails for now
	r.stop()
	r.bus.Reboot()
	r.start()
	r.waitUntil("the job runs again", func() bool {
		if name := units.Name(int64(waiting)); r.bus.Running(name) { // this job may start first, and uses all GPUs
			r.bus.Exit(name, 0)
		}
		return r.bus.Running(units.Name(int64(again)))
	})
	v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{again}})
	if err != nil || v.Jobs[0].Requeues != 1 || v.Jobs[0].Attempt.Number != 2 {
		t.Errorf("the job that runs again: %v, %+v", err, v.Jobs)
	}
	if v := r.wait(lost); v.State != job.Lost {
		t.Errorf("the job that is not to be requeued is %s", v.State)
	}
	for _, id := range []job.ID{waiting, small} {
		if got := r.state(id); got.Terminal() && got != job.Completed {
			t.Errorf("job %d, which had not begun, is %s", id, got)
		}
	}
}

// TestStartInShutdown: a start is tried again if systemd refuses it for the moment, lacks
// resources, or takes too long.
func TestStartInShutdown(t *testing.T) {
	short := &units.StartError{JobResult: "failed", Status: units.Status{Load: units.LoadLoaded, Active: units.ActiveFailed, Result: units.ResultResources}}
	late := &units.StartError{JobResult: "timeout", Status: units.Status{Load: units.LoadLoaded, Active: units.ActiveFailed, Result: units.ResultTimeout}}
	for _, err := range []error{units.ErrNotNow, short, late} {
		r := newRig(t, 1, nil)
		r.bus.FailNext(unittest.OpStart, unittest.Fault{Err: err})
		id := r.submit(1, nil)
		r.waitUntil("the job waits again", func() bool {
			v, err := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
			return err == nil && v.Jobs[0].State == job.Queued && v.Jobs[0].Attempt != nil
		})
		v, _ := r.d.Query(t.Context(), job.Query{IDs: []job.ID{id}})
		if a := v.Jobs[0].Attempt; a.Result.Tries != 1 || a.StartedAt != (job.Attempt{}).StartedAt {
			t.Errorf("%v: attempt %+v, %+v", err, a, a.Result)
		}
	}
}
