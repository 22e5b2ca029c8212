package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// reserveCmd is about reservations.
type reserveCmd struct {
	Make   reserveMakeCmd   `cmd:"" usage:"--gpus LIST --for TIME [options]" help:"Keep GPUs for some users over a time (administrators)."`
	List   reserveListCmd   `cmd:"" usage:"[options]" help:"List the reservations."`
	Cancel reserveCancelCmd `cmd:"" usage:"[options] RESERVATION..." help:"End reservations (administrators)."`
}

func (*reserveCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime,
		Slurm: NotForSlurm("in Slurm an administrator reserves nodes", "'scontrol create reservation', 'scontrol show reservation'"),
	}
}

// reserveMakeCmd makes a reservation.
type reserveMakeCmd struct {
	GPUs   []int         `name:"gpus" type:"gpu-list" short:"g" required:"" placeholder:"LIST"`
	From   time.Time     `name:"from" type:"moment" placeholder:"WHEN"`
	For    time.Duration `name:"for" type:"span" xor:"end" placeholder:"TIME"`
	Until  *time.Time    `name:"until" type:"moment" xor:"end" placeholder:"WHEN"`
	Users  []string      `name:"user" short:"u" placeholder:"USER"`
	Groups []string      `name:"group" placeholder:"GROUP"`
	Reason string        `name:"reason" placeholder:"TEXT"`
	outputFlags
}

func (c *reserveMakeCmd) Run(ctx context.Context, a *app) error {
	to, err := c.end(a.out.Now)
	if err != nil {
		return err
	}
	var reply api.ReservationsReply
	err = a.client.Do(ctx, api.RouteReserve, "", api.ReserveRequest{
		GPUs: c.GPUs, From: c.From, To: to, Users: c.Users, Groups: c.Groups, Reason: c.Reason,
	}, &reply)
	if err != nil {
		return err
	}
	if c.form() != "table" {
		return a.showReservations(c.outputFlags, reply)
	}
	for _, r := range reply.Reservations {
		if r.ID == reply.Made {
			a.out.Printf("reservation %d: %s from %s to %s for %s\n",
				r.ID, gpuNames(r.GPUs), a.out.Clock(r.From), a.out.Clock(r.To), term.Clean(reservedFor(r)))
			jobs, err := a.sitters(ctx, []api.Reservation{r})
			a.writeSitters([]api.Reservation{r}, jobs)
			return err
		}
	}
	return nil
}

// sitters are the jobs that have GPUs, where there are reservations.
func (a *app) sitters(ctx context.Context, list []api.Reservation) ([]api.Job, error) {
	if len(list) == 0 {
		return nil, nil
	}
	reply, err := api.List(ctx, a.client, api.ListQuery{})
	return slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return len(j.GPUs) == 0 }), err
}

// writeSitters says which jobs of others run on the GPUs of reservations and may still run when these
// begin: no reservation stops them.
func (a *app) writeSitters(list []api.Reservation, jobs []api.Job) {
	for _, r := range list {
		for _, j := range jobs {
			if text := a.sits(&j, &r); text != "" {
				a.out.Printf("%s\n", a.out.Wrap(term.Clean(text), "    "))
			}
		}
	}
}

// sits says that a job has GPUs of a reservation that is not for its user, and may still when that begins; "": not so.
func (a *app) sits(j *api.Job, r *api.Reservation) string {
	there := j.State != job.Queued && slices.ContainsFunc(j.GPUs, func(g api.Allocation) bool {
		return slices.ContainsFunc(r.GPUs, func(o api.Allocation) bool { return o.Index == g.Index })
	})
	limit, end := "without a time limit", limitEnd(*j)
	if !end.IsZero() {
		limit = "with a time limit that ends it by " + a.out.Clock(end)
	}
	if !there || slices.Contains(r.Users, j.User) || !end.IsZero() && !end.After(r.From) {
		return ""
	}
	unless := ""
	if len(r.Groups) > 0 { // who is in one only the scheduler knows
		unless = ", unless " + j.User + " is in " + strings.Join(r.Groups, " or ")
	}
	return fmt.Sprintf("reservation %d: job %s of %s runs there %s and will not be stopped%s: cancel it, requeue it or ask its owner",
		r.ID, nameOfJob(*j), j.User, limit, unless)
}

// limitEnd is when the time limit of a running job ends it; zero where nobody can say.
func limitEnd(j api.Job) time.Time {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || !j.SuspendedAt.IsZero() {
		return time.Time{}
	}
	return j.StartedAt.Add((j.TimeLimit + j.Rested).Duration())
}

func (c *reserveMakeCmd) end(now time.Time) (time.Time, error) {
	from := c.From
	if from.IsZero() {
		from = now
	}
	switch {
	case c.For > 0:
		return from.Add(c.For).UTC(), nil
	case c.Until == nil:
		return from, refuse(api.CodeUsage, "such as --for 8h or --until 'tomorrow 8:00'", "a reservation needs an end")
	case !c.Until.After(from):
		return from, usagef("the reservation would end before it begins: choose a later --until")
	}
	return *c.Until, nil
}

// reserveListCmd lists the reservations.
type reserveListCmd struct {
	outputFlags
}

func (c *reserveListCmd) Run(ctx context.Context, a *app) error {
	reply, err := api.Reservations(ctx, a.client)
	if err != nil {
		return err
	}
	if err := a.showReservations(c.outputFlags, reply); err != nil || !c.isTable() {
		return err
	}
	jobs, err := a.sitters(ctx, reply.Reservations)
	a.writeSitters(reply.Reservations, jobs)
	return err
}

// reserveCancelCmd ends reservations.
type reserveCancelCmd struct {
	outputFlags

	IDs []int64 `arg:"" name:"reservation" help:"Their numbers, see 'gpusched reserve list'."`
}

func (c *reserveCancelCmd) Run(ctx context.Context, a *app) error {
	var last api.ReservationsReply
	for _, id := range c.IDs {
		last = api.ReservationsReply{}
		if err := a.client.Do(ctx, api.RouteUnreserve, strconv.FormatInt(id, 10), nil, &last); err != nil {
			return err
		}
		if c.form() == "table" {
			a.out.Printf("reservation %d ended\n", id)
		}
	}
	if c.form() == "table" {
		return nil
	}
	return a.showReservations(c.outputFlags, last)
}

func (a *app) showReservations(o outputFlags, reply api.ReservationsReply) error {
	cols := a.reservationColumns()
	return report[api.Reservation]{
		doc: reply, rows: reply.Reservations, cols: cols,
		ids: each(reply.Reservations, func(r api.Reservation) string { return number(r.ID) }),
		text: func(wide bool) {
			if len(reply.Reservations) == 0 {
				a.out.Printf("no reservations\n")
				return
			}
			term.WriteTable(a.out, cols, reply.Reservations, wide)
		},
	}.show(a, o)
}

func (a *app) reservationColumns() []term.Column[api.Reservation] {
	return []term.Column[api.Reservation]{
		{Title: "RESERVATION", Key: "id", Right: true, Cell: func(r api.Reservation) string { return number(r.ID) }},
		{Title: "GPUS", Key: "gpu_ids", Cell: func(r api.Reservation) string { return gpuIndexes(r.GPUs) }},
		{Title: "FROM", Key: "from", Cell: func(r api.Reservation) string { return a.out.Clock(r.From) }, Raw: func(r api.Reservation) string { return stamp(r.From) }},
		{Title: "TO", Key: "to", Cell: func(r api.Reservation) string { return a.out.Clock(r.To) }, Raw: func(r api.Reservation) string { return stamp(r.To) }},
		{Title: "FOR", Least: 8, Cell: reservedFor},
		{Key: "users", Cell: func(r api.Reservation) string { return strings.Join(r.Users, ",") }},
		{Key: "groups", Cell: func(r api.Reservation) string { return strings.Join(r.Groups, ",") }},
		{Title: "BY", Key: "by", Cell: func(r api.Reservation) string { return r.By }},
		{Title: "REASON", Key: "reason", Least: 8, Cell: func(r api.Reservation) string { return r.Reason }},
	}
}

// reservedFor says who may use the GPUs.
func reservedFor(r api.Reservation) string {
	parts := append(slices.Clone(r.Users), each(r.Groups, func(g string) string { return "group " + g })...)
	return cmp.Or(strings.Join(parts, ", "), "nobody")
}
