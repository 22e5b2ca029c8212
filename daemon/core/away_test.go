package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// TestChargedFromPlacement: a job whose start nobody saw, since the daemon was away,
// is charged for the time since its placement once.
func TestChargedFromPlacement(t *testing.T) {
	w := newWorld(1, t.Logf)
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	w.queue(func(r *job.Request) { r.GPUMilli = job.WholeGPU })
	w.answer(0) // which reaches systemd, and nobody hears of it
	w.now = w.now.Add(10 * time.Minute)
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	if a := w.jobs[1].Attempt; w.now.Sub(a.StartedAt) != 10*time.Minute || w.now.Sub(a.PlacedAt) != 10*time.Minute {
		t.Errorf("at %v it was placed at %v and began at %v", w.now, a.PlacedAt, a.StartedAt)
	}
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	if used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; w.jobs[1].State != job.Completed || used < 9*time.Minute || used > 11*time.Minute {
		t.Errorf("the job is %s, and %v are charged: %v", w.jobs[1].State, used, w.usage)
	}
}
