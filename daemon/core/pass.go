package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// snapshotWithEfforts is a snapshot for those to whom it matters which jobs make room for
// others: efforts are dear.
func (c *Core) snapshotWithEfforts(now time.Time) *sched.Snapshot {
	s := c.snapshot(now)
	for i := range s.Running {
		if r := &s.Running[i]; r.Preemptible {
			l := c.jobs.active(r.ID)
			r.Effort, r.Program, r.Untried = c.effort(l, l.job.Served+ranFor(l.job, now))
		}
	}
	return s
}

// snapshot is the core as placement sees it, valid until the next call.
func (c *Core) snapshot(now time.Time) *sched.Snapshot {
	s := c.planning.blank()
	s.Now, s.Policy = sched.At(now), c.policy.Sched
	s.Reserved = c.reserved()
	s.Host = sched.Host{MemBytes: c.policy.HostMemBytes, MaxRunning: c.policy.MaxRunning, Running: c.jobs.activeCount()}
	s.Host.CPUs, s.Host.GPUCPUs = c.policy.HostCPUs, c.policy.GPUCPUs
	if share := c.policy.NoGPUShare; c.gpus.mayHaveSome() && share > 0 && share < 100 {
		s.Host.NoGPUSlots = (s.Host.MaxRunning*share + 99) / 100
		s.Host.NoGPUMem = s.Host.MemBytes * int64(share) / 100
		s.Host.NoGPUCPUs = (s.Host.CPUs*share + 99) / 100
	}
	c.gpus.fill(s, now)
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		s.Host.PromisedMem += l.job.Request.MemBytes
		s.Host.PromisedCPUs += l.job.CPUs()
		s.Running = append(s.Running, c.running(l, s, now))
		if r := &s.Running[len(s.Running)-1]; c.policy.Sched.Patience > 0 && !r.Stopping {
			r.Late = sched.At(c.lateEnd(l, now))
		}
	}
	c.starvation.advance(c.gpus.count(), &c.policy.Sched, now)
	s.GuardOpen = c.starvation.open()
	return s
}

// running is an active job as placement sees it; its parts are put on the GPUs.
func (c *Core) running(l *trackedJob, s *sched.Snapshot, now time.Time) sched.Running {
	j := l.job
	since := j.Attempt.PlacedAt
	r := sched.Running{
		ID: j.ID, MemBytes: j.Request.MemBytes, CPUs: j.CPUs(), Quota: l.quotaMilli(),
		Preemptible: j.Request.Preemptible, Priority: j.Request.Priority,
		Account: l.account, Since: sched.At(j.QueuedAt), Start: sched.At(since), Rested: j.Rest(now),
		Served: j.Served, Guarded: j.Guarded,
		Stopping: j.State == job.Ending || j.Stop != "", Throttle: l.throttle, Rate: rateOf(j),
	}
	if j.IsSuspended() && !r.Stopping {
		r.Still = sched.Never
		if at := c.goesOnAt(l); !at.IsZero() {
			r.Still = sched.At(at)
		}
	}
	if !r.Stopping || j.Stop == job.StopPreempt {
		r.Request = &j.Request
	}
	if r.Stopping {
		stop := now
		if j.StopAt.After(now) {
			stop = j.StopAt
		}
		r.Notice, r.End = stop.Sub(now), sched.At(stop.Add(j.Request.GraceTime().Duration()))
	} else {
		r.Notice, r.End = c.notice(j), sched.At(c.expectedEnd(l, now))
	}
	r.Expected = c.estimate(l).Total(j.Served + ranFor(j, now))
	if n := len(s.Running); n < cap(s.Running) {
		r.Grants = s.Running[:n+1][n].Grants[:0] // memory of an earlier pass
	}
	for _, ref := range j.Attempt.GPUs {
		at := c.gpus.position(&ref)
		if at < 0 {
			continue
		}
		h := sched.Hold{Job: j.ID, Milli: ref.Share(), PromiseBytes: ref.PromiseBytes, SeenBytes: c.gpus.seenBytes(at, j.ID)}
		s.GPUs[at].Held = append(s.GPUs[at].Held, h)
		r.Grants = append(r.Grants, sched.Grant{GPU: at, Milli: h.Milli, Bytes: max(h.PromiseBytes, h.SeenBytes)})
	}
	return r
}

// plan decides without doing anything.
func (c *Core) plan(now time.Time) *sched.Plan {
	return c.planning.Plan(c.snapshotWithEfforts(now), c.planning.Queue)
}

// placements decides which jobs start, and not which make room. That is enough to say why
// the others wait.
func (c *Core) placements(now time.Time) []sched.Placement {
	return c.planning.Placements(c.snapshot(now), c.planning.Queue)
}

// schedule plans and carries out the plan. A placement that rests on free GPU
// memory waits for a fresh look at it, and so does everything behind it.
func (c *Core) schedule(now time.Time) {
	c.planning.setReplanAt(time.Time{})
	if !c.systemd.listed() || c.systemd.leaving() {
		return
	}
	wake := c.systemd.unbar(now)
	held, at := c.holdBack(now)
	wake = sooner(wake, at)
	c.planning.setReplanAt(wake)
	if held || c.planning.Len() == 0 || c.gpus.closed(now) != nil {
		return
	}
	c.learnBounds(now)
	c.believeAll()
	p := c.plan(now)
	c.planning.countPass()
	if p.Wake != sched.Never {
		c.planning.setReplanAt(sooner(wake, p.Wake.Time()))
	}
	defer func() { // a job may be tried now
		_, at := c.holdBack(now)
		c.planning.setReplanAt(sooner(c.planning.replanAt(), at))
	}()
	for i := range p.Place {
		l := c.jobs.get(p.Place[i].Job)
		if !c.systemd.mayTry(l) {
			continue
		}
		if r := &l.job.Request; (r.GPUMemBytes > 0 || r.Part() > 0) && !c.gpus.isFresh(now) {
			c.requestSample()
			return
		}
		if c.settleMemory(l, now) { // it may count for more than the plan went by
			c.step.replan()
			return
		}
		c.place(l, &p.Place[i], now)
	}
	for _, v := range p.Preempt {
		waits := c.jobs.get(v.For)
		if makes, at := c.systemd.makesRoom(waits, now); !makes {
			c.planning.setReplanAt(sooner(c.planning.replanAt(), at))
			continue
		}
		l := c.jobs.get(v.Victim)
		l.job.StopFor = v.For
		c.requestStop(l, job.StopPreempt, "", now)
		c.owe(waits)
	}
}

// owe has a job for which others stop go before all of its class and number until it
// starts: what they give up is for it. An array is owed nothing, or all of its tasks
// would be.
func (c *Core) owe(l *trackedJob) {
	if l.job.Owed || l.job.Tasks != nil {
		return
	}
	l.job.Owed = true
	c.step.markDirtyQuietly(l)
	c.planning.Remove(l.job.ID)
	c.planning.Push(c.waiting(l))
}

func (c *Core) place(l *trackedJob, p *sched.Placement, now time.Time) {
	if l.job.Tasks != nil {
		l = c.spawn(l, now)
	}
	number, eligible := 1, eligibleAt(l.job, now)
	if l.job.Tries = triesOf(l.job); l.job.Attempt != nil {
		number = l.job.Attempt.Number + 1
		c.keepLast(l, now)
	}
	c.gpus.recordBaseline(p.Grants)
	gpus := withCPUs(c.gpus.refs(p.Grants), p.CPUs)
	l.job.Expected = c.expectedRun(l)
	l.job.Attempt = &job.Attempt{Number: number, GPUs: gpus, BootID: c.systemd.runID(), PlacedAt: now}
	l.job.Attempt.EligibleAt = eligible
	l.job.Shared = 0
	l.job.Charge = c.largestShare(l.job)
	l.job.StopOrder, l.job.Suspension = job.StopOrder{}, job.Suspension{}
	l.job.GPUError, l.job.Left = nil, ""
	l.job.NotBefore = time.Time{} // or a clock that is set back would bring a back-off again that is over
	l.job.Guarded = p.Guarded
	l.unasked = true
	l.recordGroups()
	c.systemd.tries(l)
	c.move(l, job.Starting, now)
	c.charge(l, now)
	c.launch(l, now)
}

// eligibleAt is from when a job that is placed has waited for it: not while its last
// attempt ran, and not from a time to come by a clock that was set back.
func eligibleAt(j *job.Job, now time.Time) time.Time {
	since := j.QueuedAt
	if j.Attempt != nil && j.ChangedAt.After(since) { // when it came back; the machine may have been off since its end
		since = j.ChangedAt
	}
	if since.After(now) {
		return now
	}
	return since
}

// withCPUs spreads the CPUs that a job counts for over its GPUs.
func withCPUs(refs []job.Allocation, cpus int) []job.Allocation {
	for i := range refs {
		refs[i].PromisedCPUs = cpus*(i+1)/len(refs) - cpus*i/len(refs)
	}
	return refs
}

// keepLast records the end of an attempt that the next one follows in the same
// step.
func (c *Core) keepLast(l *trackedJob, now time.Time) {
	if l.job.ChangedAt.Equal(now) && l.dirty { // the attempt may have ended before, with the machine
		j := *l.job
		c.step.record(job.Record{Job: &j})
	}
}
