package look

import (
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

// writeDrain prints above a table that no job starts, if the scheduler is drained.
func writeDrain(a *cli.App, d *api.Drain) {
	if d != nil {
		a.Out.Printf("%s\n", a.Out.Paint(term.Yellow, term.Clean(d.Text(a.Out.Reader()))))
	}
}

// GPUHolders returns the jobs that have GPUs. If there are no reservations, it returns nil.
func GPUHolders(ctx context.Context, a *cli.App, list []api.Reservation) ([]api.Job, error) {
	if len(list) == 0 {
		return nil, nil
	}
	reply, err := api.List(ctx, a.Client, api.ListQuery{})
	return slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return len(j.GPUs) == 0 }), err
}

// WriteOverruns lists jobs that are on reserved GPUs although the reservation is for other users,
// and that may still run when the reservation begins. No reservation stops such jobs.
func WriteOverruns(a *cli.App, list []api.Reservation, jobs []api.Job) {
	for _, r := range list {
		for _, j := range jobs {
			if text := overrun(a, &j, &r); text != "" {
				a.Out.Printf("%s\n", a.Out.Wrap(term.Clean(text), "    "))
			}
		}
	}
}

// overrun returns a sentence if a job on reserved GPUs may still run when the reservation begins,
// although the reservation is for other users. Otherwise it returns "".
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
	if len(r.Groups) > 0 { // only the scheduler knows the members of a group
		unless = ", unless " + j.User + " is in " + strings.Join(r.Groups, " or ")
	}
	return fmt.Sprintf("reservation %d: job %s of %s runs there %s and will not be stopped%s: cancel it, requeue it or ask its owner",
		r.ID, cli.NameOfJob(*j), j.User, limit, unless)
}

// limitEnd returns when a running job reaches its time limit, or the zero time if that is unknown.
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

// ReservedFor lists the users and groups that may use the reserved GPUs.
func ReservedFor(r api.Reservation) string {
	return job.People{Users: r.Users, Groups: r.Groups}.String()
}
