package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// reserve makes a reservation. The command names its GPUs by index.
func (c *Core) reserve(e Command, now time.Time) *job.Refusal {
	if e.What.Reservation == nil {
		return job.Refuse("usage/no-reservation")
	}
	r := *e.What.Reservation
	r.GPUs = slices.Clone(r.GPUs)
	for i := range r.GPUs {
		index := r.GPUs[i].Index
		if r.GPUs[i] = c.gpus.Ref(index); r.GPUs[i].UUID == "" {
			return job.Refuse("not-found/gpu", index)
		}
	}
	switch {
	case len(r.GPUs) == 0:
		return job.Refuse("usage/reservation-gpus")
	case !r.To.After(r.From) || !r.To.After(now):
		return job.Refuse("usage/reservation-over")
	}
	if old := c.gpus.Reservations.Overlapping(&r); old != nil {
		return job.Refuse("conflict/reserved", old.ID, old.For(), old.From, old.To)
	}
	r.By, r.At = e.Who.User, now
	c.gpus.Reservations.Add(&r)
	c.step.record(job.Record{Reservation: &r})
	c.step.replan()
	return nil
}

func (c *Core) unreserve(e Command) *job.Refusal {
	var id int64
	if e.What.Reservation != nil {
		id = e.What.Reservation.ID
	}
	if !c.gpus.Reservations.Remove(id) {
		return job.Refuse("not-found/reservation", id)
	}
	c.step.record(job.Record{Unreserve: id})
	c.step.replan()
	return nil
}
