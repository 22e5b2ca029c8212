package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// exit ends the command of job 1.
func (w *world) exit(code int) {
	w.units[1].Phase, w.units[1].Exit = core.Exited, contract.Exit{Code: code}
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
}

// lastLesson returns the prediction that was recorded last for the user.
func (w *world) lastLesson() (last job.Prediction) {
	for _, p := range w.learned {
		if p.Key == "1001" {
			last = p
		}
	}
	return last
}

// A retried failure is not the end of the job. If the job failed early, the scheduler learns
// nothing; if it failed after hours, the scheduler learns that such jobs run longer. The run time
// of the next attempt counts from zero.
func TestRetriedFailure(t *testing.T) {
	w := runningWorld(t, 1, func(r *job.Request) { r.Retries, r.Backoff = 2, job.Span(time.Second) })
	after := func(d time.Duration) {
		w.now = w.now.Add(d)
		w.exit(1)
		w.waitAndTick(time.Minute)
		if j := w.jobs[1]; j.State != job.Running {
			t.Fatalf("after a failure the job is %s", j.State)
		}
	}
	after(10 * time.Minute)
	if len(w.learned) > 0 {
		t.Errorf("a failure after 10m that is retried teaches %+v", w.learned)
	}
	after(3 * time.Hour)
	if p := w.lastLesson(); p.Runs != 0 || p.Typical <= 3*time.Hour || p.Typical > 24*time.Hour {
		t.Errorf("a failure after 3h that is retried teaches %+v", p)
	}
	if taught := w.jobs[1].Taught; taught != 0 {
		t.Errorf("the next attempt has taught its first %s", taught)
	}
	w.now = w.now.Add(5 * time.Hour)
	w.exit(1)
	if p := w.lastLesson(); p.Runs != 1 || w.jobs[1].State != job.Failed {
		t.Errorf("the last failure teaches %+v", p)
	}
}

// A job that is requeued at its time limit counts as running at least that long.
func TestJobThatGoesOnAfterItsLimit(t *testing.T) {
	w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit, r.OnTimeout = job.Span(3*time.Hour), job.TimeoutRequeue })
	w.waitAndTick(3 * time.Hour)
	if p := w.lastLesson(); w.jobs[1].Served < 3*time.Hour || p.Runs != 0 || p.Typical <= 3*time.Hour {
		t.Errorf("%s of 3h are served, and that teaches %+v", w.jobs[1].Served, p)
	}
}

// When a job outlasts its expected run time, the scheduler learns that once, and once more each
// time the job's run time has doubled. A restart of the daemon does not repeat these lessons.
func TestRestartTeachesNothingTwice(t *testing.T) {
	w := runningWorld(t, 1, nil)
	w.queue(nil)
	w.waitAndTick(3 * time.Hour)
	lessons := len(w.learned)
	for range 20 {
		w.revive()
		w.step(w.listed(), -1)
		w.waitAndTick(time.Second)
	}
	if lessons == 0 || len(w.learned) != lessons {
		t.Errorf("%d lessons, and %d after restarts", lessons, len(w.learned))
	}
	w.waitAndTick(3 * time.Hour)
	if len(w.learned) != 2*lessons {
		t.Errorf("%d lessons after twice the time, want %d", len(w.learned), 2*lessons)
	}
}
