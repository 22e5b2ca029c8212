package queue

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// snapshotWithEfforts returns a snapshot with the efforts of the jobs. The efforts are expensive to
// compute, and only preemption needs them.
func (q *Book) snapshotWithEfforts(now time.Time) *sched.Snapshot {
	s := q.Snapshot(now)
	for i := range s.Running {
		if r := &s.Running[i]; r.Preemptible || r.Parks {
			l := q.jobs.Active(r.ID)
			r.Effort, r.Program, r.Untried = q.estimates.Effort(l, l.Served+tracked.RanFor(l.Job, now))
		}
	}
	return s
}

// Snapshot returns the core's state in the form that placement reads. The result is valid until the
// next call.
func (q *Book) Snapshot(now time.Time) *sched.Snapshot {
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
	s.ParkBytes = q.parkRoom(s)
	s.GuardOpen, s.ForStops = q.accounts.LaneOpen(now), q.accounts.ForStops(now)
	return s
}

// runningJob returns an active job in the form that placement reads, and adds what the job holds to
// the GPUs of the snapshot.
func (q *Book) runningJob(l *tracked.Job, s *sched.Snapshot, now time.Time) sched.Running {
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
		if at := q.ResumesAt(l); !at.IsZero() {
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
		r.Notice, r.End = q.NoticeTime(j), sched.At(q.estimates.ExpectedEnd(l, now))
	}
	q.addParking(&r, l, now)
	r.Expected = q.estimates.Of(l).Total(j.Served + tracked.RanFor(j, now))
	if n := len(s.Running); n < cap(s.Running) {
		r.Grants = s.Running[:n+1][n].Grants[:0] // reuse the memory of an earlier pass
	}
	for _, ref := range j.HeldGPUs() {
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

// MakePlan decides which jobs start and which are preempted; it changes nothing.
func (q *Book) MakePlan(now time.Time) *sched.Plan {
	return q.Planner.Plan(q.snapshotWithEfforts(now), q.Queue)
}

// FindPlacements decides which jobs start, but not which jobs are preempted. That suffices to explain
// why the other jobs wait.
func (q *Book) FindPlacements(now time.Time) []sched.Placement {
	return q.Planner.Placements(q.Snapshot(now), q.Queue)
}

// MarkOwed gives a job precedence over all jobs of its class and priority number until it starts,
// because other jobs are stopped for it. Without the precedence, a third job could take the GPUs
// that the stopped jobs give up. An array never gets this precedence, since all of its tasks would
// have it.
func (q *Book) MarkOwed(l *tracked.Job) {
	if l.Owed || l.Tasks != nil {
		return
	}
	l.Owed = true
	q.shell.MarkDirtyQuietly(l)
	q.Repush(l)
}

// reestimatedAtOnce is the largest number of waiting jobs whose expected run times one pass
// updates.
const reestimatedAtOnce = 256

// Reestimate updates the expected run times of some waiting jobs, those updated least recently, and
// moves these jobs in the queue.
func (q *Book) Reestimate() {
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
		if w := q.WaitingJob(l); q.Moves(w) {
			q.Remove(id)
			q.Push(w)
		}
	}
}
