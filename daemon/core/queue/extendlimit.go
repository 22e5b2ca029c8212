package queue

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// The planner relies on the ends of running jobs: some of these jobs started early only because
// they were expected to end before the planned start of another job. So owners may not postpone the
// ends of their jobs if that would delay the planned start of another user's job.

// LatestEnd returns the moment at which a running job reaches its time limit, if it is not
// suspended before. If the job has no limit, LatestEnd returns its expected end.
func (q *Book) LatestEnd(l *tracked.Job, now time.Time) sched.Instant {
	limit := l.Request.TimeLimit
	if limit == 0 {
		return sched.At(q.estimates.ExpectedEnd(l, now))
	}
	return sched.At(now).Add(max(0, limit.Duration()-RanSoFar(l.Job, now)))
}

// DelaysOthers returns a waiting job of another user whose planned start becomes later if the
// running job l ends at newEnd instead of oldEnd, or has that much more host memory.
func (q *Book) DelaysOthers(
	l *tracked.Job, oldEnd, newEnd sched.Instant, moreMem int64, now time.Time,
) (sched.BackfillReservation, bool) {
	if newEnd <= oldEnd && moreMem <= 0 || q.Len() == 0 {
		return sched.BackfillReservation{}, false
	}
	before := slices.Clone(q.plannedStarts(l, oldEnd, 0, now))
	after := q.plannedStarts(l, newEnd, moreMem, now)
	for _, w := range before {
		was := lastOf(before, w.Job)
		if q.jobs.Get(w.Job).Account != l.Account && was != sched.Never && lastOf(after, w.Job) > was {
			return sched.BackfillReservation{Job: w.Job, At: was}, true
		}
	}
	return sched.BackfillReservation{}, false
}

// planWork is the cost of planning with an empty queue, expressed as the number of jobs that could
// be searched in the same time.
const planWork = 5000

// plannedStarts returns the planned starts if l ends at the given time and has that much more host
// memory, and all other jobs end as expected. It assumes that suspended jobs resume first. The list
// is valid until the planner's next pass.
func (q *Book) plannedStarts(
	l *tracked.Job, end sched.Instant, moreMem int64, now time.Time,
) []sched.BackfillReservation {
	s := q.Snapshot(now)
	for i := range s.Running {
		r := &s.Running[i]
		switch r.Late = 0; {
		case r.ID == l.ID:
			r.End, r.MemBytes = end, r.MemBytes+moreMem
			s.Host.PromisedMem += moreMem
		case r.Still == sched.Never:
			r.End = sched.Never
		case r.Still > s.Now:
			r.End = r.End.Add(time.Duration(r.Still - s.Now))
		}
	}
	q.jobs.Walk(q.Len() + planWork)
	return q.PlannedStarts(s, q.Queue, l.Account.Groups)
}

// lastOf returns the last planned start of a job, or sched.Never if it has none.
func lastOf(list []sched.BackfillReservation, id job.ID) sched.Instant {
	last := sched.Instant(0)
	for _, r := range list {
		if r.Job == id {
			last = max(last, r.At)
		}
	}
	if last == 0 {
		return sched.Never
	}
	return last
}
