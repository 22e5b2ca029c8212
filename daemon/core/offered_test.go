package core_test

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// A GPU with a running job gets an index that the site does not offer. The job continues. Other
// jobs get the GPU that now has the offered index.
func TestGPUsAreOfferedByIndex(t *testing.T) {
	w := newWorld(2, t.Logf)
	w.policy.OnlyGPUs = []int{0}
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	one := func(r *job.Request) { r.GPUMilli = job.WholeGPU }
	w.queue(one)
	w.settle()
	w.gpus[0], w.gpus[1] = w.gpus[1], w.gpus[0]
	w.renumber()
	for range 3 {
		w.now = w.now.Add(w.policy.LostAfter)
		w.step(w.sample(0), -1)
		w.settle()
	}
	if j := w.jobs[1]; j.State != job.Running || j.Stop != "" {
		t.Errorf("the job is %s %s", j.State, j.Stop)
	}
	w.queue(one)
	w.settle()
	if j := w.jobs[2]; j.State != job.Running || j.Attempt.GPUs[0].UUID != "GPU-1" {
		t.Errorf("the next is %s", j.State)
	}
	w.units[1].Phase = core.Exited
	w.step(core.Changed{Job: 1}, -1)
	w.settle()
	w.step(w.sample(^uint64(0)), -1)
	if v := w.core.View(job.Query{}, w.now); len(v.GPUs) != 1 {
		t.Errorf("%d GPUs are on offer", len(v.GPUs))
	}
	if err := w.core.Check(); err != nil {
		t.Error(err)
	}
}
