package queue

import (
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// PlannedEnd returns the planned shutdown or reboot of the machine, or nil.
func (q *Book) PlannedEnd() *job.Shutdown {
	e := q.shell.ScheduledEnd()
	if g := gpus.ForReboot(q.gpus); g != nil && !g.Reboot.By.IsZero() && (e.At.IsZero() || g.Reboot.By.Before(e.At)) {
		e = job.Shutdown{At: g.Reboot.By, How: "reboot", By: g.By, Reason: g.Reason}
	}
	if e.At.IsZero() {
		return nil
	}
	return &e
}

// endReservation returns a reservation of the whole machine from its planned shutdown or reboot on.
func (q *Book) endReservation() (r sched.AdvanceReservation) {
	if e := q.PlannedEnd(); e != nil {
		r = sched.AdvanceReservation{From: sched.At(e.At), To: sched.Never, Detail: e.Say()}
		if back := e.Back(); !back.IsZero() {
			r.To = sched.At(back)
		}
	}
	return r
}

// reservations returns the reservations in the form that placement reads. A user counts as a member
// of a group if the user was in the group at the user's last submission.
func (q *Book) reservations() []sched.AdvanceReservation {
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
