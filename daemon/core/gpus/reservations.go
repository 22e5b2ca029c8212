package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// reservations contains the reservations that are not over, in the order of their ids.
type reservations struct {
	list []job.Reservation
	last int64 // the id of the newest reservation
}

func NewReservations(list []job.Reservation, next int64) reservations {
	return reservations{list: list, last: max(next-1, 0)}
}

// All returns the reservations. Callers must not change the list.
func (r *reservations) All() []job.Reservation { return r.list }

// Add adds a reservation and gives it an id.
func (r *reservations) Add(n *job.Reservation) {
	r.last++
	n.ID = r.last
	r.list = append(r.list, *n)
}

// Remove removes the reservation with the given id, and reports whether there was one.
func (r *reservations) Remove(id int64) bool {
	n := len(r.list)
	r.list = slices.DeleteFunc(r.list, func(v job.Reservation) bool { return v.ID == id })
	return len(r.list) < n
}

// Expire removes the reservations whose time is over, and returns their ids.
func (r *reservations) Expire(now time.Time) []int64 {
	var over []int64
	r.list = slices.DeleteFunc(r.list, func(v job.Reservation) bool {
		if now.Before(v.To) {
			return false
		}
		over = append(over, v.ID)
		return true
	})
	return over
}

// Overlapping returns a reservation that shares a GPU with the given one at the same time. If there
// is none, it returns nil.
func (r *reservations) Overlapping(n *job.Reservation) *job.Reservation {
	for i := range r.list {
		old := &r.list[i]
		same := slices.ContainsFunc(n.GPUs, func(g job.Allocation) bool { return Reserves(old, g.UUID) })
		if same && old.From.Before(n.To) && n.From.Before(old.To) {
			return old
		}
	}
	return nil
}

// Reserves reports whether a reservation contains a GPU.
func Reserves(r *job.Reservation, uuid string) bool {
	return slices.ContainsFunc(r.GPUs, func(g job.Allocation) bool { return g.UUID == uuid })
}

// messageFor returns a message that says for whom a GPU is reserved now. If the GPU is reserved
// only later and a part of it is free, the message says until when. Otherwise the message is zero.
func (r *reservations) messageFor(uuid string, free int, now time.Time) job.Message {
	var first *job.Reservation
	for i := range r.list {
		if v := &r.list[i]; Reserves(v, uuid) && now.Before(v.To) && (first == nil || v.From.Before(first.From)) {
			first = v
		}
	}
	switch {
	case first == nil:
	case !now.Before(first.From):
		return job.Say("detail/reserved-for", first.For())
	case free > 0 && first.From.Sub(now) < job.Horizon:
		return job.Say("detail/reserved-then", first.From, first.For())
	}
	return job.Message{}
}
