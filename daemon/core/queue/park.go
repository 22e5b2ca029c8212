package queue

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// The copies of a job's GPU memory may take more host memory than the job has used of its GPUs in
// the last sample, by this much.
const (
	copyMarginPercent = 10
	copyMargin        = 256 << 20
)

// firstCopyRate is the number of bytes per second that the driver is expected to copy until it has
// copied something.
const firstCopyRate = 5e9

// Parkable returns what is on record about a job's parking when it begins, or why the job can't be
// parked. It does not look whether there is room for the copies.
func (q *Book) Parkable(l *tracked.Job, now time.Time) (p job.Parking, no *job.Refusal) {
	j := l.Job
	switch {
	case !q.policy.Park.Allow:
		return p, job.Refuse("policy/park")
	case j.Tasks != nil:
		return p, job.Refuse("conflict/array-suspend", j.ID)
	case j.Park != job.NotParked:
		return p, job.Refuse("conflict/parked", j.Called())
	case j.State != job.Running || j.Stop != "" || j.IsSuspended() || len(j.HeldGPUs()) == 0:
		return p, job.Refuse("conflict/no-park", j.Called(), l.Shown())
	case j.Request.Mates.UID() >= 0:
		return p, job.Refuse("conflict/park-mps", j.Called())
	case !j.Unparkable.IsZero():
		return p, job.Refuse("conflict/unparkable", j.Called(), j.Unparkable)
	}
	procs, bytes, known := q.gpus.GPUProcesses(l, now)
	switch {
	case !known:
		return p, job.Refuse("conflict/park-unknown", j.Called())
	case len(procs) == 0:
		return p, job.Refuse("conflict/park-unused", j.Called())
	}
	bytes += bytes/100*copyMarginPercent + copyMargin
	return job.Parking{
		Park: job.ParkTakes, ParkProcs: procs, ParkBytes: bytes, Unmovable: j.Unmovable,
		ParkedTime: j.ParkedTime, ReturnedAt: j.ReturnedAt,
	}, nil
}

// ParkRoom returns the host memory that is left for copies.
func (q *Book) ParkRoom(now time.Time) int64 { return q.Snapshot(now).ParkBytes }

// parkRoom does what ParkRoom does, for a snapshot of which only that is missing.
func (q *Book) parkRoom(s *sched.Snapshot) int64 {
	if !q.policy.Park.Allow {
		return 0
	}
	room := s.MemLeft(false)
	if most := q.policy.Park.MaxBytes; most > 0 {
		for l := range q.jobs.Live() {
			most -= l.ParkBytes
		}
		room = min(room, most)
	}
	return room
}

// NoteCopy learns how fast the driver copies from the time that it took. If the time is unknown, it
// is 0.
func (q *Book) NoteCopy(bytes int64, took time.Duration) {
	if took > 0 {
		q.copyRate = (q.copyRate + float64(bytes)/took.Seconds()) / 2
	}
}

// copyTime returns how long the driver is expected to copy that much memory in one direction.
func (q *Book) copyTime(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / q.copyRate * float64(time.Second))
}

// addParking adds to a running job whether it is parked, being parked, or could be.
func (q *Book) addParking(r *sched.Running, l *tracked.Job, now time.Time) {
	j := l.Job
	if !j.ReturnedAt.IsZero() {
		r.Returned, r.Since = sched.At(j.ReturnedAt), sched.At(j.QueuedAt.Add(-j.ParkedTime))
	}
	switch {
	case r.Stopping:
	case j.Park == job.ParkTakes:
		r.Stopping, r.Parks, r.ParkBytes = true, true, j.ParkBytes
		r.Return, r.Still = q.returnRequest(j), 0
		r.Notice = max(0, j.SuspendedAt.Add(q.copyTime(j.ParkBytes)).Sub(now))
		r.End = sched.At(now.Add(r.Notice))
	case j.Park == job.ParkGives: // it is no victim until it runs again
		r.Still, r.Returned = sched.At(now.Add(q.copyTime(j.ParkBytes))), sched.At(now)
	case q.policy.Park.Preempt && !j.Request.NoPark:
		if p, no := q.Parkable(l, now); no == nil {
			r.Parks, r.ParkBytes, r.Notice = true, p.ParkBytes, 2*q.copyTime(p.ParkBytes)
			once := *j
			once.Parking = p
			r.Return = q.returnRequest(&once)
		}
	}
}

// willPark reports whether the scheduler will park such a job, if it can.
func (q *Book) willPark(r *job.Request) bool {
	return q.policy.Park.Allow && q.policy.Park.Preempt && !r.NoPark && r.GPUMilli > 0 && r.Mates.UID() < 0
}

// returning makes an entry of the queue that of a parked job, which waits only for its GPUs.
func (q *Book) returning(w *sched.Waiting, j *job.Job) {
	w.Returns, w.Since = true, sched.At(j.QueuedAt.Add(j.SuspendedAt.Sub(j.Attempt.PlacedAt)-j.ParkedTime))
	w.Request = q.returnRequest(j)
	if gpus.HaveMemory(q.gpus) { // the driver fails if the copies do not fit, and the job has been promised the rest
		w.Request.GPUMemBytes = max(w.Request.GPUMemBytes, q.returnBytes(j))
	}
	w.Served += tracked.RanFor(j, j.SuspendedAt)
}

// returnRequest returns what a parked job asks for.
func (q *Book) returnRequest(j *job.Job) *job.Request {
	return j.Request.Return(gpus.Present(q.gpus, j.Attempt.GPUs), gpus.Alike(q.gpus, j))
}

// returnBytes returns the GPU memory that a parked job needs on each of its GPUs.
func (q *Book) returnBytes(j *job.Job) int64 {
	refs := j.Attempt.GPUs
	need := (j.ParkBytes - copyMargin) / (100 + copyMarginPercent) * 100 / int64(len(refs))
	for i := range refs {
		if refs[i].Milli > 0 {
			need = max(need, refs[i].PromiseBytes-q.policy.MemSlackBytes)
		}
	}
	return need
}

// Returning returns the number of parked jobs in the queue.
func (q *Book) Returning() (n int) {
	for l := range q.jobs.Live() {
		if l.Returns() {
			n++
		}
	}
	return n
}

// PlanReturns decides which parked jobs return to their GPUs if no other job may start.
func (q *Book) PlanReturns(now time.Time) []sched.Placement {
	only := sched.NewQueue()
	for l := range q.jobs.Live() {
		if l.Returns() {
			only.Push(q.WaitingJob(l))
		}
	}
	if only.Len() == 0 {
		return nil
	}
	return q.Planner.Placements(q.Snapshot(now), only)
}

// RepushReturning updates the entries of the parked jobs: their GPUs may have other indexes now.
func (q *Book) RepushReturning() {
	for l := range q.jobs.Live() {
		if l.Returns() {
			q.Repush(l)
		}
	}
}
