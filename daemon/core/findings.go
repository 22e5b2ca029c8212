package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// applyFindings acts on what the book of GPUs has found, in the order in which it did.
func (c *Core) applyFindings(now time.Time) {
	for _, f := range c.gpus.Findings() {
		switch f := f.(type) {
		case gpus.SampleWanted:
			c.step.act(Sample{Number: f.Number})
		case gpus.StrayEnd:
			c.step.act(EndProcess(f))
		case job.GPUControl:
			c.step.record(job.Record{GPU: &f})
			c.step.replan()
		case job.Leftover:
			c.leftBehind(f)
		case gpus.ErrorFound:
			if l := c.jobs.Active(f.Job); l != nil {
				c.recordGPUError(l, f.What)
			}
		case gpus.NoticeFound:
			c.step.notifyOwner(f.Of, f.Say)
		case gpus.UseFound:
			c.step.markDirtyQuietly(f.Of)
		case gpus.StopFound:
			c.stopFor(&f, now)
		}
	}
}

// stopFor stops a job for what was found, unless it is being stopped already. One of which nothing has begun
// is not at fault for a GPU that was lost: it waits for another.
func (c *Core) stopFor(f *gpus.StopFound, now time.Time) {
	l := c.jobs.Active(f.Job)
	if l == nil || l.Stop != "" || l.State == job.Ending {
		return
	}
	if f.Fault != nil && (l.Action == tracked.InLine || l.Action == tracked.Checking) {
		c.standBack(l, job.Say("detail/gpu-gone", f.Fault.GPU), now)
		return
	}
	if was := l.GPUError; f.Fault != nil && (was == nil || was.GPU != f.Fault.GPU) {
		l.GPUError = f.Fault
	}
	if f.Breach != nil {
		l.Breach, l.StopFor = f.Breach, f.Victim
	}
	c.requestStop(l, f.Cause, "", now)
}

// sampled takes a sample of the GPUs. What it shows of one is decided before what
// it shows of the next.
func (c *Core) sampled(e *gpus.Sample, now time.Time) {
	c.step.replan()
	c.gpus.Sampled(e, now)
	c.applyFindings(now)
	c.checked(e.Number, now)
	c.gpus.NoteStrays()
	c.applyFindings(now)
	c.gpus.GatherUses()
	for at := range c.gpus.Count() {
		c.gpus.RecordUses(at, now)
		c.applyFindings(now)
	}
	c.accounts.CountBeyond()
	c.gpus.FindIdle(now)
	c.applyFindings(now)
}

// requestSample asks for a sample and returns its number.
func (c *lifecycle) requestSample() uint64 {
	number := c.gpus.NextSample()
	c.step.act(Sample{Number: number})
	return number
}

// recordGPUError notes the first error of a job's attempt, also for its owner.
func (c *lifecycle) recordGPUError(l *tracked.Job, e job.GPUError) {
	if was := l.GPUError; was != nil && (was.Xid != xidRemoved || e.Xid == xidRemoved) {
		return
	}
	l.GPUError = &e
	c.step.markDirty(l)
	c.step.notifyOwner(l, job.Say("notice/gpu-error", e))
}

// xidRemoved follows another error and says less.
const xidRemoved = 45

// leftBehind adds to the result of an attempt that has ended.
func (c *lifecycle) leftBehind(f job.Leftover) {
	if l := c.jobs.Get(f.Job); l != nil && l.Attempt != nil && l.Attempt.Number == f.Attempt {
		c.edit(l, func(a *job.Attempt) {
			r := *a.Result
			r.Left = f.What
			a.Result = &r
		})
		return
	}
	if f.Attempt != 0 {
		c.step.record(job.Record{Left: &f})
	}
}

// recordSurvivors takes note of processes of an ending job that outlive SIGKILL. The result
// tells: a unit that is stopping takes no note for its journal.
func (c *lifecycle) recordSurvivors(l *tracked.Job, left string, now time.Time) {
	if left == "" || left == l.Left || now.Sub(l.ChangedAt) <= c.policy.CleaningTimeout {
		return
	}
	l.Left = left
	c.gpus.RecordUnkillable(l)
	c.step.markDirty(l)
	c.step.replan()
}

// announceGPUs announces which GPUs have come into service or gone out of it. That jobs
// take them and leave them is announced with the jobs.
func (c *Core) announceGPUs(ev Event, now time.Time) {
	switch ev.(type) {
	case Sampled, Faulted, Command, Configured, Tick:
	default:
		return
	}
	for _, n := range c.gpus.News(now) {
		c.step.announce(n)
	}
}
