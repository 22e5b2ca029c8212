package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// What is asked for a command of which it is known how much GPU memory it takes: so
// much more, in whole steps. A job that was stopped for going over its promise was not yet
// at its peak, so its next attempt asks for that much more.
const (
	autoMarginPercent = 15
	autoStep          = 256 << 20
	overMarginPercent = 50
)

// autoGPUMem is how much GPU memory to ask for a job of this kind; 0: nothing is known.
func (c *Core) autoGPUMem(k sched.Kind) int64 {
	peak := c.planning.memory(k)
	if peak == 0 {
		return 0
	}
	amount := (peak + peak/100*autoMarginPercent + autoStep - 1) / autoStep * autoStep
	return min(amount, c.gpus.largest())
}

// largest is the memory of the GPU that has most: 0 where they have none but the host's,
// and no bound while none is known.
func (b *gpuBook) largest() int64 {
	if len(b.devices) == 0 {
		return job.MaxSize
	}
	most := int64(0)
	for _, d := range b.devices {
		most = max(most, d.total())
	}
	return most
}

// fillGPUMem puts in the amount where a submission leaves it to earlier runs.
func (c *Core) fillGPUMem(s *job.Submission) {
	if r := &s.Request; r.GPUMemBytes == job.AutoGPUMem {
		r.AutoMem, r.GPUMemBytes = true, c.autoGPUMem(sched.KindOf(c.accounts.of(s.Owner, s.Principal).UID, r))
	}
}

// learnMemory learns from an attempt that is over how much GPU memory its command takes.
// Another attempt that leaves the amount to that has no less than this one.
func (c *Core) learnMemory(l *trackedJob, r *job.Result, now time.Time) {
	j, peak := &l.job, int64(0)
	for _, u := range l.currentUses() {
		peak = max(peak, u.PeakBytes)
	}
	ended := r.Outcome == job.Completed
	if p := c.planning.observeMemory(l.kind(), peak, ended, now); p != nil {
		c.step.record(job.Record{Prediction: p})
	}
	if !j.Request.AutoMem {
		return
	}
	j.Request.GPUMemBytes = max(j.Request.GPUMemBytes, c.autoGPUMem(l.kind()))
	if r.Outcome == job.GPUOutOfMemory {
		j.Request.GPUMemBytes = max(j.Request.GPUMemBytes, min(peak+peak/100*overMarginPercent, c.gpus.largest()))
	}
}
