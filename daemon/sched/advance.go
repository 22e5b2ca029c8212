package sched

import (
	"slices"
	"time"
)

// notice is a period before each advance reservation. In this period, jobs without a time limit do
// not start on the GPUs of the reservation.
const notice = 24 * time.Hour

// advanceReservationFor returns an advance reservation that keeps the GPU from the query's job.
// Such a reservation belongs to other accounts, and begins at a time at which the job, by its time
// limit, might still run. If there is none, advanceReservationFor returns nil.
func (s *Snapshot) advanceReservationFor(q *query, gpu int) *AdvanceReservation {
	for i := range s.Reserved {
		r := &s.Reserved[i]
		if r.GPUs[gpu] && r.mayOverlap(q.shape.limit, q.at) && !r.allows(q.account) {
			return r
		}
	}
	return nil
}

// mayOverlap reports whether a job with this time limit, if it starts at the given moment, might
// still run when the reservation begins.
func (r *AdvanceReservation) mayOverlap(limit time.Duration, at Instant) bool {
	if limit == 0 {
		limit = notice
	}
	return at < r.To && at.Add(limit) > r.From
}

// cutsOff reports whether a planned shutdown keeps the jobs of a bucket from starting, because they
// may still run at that time. A job that may be stopped, and that then starts again by itself, is
// not kept from starting: it fills the time until the shutdown.
func (s *Snapshot) cutsOff(b *bucket) bool {
	run := b.shape.limit
	if run == 0 && b.known {
		run = b.late
	}
	return s.End.To != 0 && !b.shape.returns && s.End.mayOverlap(run, s.Now)
}

func (r *AdvanceReservation) allows(a *Account) bool {
	return slices.Contains(r.UIDs, a.UID) || slices.ContainsFunc(r.Groups, a.isMember)
}

// ownsGPU reports whether an advance reservation gives the GPU to the account now.
func (s *Snapshot) ownsGPU(a *Account, gpu int) bool {
	for i := range s.Reserved {
		if r := &s.Reserved[i]; r.GPUs[gpu] && r.From <= s.Now && s.Now < r.To && r.allows(a) {
			return true
		}
	}
	return false
}
