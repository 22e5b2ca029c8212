package core

import (
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// applyFindings acts on the findings of the GPU book, in their order.
func (c *Core) applyFindings(now time.Time) {
	for _, f := range c.gpus.Findings() {
		switch f := f.(type) {
		case gpus.SampleWanted:
			c.step.act(Sample{Number: f.Number})
		case gpus.ProofWanted:
			c.step.act(Prove(f))
		case gpus.StrayEnd:
			c.step.act(EndProcess(f))
		case gpus.StrangersFound:
			c.strangersFound(&f)
		case job.GPUControl:
			c.step.record(job.Record{GPU: &f})
			c.step.replan()
		case job.Leftover:
			c.addLeftover(f)
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
		case gpus.ParkFound:
			if l := c.jobs.Active(f.Job); l != nil {
				parkQuietly(&c.lifecycle, l, 0, true, now)
			}
		case gpus.UnparkFound:
			unparkUser(&c.lifecycle, &f, now)
		}
	}
}

// stopFor stops a job because of a finding, unless the job is being stopped already. If the GPU is
// lost before the job's start has been sent, the job is not at fault and returns to the queue.
func (c *Core) stopFor(f *gpus.StopFound, now time.Time) {
	l := c.jobs.Active(f.Job)
	if l == nil || l.Stop != "" || l.State == job.Ending {
		return
	}
	if f.Fault != nil && (l.Action == tracked.InLine || l.Action == tracked.Checking) {
		c.returnUnstarted(l, job.Say("detail/gpu-gone", f.Fault.GPU), now)
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

// applySample handles a sample of the GPUs. It applies the findings about one GPU before it looks
// at the next GPU.
func (c *Core) applySample(e *gpus.Sample, now time.Time) {
	c.step.replan()
	c.gpus.Sampled(e, now)
	c.applyFindings(now)
	c.startChecked(e.Number, now)
	c.gpus.NoteStrays()
	c.applyFindings(now)
	c.gpus.GatherUses()
	for at := range c.gpus.Count() {
		c.gpus.RecordUses(at, now)
		c.applyFindings(now)
	}
	c.accounts.CountBeyond()
	c.gpus.FindIdle(now)
	c.gpus.MeetStrangers(now)
	c.applyFindings(now)
}

// strangersFound tells a user about the user's foreign processes on GPUs of others' jobs, unless
// the scheduler already ends these processes. In both cases it announces what happens.
func (c *Core) strangersFound(f *gpus.StrangersFound) {
	e := job.Event{Kind: job.EventStrangerTold, UID: new(f.UID), User: strconv.Itoa(f.UID), Why: f.Say()}
	if f.Ended {
		e.Kind = job.EventStrangerEnded
	} else {
		c.step.act(TellStranger{f.Strangers})
	}
	e.GPUs = job.Each(f.GPUs, func(g job.StrangerGPU) int { return g.Index })
	c.step.announce(e)
}

// requestSample asks for a sample and returns its number.
func (c *lifecycle) requestSample() uint64 {
	number := c.gpus.NextSample()
	c.step.act(Sample{Number: number})
	return number
}

// recordGPUError records the first error of a job's attempt, and tells its owner.
func (c *lifecycle) recordGPUError(l *tracked.Job, e job.GPUError) {
	if was := l.GPUError; was != nil && (was.Xid != xidRemoved || e.Xid == xidRemoved) {
		return
	}
	l.GPUError = &e
	c.step.markDirty(l)
	c.step.notifyOwner(l, job.Say("notice/gpu-error", e))
}

// xidRemoved is the number of an error that only follows another error, and says less than that
// one.
const xidRemoved = 45

// addLeftover adds to the result of an ended attempt what the attempt left behind.
func (c *lifecycle) addLeftover(f job.Leftover) {
	if l := c.jobs.Get(f.Job); l != nil && l.Attempt != nil && l.Attempt.Number == f.Attempt {
		c.editAttempt(l, func(a *job.Attempt) {
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

// recordSurvivors records the processes of an ending job that survive SIGKILL. The owner sees them
// only in the result: nothing can be written into the journal of a unit that is stopping.
func (c *lifecycle) recordSurvivors(l *tracked.Job, left string, now time.Time) {
	if left == "" || left == l.Left || now.Sub(l.ChangedAt) <= c.policy.CleaningTimeout {
		return
	}
	l.Left = left
	c.gpus.RecordUnkillable(l)
	c.step.markDirty(l)
	c.step.replan()
}

// announceGPUs announces the GPUs that have come into service or gone out of it. Which jobs take
// and leave GPUs is clear from the events of the jobs.
func (c *Core) announceGPUs(ev Event, now time.Time) {
	switch ev.(type) {
	case Sampled, Faulted, Command, Configured, Tick, Proved:
	default:
		return
	}
	for _, n := range c.gpus.News(now) {
		c.step.announce(n)
	}
}
