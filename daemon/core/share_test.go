package core_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/job"
)

// Shares that add up to a whole GPU fit on an idle GPU, no matter how much memory the driver keeps
// for itself, and no matter whether it reports that memory or counts it as used. Nor does it matter
// how much of their own memory the jobs with earlier shares use.
func TestSharesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(1, func(string, ...any) {})
		w.policy.MemSlackBytes = 0
		w.keepMemory(rapid.Uint64Range(0, 4096).Draw(t, "reserved"))
		if rapid.Bool().Draw(t, "version 1") {
			g := &w.gpus[0]
			g.MemUsedBytes, g.MemReservedBytes = g.MemReservedBytes, 0
		}
		w.revive()
		w.step(w.listed(), -1)
		w.step(w.sample(0), -1)
		for left, id := job.WholeGPU, job.ID(1); left > 0; id++ {
			milli := min(left, rapid.SampledFrom([]int{100, 250, 300, 330, 500, 900}).Draw(t, "milli"))
			w.queue(func(r *job.Request) { r.GPUMilli = milli })
			w.settle()
			j := w.jobs[id]
			if j.State != job.Running {
				t.Fatalf("%d milli of a GPU that has %d left: %s", milli, left, j.State)
			}
			left -= milli
			promise := j.Attempt.GPUs[0].PromiseBytes
			w.hold(0, 1000+int(id), "gpujob-"+id.String()+".service", rapid.Int64Range(0, promise).Draw(t, "uses"))
			w.step(w.sample(0), -1)
		}
	})
}
