package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
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

// plannedEnd returns the planned shutdown or reboot of the machine, or nil.
func (q *queue) plannedEnd() *job.Shutdown {
	e := q.systemd.scheduledEnd()
	if g := gpus.ForReboot(q.gpus); g != nil && !g.Reboot.By.IsZero() && (e.At.IsZero() || g.Reboot.By.Before(e.At)) {
		e = job.Shutdown{At: g.Reboot.By, How: "reboot", By: g.By}
	}
	if e.At.IsZero() {
		return nil
	}
	return &e
}

// endReservation returns a reservation of the whole machine from its planned shutdown or reboot on.
func (q *queue) endReservation() (r sched.AdvanceReservation) {
	if e := q.plannedEnd(); e != nil {
		r = sched.AdvanceReservation{From: sched.At(e.At), To: sched.Never, Detail: e.Say()}
		if back := e.Back(); !back.IsZero() {
			r.To = sched.At(back)
		}
	}
	return r
}

// reservations returns the reservations in the form that placement reads. A user counts as a member
// of a group if the user was in the group at the user's last submission.
func (q *queue) reservations() []sched.AdvanceReservation {
	var list []sched.AdvanceReservation
	for _, r := range q.gpus.Reservations.All() {
		v := sched.AdvanceReservation{GPUs: q.gpus.Among(r.GPUs), From: sched.At(r.From), To: sched.At(r.To)}
		for _, u := range r.Users {
			who := job.Owner{UID: u.UID, User: u.User}
			if a := q.accounts.User(u.UID); a == nil || who.Is(a.UID, a.Name) { // otherwise another account has the number
				v.UIDs = append(v.UIDs, u.UID)
			}
		}
		for _, g := range r.Groups {
			v.UIDs = append(v.UIDs, q.accounts.Members(g.GID)...)
		}
		v.Detail = job.Say("detail/reservation", r.For(), r.From, r.To)
		list = append(list, v)
	}
	return list
}
