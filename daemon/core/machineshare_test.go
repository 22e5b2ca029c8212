package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job with half of the host's memory starts before the GPUs are known. Once they are known, the
// job is charged for half of the GPUs.
func TestChargedBeforeTheGPUsAreKnown(t *testing.T) {
	w := newWorld(8, t.Logf)
	w.policy.HostMemBytes = 512 * gib
	w.revive()
	w.step(w.listed(), -1)
	w.queue(func(r *job.Request) { r.GPUMilli, r.MemBytes = 0, 256*gib })
	w.settle()
	if j := w.jobs[1]; j.State != job.Running || j.Charge != job.WholeGPU/2 {
		t.Fatalf("without GPUs the job is %s and charged for %d milli", j.State, j.Charge)
	}
	w.step(w.sample(0), -1)
	w.settle()
	if j := w.jobs[1]; j.Charge != 4*job.WholeGPU {
		t.Errorf("of 8 GPUs it is charged for %d milli", j.Charge)
	}
	w.waitAndTick(time.Hour)
	w.revive()
	w.step(w.listed(), -1)
	w.waitAndTick(time.Hour)
	w.cancel(1)
	w.settle()
	checkGPUUse(t, w, 0, 8*time.Hour)
}
