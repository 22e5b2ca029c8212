package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/contract"
)

// snapshotWithEfforts returns a snapshot with the efforts of the jobs. The efforts are expensive to
// compute, and only preemption needs them.
func (q *queue) snapshotWithEfforts(now time.Time) *sched.Snapshot {
	s := q.snapshot(now)
	for i := range s.Running {
		if r := &s.Running[i]; r.Preemptible {
			l := q.jobs.Active(r.ID)
			r.Effort, r.Program, r.Untried = q.estimates.Effort(l, l.Served+tracked.RanFor(l.Job, now))
		}
	}
	return s
}

// snapshot returns the core's state in the form that placement reads. The result is valid until the
// next call.
func (q *queue) snapshot(now time.Time) *sched.Snapshot {
	q.snap.GPUs, q.snap.Running = q.snap.GPUs[:0], q.snap.Running[:0] // reuse the memory of both slices
	s := &q.snap
	s.Now, s.Policy = sched.At(now), q.policy.Sched
	s.Reserved, s.End = q.reservations(), q.endReservation()
	s.Host = sched.Host{MemBytes: q.policy.HostMemBytes, MaxRunning: q.policy.MaxRunning, Running: q.jobs.ActiveCount()}
	s.Host.CPUs, s.Host.GPUCPUs = q.policy.HostCPUs, q.policy.GPUCPUs
	if share := q.policy.NoGPUShare; q.gpus.MayHaveSome() && share > 0 && share < 100 {
		s.Host.NoGPUSlots = (s.Host.MaxRunning*share + 99) / 100
		s.Host.NoGPUMem = s.Host.MemBytes * int64(share) / 100
		s.Host.NoGPUCPUs = (s.Host.CPUs*share + 99) / 100
	}
	q.gpus.Fill(s, now)
	for l := range q.jobs.Live() {
		s.Host.PromisedMem += l.PromisedMem()
		s.Host.PromisedCPUs += l.CPUs()
		s.Running = append(s.Running, q.runningJob(l, s, now))
		if r := &s.Running[len(s.Running)-1]; q.policy.Sched.Patience > 0 && !r.Stopping {
			r.Late = sched.At(q.estimates.LateEnd(l, now))
		}
	}
	s.GuardOpen, s.ForStops = q.accounts.LaneOpen(now), q.accounts.ForStops(now)
	return s
}

// runningJob returns an active job in the form that placement reads, and adds what the job holds to
// the GPUs of the snapshot.
func (q *queue) runningJob(l *tracked.Job, s *sched.Snapshot, now time.Time) sched.Running {
	j := l.Job
	since := j.Attempt.PlacedAt
	r := sched.Running{
		ID: j.ID, MemBytes: j.PromisedMem(), CPUs: j.CPUs(), Quota: l.QuotaMilli(),
		Preemptible: j.Request.Preemptible, Priority: j.Request.Priority,
		Account: l.Account, Since: sched.At(j.QueuedAt), Start: sched.At(since), SuspendedTime: j.SuspendedFor(now),
		Served: j.Served, Guarded: j.Guarded,
		Stopping: j.State == job.Ending || j.Stop != "", Throttle: l.Throttle, Rate: accounts.RateOf(j),
	}
	if j.IsSuspended() && !r.Stopping {
		r.Still = sched.Never
		if at := q.resumesAt(l); !at.IsZero() {
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
		r.Notice, r.End = q.noticeTime(j), sched.At(q.estimates.ExpectedEnd(l, now))
	}
	r.Expected = q.estimates.Of(l).Total(j.Served + tracked.RanFor(j, now))
	if n := len(s.Running); n < cap(s.Running) {
		r.Grants = s.Running[:n+1][n].Grants[:0] // reuse the memory of an earlier pass
	}
	for _, ref := range j.Attempt.GPUs {
		at := q.gpus.Position(&ref)
		if at < 0 {
			continue
		}
		h := sched.Hold{Job: j.ID, Milli: ref.Share(), PromiseBytes: ref.PromiseBytes, Mates: j.Request.Mates}
		h.SeenBytes = q.gpus.SeenBytes(at, j.ID)
		s.GPUs[at].Held = append(s.GPUs[at].Held, h)
		g := sched.Grant{GPU: at, Milli: h.Milli, Bytes: max(h.PromiseBytes, h.SeenBytes), Mates: h.Mates}
		r.Grants = append(r.Grants, g)
	}
	return r
}

// plan decides which jobs start and which are preempted; it changes nothing.
func (q *queue) plan(now time.Time) *sched.Plan {
	return q.Plan(q.snapshotWithEfforts(now), q.Queue)
}

// placements decides which jobs start, but not which jobs are preempted. That suffices to explain
// why the other jobs wait.
func (q *queue) placements(now time.Time) []sched.Placement {
	return q.Placements(q.snapshot(now), q.Queue)
}

// schedule makes a plan and carries it out. A placement that relies on free GPU memory waits for a
// fresh sample, and so do all placements after it.
func (c *Core) schedule(now time.Time) {
	c.queue.setReplanAt(time.Time{})
	if !c.systemd.listed() || c.systemd.leaving() {
		return
	}
	c.queue.replanBy(c.troubles.Unbar(now))
	held, at := c.troubles.HoldBack(now)
	c.queue.replanBy(at)
	if held || c.queue.Len() == 0 || c.gpus.Closed(now) != nil {
		return
	}
	c.estimates.LearnBounds(now)
	c.queue.reestimate()
	p := c.queue.plan(now)
	c.queue.countPass()
	if p.Wake != sched.Never {
		c.queue.replanBy(p.Wake.Time())
	}
	defer func() { // a placement may have put a job on trial
		_, at := c.troubles.HoldBack(now)
		c.queue.replanBy(at)
	}()
	for i := range p.Place {
		l := c.jobs.Get(p.Place[i].Job)
		if !c.troubles.MayTry(l) {
			continue
		}
		if r := &l.Request; (r.GPUMemBytes > 0 || r.Part() > 0) && !c.gpus.IsFresh(now) {
			c.requestSample()
			return
		}
		if c.queue.settleMemory(l, now) { // the job may count for more memory than the plan assumed
			c.step.replan()
			return
		}
		c.place(l, &p.Place[i], now)
	}
	for _, v := range p.Preempt {
		waits := c.jobs.Get(v.For)
		if makes, at := c.troubles.MakesRoom(waits, now); !makes {
			c.queue.replanBy(at)
			continue
		}
		l := c.jobs.Get(v.Victim)
		l.StopFor = v.For
		c.accounts.PayStop(v.Cost)
		c.requestStop(l, job.StopPreempt, "", now)
		c.queue.markOwed(waits)
	}
}

// markOwed gives a job precedence over all jobs of its class and priority number until it starts,
// because other jobs are stopped for it. Without the precedence, a third job could take the GPUs
// that the stopped jobs give up. An array never gets this precedence, since all of its tasks would
// have it.
func (q *queue) markOwed(l *tracked.Job) {
	if l.Owed || l.Tasks != nil {
		return
	}
	l.Owed = true
	q.step.markDirtyQuietly(l)
	q.repush(l)
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

// reestimatedAtOnce is the largest number of waiting jobs whose expected run times one pass
// updates.
const reestimatedAtOnce = 256

// reestimate updates the expected run times of some waiting jobs, those updated least recently, and
// moves these jobs in the queue.
func (q *queue) reestimate() {
	if g := q.estimates.Generation(); len(q.stale) == 0 && q.staleFor != g { // the scheduler has learned run times
		q.stale, q.staleFor = q.IDs(q.stale), g
	}
	rest := max(0, len(q.stale)-reestimatedAtOnce)
	list := q.stale[rest:]
	q.stale = q.stale[:rest]
	for _, id := range list {
		if !q.Has(id) {
			continue
		}
		l := q.jobs.Get(id)
		if w := q.waitingJob(l); q.Moves(w) {
			q.Remove(id)
			q.Push(w)
		}
	}
}
