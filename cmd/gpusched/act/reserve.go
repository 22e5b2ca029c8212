package act

import (
	"context"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ReserveCmd makes, lists and cancels advance reservations.
type ReserveCmd struct {
	Make   reserveMakeCmd   `cmd:"" usage:"--gpus LIST --for TIME [options]" help:"Reserve GPUs for users over a time (administrators)."`
	List   reserveListCmd   `cmd:"" usage:"[options]" help:"List the reservations."`
	Cancel reserveCancelCmd `cmd:"" usage:"[options] RESERVATION..." help:"End reservations (administrators)."`
}

func (*ReserveCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("in Slurm an administrator reserves nodes", "'scontrol create reservation', 'scontrol show reservation'"),
	}
}

type reserveMakeCmd struct {
	GPUs   []int         `name:"gpus" type:"gpu-list" short:"g" required:"" placeholder:"LIST"`
	From   time.Time     `name:"from" type:"moment" placeholder:"WHEN"`
	For    time.Duration `name:"for" type:"span" xor:"end" placeholder:"TIME"`
	Until  *time.Time    `name:"until" type:"moment" xor:"end" placeholder:"WHEN"`
	Users  []string      `name:"user" short:"u" placeholder:"USER"`
	Groups []string      `name:"group" placeholder:"GROUP"`
	Reason string        `name:"reason" placeholder:"TEXT"`
	cli.OutputFlags
}

func (c *reserveMakeCmd) Run(ctx context.Context, a *cli.App) error {
	to, err := c.end(a)
	if err != nil {
		return err
	}
	var reply api.ReservationsReply
	err = a.Client.Do(ctx, api.RouteReserve, "", api.ReserveRequest{
		GPUs: c.GPUs, From: c.From, To: to, Users: c.Users, Groups: c.Groups, Reason: c.Reason,
	}, &reply)
	if err != nil {
		return err
	}
	if c.Form() != "table" {
		return showReservations(a, c.OutputFlags, reply)
	}
	for _, r := range reply.Reservations {
		if r.ID == reply.Made {
			a.Out.Printf("reservation %d: %s from %s to %s for %s\n",
				r.ID, cli.GPUNames(r.GPUs), a.Out.Clock(r.From), a.Out.Clock(r.To), term.Clean(look.ReservedFor(r)))
			jobs, err := look.GPUHolders(ctx, a, []api.Reservation{r})
			look.WriteOverruns(a, []api.Reservation{r}, jobs)
			return err
		}
	}
	return nil
}

func (c *reserveMakeCmd) end(a *cli.App) (time.Time, error) {
	from := c.From
	if from.IsZero() {
		from = a.Out.Now
	}
	switch {
	case c.For > 0:
		return from.Add(c.For).UTC(), nil
	case c.Until == nil:
		return from, cli.Refuse(api.CodeUsage, "such as --for 8h or --until 'tomorrow 8:00'", "a reservation needs an end")
	case !c.Until.After(from):
		return from, cli.Usagef("the reservation would end at %s and begin at %s: choose a later --until, or give both a date",
			a.Out.Clock(*c.Until), a.Out.Clock(from))
	}
	return *c.Until, nil
}

type reserveListCmd struct {
	cli.OutputFlags
}

func (c *reserveListCmd) Run(ctx context.Context, a *cli.App) error {
	reply, err := api.Reservations(ctx, a.Client)
	if err != nil {
		return err
	}
	if err := showReservations(a, c.OutputFlags, reply); err != nil || !c.IsTable() {
		return err
	}
	jobs, err := look.GPUHolders(ctx, a, reply.Reservations)
	look.WriteOverruns(a, reply.Reservations, jobs)
	return err
}

type reserveCancelCmd struct {
	cli.OutputFlags

	IDs []int64 `arg:"" name:"reservation" help:"Their numbers, see 'gpusched reserve list'."`
}

func (c *reserveCancelCmd) Run(ctx context.Context, a *cli.App) error {
	var last api.ReservationsReply
	for _, id := range c.IDs {
		last = api.ReservationsReply{}
		if err := a.Client.Do(ctx, api.RouteUnreserve, strconv.FormatInt(id, 10), nil, &last); err != nil {
			return err
		}
		if c.Form() == "table" {
			a.Out.Printf("reservation %d ended\n", id)
		}
	}
	if c.Form() == "table" {
		return nil
	}
	return showReservations(a, c.OutputFlags, last)
}

func showReservations(a *cli.App, o cli.OutputFlags, reply api.ReservationsReply) error {
	cols := look.ReservationColumns(a)
	return cli.Report[api.Reservation]{
		Doc: reply, Rows: reply.Reservations, Cols: cols,
		IDs: job.Each(reply.Reservations, func(r api.Reservation) string { return cli.Number(r.ID) }),
		Text: func(wide bool) {
			if len(reply.Reservations) == 0 {
				a.Out.Printf("no reservations\n")
				return
			}
			term.WriteTable(a.Out, cols, reply.Reservations, wide)
		},
	}.Show(a, o)
}
