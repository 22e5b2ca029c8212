package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// applyFindings acts on what the book of GPUs has found, in the order in which it did.
func (c *Core) applyFindings(now time.Time) {
	for _, f := range c.gpus.findings() {
		switch f := f.(type) {
		case Action:
			c.step.act(f)
		case job.GPUControl:
			c.step.record(job.Record{GPU: &f})
			c.step.replan()
		case job.Leftover:
			c.leftBehind(f)
		case errorFound:
			if l := c.jobs.active(f.job); l != nil {
				c.recordGPUError(l, f.what)
			}
		case noticeFound:
			c.step.notifyOwner(f.l, f.say)
		case useFound:
			c.step.markDirtyQuietly(f.l)
		case stopFound:
			c.stopFor(&f, now)
		}
	}
}

// stopFor stops a job for what was found, unless it is being stopped already. One of which nothing has begun
// is not at fault for a GPU that was lost: it waits for another.
func (c *Core) stopFor(f *stopFound, now time.Time) {
	l := c.jobs.active(f.job)
	if l == nil || l.job.Stop != "" || l.job.State == job.Ending {
		return
	}
	if f.fault != nil && (l.action == inLine || l.action == checking) {
		c.standBack(l, job.Say("detail/gpu-gone", f.fault.GPU), now)
		return
	}
	if was := l.job.GPUError; f.fault != nil && (was == nil || was.GPU != f.fault.GPU) {
		l.job.GPUError = f.fault
	}
	if f.breach != nil {
		l.job.Breach, l.job.StopFor = f.breach, f.victim
	}
	c.requestStop(l, f.cause, "", now)
}

// sampled takes a sample of the GPUs. What it shows of one is decided before what
// it shows of the next.
func (c *Core) sampled(e *Sampled, now time.Time) {
	c.step.replan()
	c.gpus.sampled(e, now)
	c.applyFindings(now)
	c.checked(e.Number, now)
	c.gpus.noteStrays()
	c.applyFindings(now)
	c.gpus.gatherUses()
	for at := range c.gpus.count() {
		c.gpus.recordUses(at, now)
		c.applyFindings(now)
	}
	c.countBeyond()
	c.gpus.findIdle(now)
	c.applyFindings(now)
}

// requestSample asks for a sample and returns its number.
func (c *Core) requestSample() uint64 {
	number := c.gpus.nextSample()
	c.step.act(Sample{Number: number})
	return number
}
