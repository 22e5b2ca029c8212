package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// decide acts on what the book of GPUs has found, in the order in which it did.
func (c *Core) decide(now time.Time) {
	for _, f := range c.gpus.findings() {
		switch f := f.(type) {
		case Action:
			c.step.act(f)
		case job.GPUControl:
			c.step.record(job.Record{GPU: &f})
			c.step.replan()
		case job.Leftover:
			c.leftBehind(f)
		case hit:
			if l := c.jobs.active(f.job); l != nil {
				c.blame(l, f.what)
			}
		case told:
			c.step.tell(f.l, f.text)
		case used:
			c.step.touchQuietly(f.l)
		case toStop:
			c.stopFor(&f, now)
		}
	}
}

// stopFor stops a job for what was found, unless it is being stopped already.
func (c *Core) stopFor(f *toStop, now time.Time) {
	l := c.jobs.active(f.job)
	if l == nil || l.job.Stop != "" || l.job.State == job.Ending {
		return
	}
	if was := l.job.GPUError; f.fault != nil && (was == nil || was.GPU != f.fault.GPU) {
		l.job.GPUError = f.fault
	}
	if f.breach != nil {
		l.job.Breach, l.job.StopFor = f.breach, f.victim
	}
	c.halt(l, f.cause, "", now)
}

// sampled takes in a look at the GPUs. What it shows of one is decided before what
// it shows of the next.
func (c *Core) sampled(e *Sampled, now time.Time) {
	c.step.replan()
	c.gpus.sampled(e, now)
	c.decide(now)
	c.checked(e.Number, now)
	c.gpus.noteStrays()
	c.decide(now)
	c.gpus.gather()
	for at := range c.gpus.count() {
		c.gpus.watch(at, now)
		c.decide(now)
	}
	c.gpus.findIdle(now)
	c.decide(now)
}

// look asks for a sample and returns its number.
func (c *Core) look() uint64 {
	number := c.gpus.ask()
	c.step.act(Sample{Number: number})
	return number
}
