package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// writeDrain says above a table that no job starts, if that is so.
func writeDrain(a *cli.App, d *api.Drain) {
	if d != nil {
		a.Out.Printf("%s\n", a.Out.Paint(term.Yellow, term.Clean(d.Text(a.Out.Reader()))))
	}
}

// GPUHolders returns the jobs that have GPUs, nil if there are no reservations.
func GPUHolders(ctx context.Context, a *cli.App, list []api.Reservation) ([]api.Job, error) {
	if len(list) == 0 {
		return nil, nil
	}
	reply, err := api.List(ctx, a.Client, api.ListQuery{})
	return slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return len(j.GPUs) == 0 }), err
}

// WriteOverruns names the jobs of others that run on reserved GPUs and may still run when the
// reservation begins. No reservation stops them.
func WriteOverruns(a *cli.App, list []api.Reservation, jobs []api.Job) {
	for _, r := range list {
		for _, j := range jobs {
			if text := overrun(a, &j, &r); text != "" {
				a.Out.Printf("%s\n", a.Out.Wrap(term.Clean(text), "    "))
			}
		}
	}
}

// overrun returns the sentence about a job that may still run on reserved GPUs when the reservation
// begins, although it is for other users; "" if that can't happen.
func overrun(a *cli.App, j *api.Job, r *api.Reservation) string {
	there := j.State != job.Queued && slices.ContainsFunc(j.GPUs, func(g api.Allocation) bool {
		return slices.ContainsFunc(r.GPUs, func(o api.Allocation) bool { return o.Index == g.Index })
	})
	limit, end := "without a time limit", limitEnd(*j)
	if !end.IsZero() {
		limit = "with a time limit that ends it by " + a.Out.Clock(end)
	}
	if !there || slices.Contains(r.Users, j.User) || !end.IsZero() && !end.After(r.From) {
		return ""
	}
	unless := ""
	if len(r.Groups) > 0 { // only the scheduler knows who is in a group
		unless = ", unless " + j.User + " is in " + strings.Join(r.Groups, " or ")
	}
	return fmt.Sprintf("reservation %d: job %s of %s runs there %s and will not be stopped%s: cancel it, requeue it or ask its owner",
		r.ID, cli.NameOfJob(*j), j.User, limit, unless)
}

// limitEnd returns the time at which a running job reaches its time limit, zero if unknown.
func limitEnd(j api.Job) time.Time {
	if j.TimeLimit == 0 || j.StartedAt.IsZero() || !j.SuspendedAt.IsZero() {
		return time.Time{}
	}
	return j.StartedAt.Add((j.TimeLimit + j.SuspendedTime).Duration())
}

func ReservationColumns(a *cli.App) []term.Column[api.Reservation] {
	return []term.Column[api.Reservation]{
		{Title: "RESERVATION", Key: "id", Right: true, Cell: func(r api.Reservation) string { return cli.Number(r.ID) }},
		{Title: "GPUS", Key: "gpu_ids", Cell: func(r api.Reservation) string { return cli.GPUIndexes(r.GPUs) }},
		{Title: "FROM", Key: "from", Cell: func(r api.Reservation) string { return a.Out.Clock(r.From) }, Raw: func(r api.Reservation) string { return cli.Stamp(r.From) }},
		{Title: "TO", Key: "to", Cell: func(r api.Reservation) string { return a.Out.Clock(r.To) }, Raw: func(r api.Reservation) string { return cli.Stamp(r.To) }},
		{Title: "FOR", Least: 8, Cell: ReservedFor},
		{Key: "users", Cell: func(r api.Reservation) string { return strings.Join(r.Users, ",") }},
		{Key: "groups", Cell: func(r api.Reservation) string { return strings.Join(r.Groups, ",") }},
		{Title: "BY", Key: "by", Cell: func(r api.Reservation) string { return r.By }},
		{Title: "REASON", Key: "reason", Least: 8, Cell: func(r api.Reservation) string { return r.Reason }},
	}
}

// ReservedFor lists the users and groups that may use the GPUs.
func ReservedFor(r api.Reservation) string {
	parts := append(slices.Clone(r.Users), cli.Each(r.Groups, func(g string) string { return "group " + g })...)
	return cmp.Or(strings.Join(parts, ", "), "nobody")
}
