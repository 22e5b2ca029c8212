package report

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Ratio is what was used of something and what was asked of it. Both are sums over those
// runs of which both are known.
type Ratio struct{ Used, Asked float64 }

// Percent is the part that was used; nil: nothing is known.
func (r Ratio) Percent() *float64 {
	if r.Asked <= 0 {
		return nil
	}
	p := 100 * r.Used / r.Asked
	return &p
}

func (r *Ratio) add(used, asked, weight float64) {
	if asked > 0 && used >= 0 && weight > 0 {
		r.Used += used * weight
		r.Asked += asked * weight
	}
}

// Efficiency is what was used of what was asked.
type Efficiency struct {
	GPU    Ratio // time that the GPU computed, of the time that it was watched
	GPUMem Ratio // the most GPU memory of its processes, of what was asked
	Mem    Ratio // the most host memory, of what was asked
	CPU    Ratio // CPU time, of the CPUs that it had for its time
	Time   Ratio // run time, of the time limit; of those that ended
}

// EfficiencyOf is that of one run.
func EfficiencyOf(r *job.Run, now time.Time) (e Efficiency) {
	for i := range r.Attempt.GPUs {
		e.addGPU(&r.Attempt.GPUs[i], r, 1, 1)
	}
	e.addHost(r, r.Attempt.Ran(now), 1, 1)
	return e
}

// addGPU adds one GPU of a run: the part of its time, which took so many seconds.
func (e *Efficiency) addGPU(g *job.Allocation, r *job.Run, part, seconds float64) {
	if g.Use.Seen > 0 {
		e.GPU.add(g.Use.Busy.Seconds(), g.Use.Seen.Seconds(), part)
	}
	if asked := max(g.PromiseBytes, r.GPUMem); g.Use.PeakBytes > 0 {
		e.GPUMem.add(float64(g.Use.PeakBytes), float64(asked), seconds)
	}
}

// addHost adds what is not of a GPU. What is 0 is unknown: nothing runs without memory or
// CPU time.
func (e *Efficiency) addHost(r *job.Run, ran time.Duration, part, seconds float64) {
	a := &r.Attempt
	if a.PeakMemBytes > 0 {
		e.Mem.add(float64(a.PeakMemBytes), float64(r.Mem), seconds)
	}
	if a.CPUTime > 0 {
		e.CPU.add(a.CPUTime.Duration().Seconds(), float64(cpusOf(r))*ran.Seconds(), part)
	}
	if !a.EndedAt.IsZero() && !a.StartedAt.IsZero() {
		e.Time.add(ran.Seconds(), r.Limit.Seconds(), part)
	}
}

// cpusOf is for how many CPUs the run counted.
func cpusOf(r *job.Run) int {
	n := 0
	for i := range r.Attempt.GPUs {
		n += r.Attempt.GPUs[i].PromisedCPUs
	}
	return max(n, r.CPUs)
}
