package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// BenchmarkSample handles a sample of 8 GPUs. Four jobs share each GPU. The number of processes on
// each GPU is given; most processes belong to the jobs, and some belong to no job.
func BenchmarkSample(b *testing.B) {
	for _, processes := range []int{4, 100} {
		b.Run(fmt.Sprint("processes=", processes), func(b *testing.B) {
			w := sharedMachine(b, processes)
			ev := w.sample(0)
			b.ReportAllocs()
			for b.Loop() {
				w.now = w.now.Add(5 * time.Second)
				if eff := w.core.Step(ev, w.now); len(eff.Records)+len(eff.Actions) > 0 {
					b.Fatalf("a sample like the last one has effects: %+v", eff)
				}
			}
		})
	}
}

func sharedMachine(b *testing.B, processes int) *world {
	w := newWorld(8, func(string, ...any) {})
	w.policy.Usage = site.UsagePolicy{Memory: site.WarnAndStop, Tolerance: gib, MemoryGrace: time.Minute, Idle: site.WarnAndStop, IdleAfter: time.Hour, IdleGrace: time.Hour}
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	for i := range 32 {
		r := job.Request{GPUMilli: 250, GPUMemBytes: 15 * gib}
		w.step(core.Submit{Submission: job.Submission{Owner: job.Owner{UID: 1001 + i}, Label: job.Label{Name: "j"}, Request: r}}, -1)
		w.settle()
	}
	for i := range w.gpus {
		w.gpus[i].UtilGPUPercent = 70
		jobs := len(w.gpus[i].Processes)
		for k := range processes - jobs {
			unit := ""
			if k%10 > 0 {
				unit = w.gpus[i].Processes[k%jobs].Unit
			}
			w.gpus[i].Processes = append(w.gpus[i].Processes, gpu.Process{PID: 100_000 + i*1000 + k, UID: 1001, Unit: unit, UsedBytes: 64 << 20})
		}
	}
	w.step(w.sample(0), -1)
	w.step(w.sample(0), -1)
	if n := w.core.Counts()[job.Running]; n != 32 {
		b.Fatalf("%d jobs run", n)
	}
	return w
}
