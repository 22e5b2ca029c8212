package sched

import (
	"slices"
	"time"
)

// notice is how long before a reservation of an administrator its GPUs take no
// more jobs that have no time limit.
const notice = 24 * time.Hour

// advanceReservationFor returns the reservation that keeps the GPU from the query's
// account: one that the job could run into by its time limit.
func (s *Snapshot) advanceReservationFor(q *query, gpu int) *AdvanceReservation {
	for i := range s.Reserved {
		r := &s.Reserved[i]
		if r.GPUs[gpu] && r.overlaps(q.shape.limit, q.at) && !r.allows(q.account) {
			return r
		}
	}
	return nil
}

// overlaps reports whether a job of the time limit, started then, could run into it.
func (r *AdvanceReservation) overlaps(limit time.Duration, at Instant) bool {
	if limit == 0 {
		limit = notice
	}
	return at < r.To && at.Add(limit) > r.From
}

func (r *AdvanceReservation) allows(a *Account) bool {
	return slices.Contains(r.UIDs, a.UID) || slices.ContainsFunc(r.Groups, a.member)
}

// owns reports whether an administrator reserved the GPU for the account now.
func (s *Snapshot) owns(a *Account, gpu int) bool {
	for i := range s.Reserved {
		if r := &s.Reserved[i]; r.GPUs[gpu] && r.From <= s.Now && s.Now < r.To && r.allows(a) {
			return true
		}
	}
	return false
}
