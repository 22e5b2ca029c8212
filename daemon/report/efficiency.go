package report

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Ratio compares what runs used with what they requested. Used and Asked are sums over the runs
// for which both values are known.
type Ratio struct{ Used, Asked float64 }

// Percent returns the used part, or nil if nothing is known.
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

// Efficiency says how much of the requested resources was used.
type Efficiency struct {
	GPU    Ratio // time in which the GPU computed, as a part of the observed time
	GPUMem Ratio // peak GPU memory of its processes, as a part of the request
	Mem    Ratio // peak host memory, as a part of the request
	CPU    Ratio // CPU time, as a part of the run time of its CPUs
	Time   Ratio // run time, as a part of the time limit; only runs that ended
}

// EfficiencyOf returns the efficiency of one run.
func EfficiencyOf(r *job.Run, now time.Time) (e Efficiency) {
	for i := range r.Attempt.GPUs {
		e.addGPU(&r.Attempt.GPUs[i], r, 1, 1)
	}
	e.addHost(r, r.Attempt.Ran(now), 1, 1)
	return e
}

// addGPU adds one GPU of a run. Only the given fraction of the run counts. The argument seconds is
// the length of that part.
func (e *Efficiency) addGPU(g *job.Allocation, r *job.Run, fraction, seconds float64) {
	if g.Use.Seen > 0 {
		e.GPU.add(g.Use.Busy.Seconds(), g.Use.Seen.Seconds(), fraction)
	}
	if asked := max(g.PromiseBytes, r.GPUMem); g.Use.PeakBytes > 0 {
		e.GPUMem.add(float64(g.Use.PeakBytes), float64(asked), seconds)
	}
}

// addHost adds memory and CPUs. A value of 0 counts as unknown, because every run uses some memory
// and CPU time.
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

// cpusOf returns the number of CPUs that the run had.
func cpusOf(r *job.Run) int {
	n := 0
	for i := range r.Attempt.GPUs {
		n += r.Attempt.GPUs[i].PromisedCPUs
	}
	return max(n, r.CPUs)
}
