package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/contract"
)

// schedule makes a plan and carries it out. A placement that relies on free GPU memory waits for a
// fresh sample, and so do all placements after it.
func (c *Core) schedule(now time.Time) {
	c.queue.SetReplanAt(time.Time{})
	if !c.systemd.listed() || c.systemd.leaving() {
		return
	}
	c.queue.ReplanBy(c.troubles.Unbar(now))
	held, at := c.troubles.HoldBack(now)
	c.queue.ReplanBy(at)
	if held || c.queue.Len() == 0 || c.gpus.Closed(now) != nil {
		returnParked(&c.lifecycle, now)
		return
	}
	c.estimates.LearnBounds(now)
	c.queue.Reestimate()
	c.queue.RepushReturning()
	p := c.queue.MakePlan(now)
	c.queue.CountPass()
	if p.Wake != sched.Never {
		c.queue.ReplanBy(p.Wake.Time())
	}
	defer func() { // a placement may have put a job on trial
		_, at := c.troubles.HoldBack(now)
		c.queue.ReplanBy(at)
	}()
	for i := range p.Place {
		l := c.jobs.Get(p.Place[i].Job)
		back := l.Returns()
		if !back && !c.troubles.MayTry(l) {
			continue
		}
		if r := &l.Request; (r.GPUMemBytes > 0 || r.Part() > 0 || back) && !c.gpus.IsFresh(now) {
			c.requestSample()
			return
		}
		if back {
			unpark(&c.lifecycle, l, &p.Place[i], now)
			continue
		}
		if c.queue.SettleMemory(l, now) { // the job may count for more memory than the plan assumed
			c.step.replan()
			return
		}
		c.place(l, &p.Place[i], now)
	}
	for _, v := range p.Preempt {
		waits := c.jobs.Get(v.For)
		if makes, at := c.troubles.MakesRoom(waits, now); !makes {
			c.queue.ReplanBy(at)
			continue
		}
		l := c.jobs.Get(v.Victim)
		if v.Park && !c.gpus.IsFresh(now) { // all processes that use the GPU now are to be parked
			c.requestSample()
			return
		}
		if v.Park && !parkQuietly(&c.lifecycle, l, v.For, false, now) {
			continue
		}
		if c.accounts.PayStop(v.Cost); !v.Park {
			l.StopFor = v.For
			c.requestStop(l, job.StopPreempt, "", now)
		}
		c.queue.MarkOwed(waits)
	}
}

func (c *lifecycle) place(l *tracked.Job, p *sched.Placement, now time.Time) {
	if l.Tasks != nil {
		l = c.spawn(l, now)
	}
	number, eligible := 1, eligibleAt(l.Job, now)
	if l.Tries = tracked.TriesOf(l.Job); l.Attempt != nil {
		number = l.Attempt.Number + 1
		c.recordLast(l, now)
	}
	c.gpus.RecordBaseline(p.Grants)
	refs := c.gpus.Refs(p.Grants)
	for i := range refs { // spread the job's CPUs over its GPUs
		refs[i].PromisedCPUs = p.CPUs*(i+1)/len(refs) - p.CPUs*i/len(refs)
	}
	l.Expected = c.estimates.ExpectedRun(l)
	l.Attempt = &job.Attempt{Number: number, GPUs: refs, BootID: c.systemd.runID(), PlacedAt: now}
	l.Attempt.EligibleAt, l.Scratch = eligible, ""
	if c.policy.Scratch != "" {
		l.Scratch = contract.ScratchDir(c.policy.Scratch, l.Owner.UID, int64(l.ID), number)
	}
	l.Shared = 0
	l.Charge = c.accounts.LargestShare(l.Job)
	l.StopOrder, l.Suspension, l.MovedMemory = job.StopOrder{}, job.Suspension{}, job.MovedMemory{}
	l.Parking = job.Parking{}
	l.GPUError, l.Left = nil, ""
	l.NotBefore = time.Time{} // otherwise an expired back-off would count again if the clock is set back
	l.Guarded = p.Guarded
	l.Unasked = true
	l.RecordGroups()
	c.troubles.Tries(l)
	c.move(l, job.Starting, now)
	c.chargePlaced(l, now)
	c.launch(l, now)
}

// eligibleAt returns the time since which a job has waited for its current placement. The result is
// not before the end of the job's last attempt, and never in the future, even if the clock was set
// back.
func eligibleAt(j *job.Job, now time.Time) time.Time {
	since := j.QueuedAt
	if j.Attempt != nil && j.ChangedAt.After(since) { // requeued at ChangedAt; the machine may have been off before
		since = j.ChangedAt
	}
	if since.After(now) {
		return now
	}
	return since
}

// recordLast records the end of the last attempt if the next one begins in the same step.
func (c *lifecycle) recordLast(l *tracked.Job, now time.Time) {
	if l.ChangedAt.Equal(now) && l.Dirty { // if the machine went off, the attempt itself ended earlier
		j := *l.Job
		c.step.record(job.Record{Job: &j})
	}
}
