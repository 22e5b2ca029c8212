package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

const (
	demandGrace = 5 * time.Minute // a job that its owner suspended resumes after others have waited for it this long
	demandEvery = time.Minute     // how often the scheduler checks whether others wait for the job
)

// ResumesAt returns when a suspended job resumes by itself, or zero if it never does.
func (q *Book) ResumesAt(l *tracked.Job) time.Time {
	if !resumesByItself(l.Job) {
		return time.Time{}
	}
	until, _ := q.SuspendedUntil(l.Job)
	if since := l.Suspended.Since; !since.IsZero() {
		return job.Earlier(until, since.Add(demandGrace))
	}
	return until
}

// resumesByItself reports whether a job is suspended and will resume by itself.
func resumesByItself(j *job.Job) bool {
	return j.State == job.Running && j.Stop == "" && j.IsSuspended() && !j.Endless
}

// DemandCheckAt returns when to check whether others wait for a suspended job, or zero if there is
// nothing to check.
func (q *Book) DemandCheckAt(l *tracked.Job) time.Time {
	if !resumesByItself(l.Job) || q.Len() == 0 && l.Suspended.Since.IsZero() {
		return time.Time{}
	}
	if l.Suspended.Checked.IsZero() {
		return l.SuspendedAt
	}
	return l.Suspended.Checked.Add(demandEvery)
}

// SuspendedUntil returns the time until which an owner may leave a job suspended, or zero if there
// is no such time. The site limits the total suspended time of an attempt. Moreover, when the job
// resumes, enough time must be left before a reservation of its GPUs for others: the rest of the
// job's time limit, or of its expected run time. If a reservation sets the time, SuspendedUntil
// also returns the reservation.
func (q *Book) SuspendedUntil(j *job.Job) (until time.Time, ahead *job.Reservation) {
	if most := q.policy.MaxSuspend; most > 0 {
		until = j.SuspendedAt.Add(max(0, most-j.SuspendedTime))
	}
	left := predict.Remaining(j.Expected, j.Served+tracked.RanFor(j, j.SuspendedAt))
	if limit := j.Request.TimeLimit.Duration(); limit > 0 {
		left = max(0, limit-RanSoFar(j, j.SuspendedAt))
	}
	if r := q.FirstReserved(j, j.SuspendedAt); r != nil {
		if at := r.From.Add(-left); until.IsZero() || at.Before(until) {
			return at, r
		}
	}
	return until, nil
}

// RanSoFar returns how much of its time limit a job has used up.
func RanSoFar(j *job.Job, now time.Time) time.Duration {
	if j.Attempt == nil || j.Attempt.StartedAt.IsZero() {
		return 0
	}
	return max(0, now.Sub(j.Attempt.StartedAt)-j.SuspendedFor(now))
}

// FirstReserved returns the first reservation that begins after the given time and keeps one of the
// job's GPUs for other users. If there is none, it returns nil. A reservation that has begun does
// not affect running jobs.
func (q *Book) FirstReserved(j *job.Job, after time.Time) (first *job.Reservation) {
	list, of := q.gpus.Reservations.All(), q.reservations()
	for i := range list {
		v := &list[i]
		sooner := v.From.After(after) && (first == nil || v.From.Before(first.From))
		taken := slices.ContainsFunc(j.HeldGPUs(), func(g job.Allocation) bool { return gpus.Reserves(v, g.UUID) })
		if sooner && taken && !slices.Contains(of[i].UIDs, j.Person().UID) {
			first = v
		}
	}
	return first
}

// NoticeTime returns the time from the warning of a job that is to be preempted until its stop.
// That is the time for which the job asked, but at most the site's longest grace, or one time slice
// if the site sets no longest grace.
func (q *Book) NoticeTime(j *job.Job) time.Duration {
	if j.Request.WarnSignal == 0 || j.Warned {
		return 0
	}
	return min(j.Request.WarnBefore.Duration(), cmp.Or(q.policy.MaxGrace, q.policy.Sched.Slice))
}
