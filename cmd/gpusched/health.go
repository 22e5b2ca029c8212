package main

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/doctor"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// healthCmd checks the scheduler.
type healthCmd struct {
	outputFlags
}

func (c *healthCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.client.Health(ctx)
	if err != nil {
		return err
	}
	return a.showHealth(c.outputFlags, reply)
}

// statusDegraded is the exit status where everything works, and not all as it
// should.
const statusDegraded = 9

// showHealth prints checks, and gives the exit status that they mean.
func (a *app) showHealth(f outputFlags, reply api.HealthReply) error {
	var bad []string
	for _, check := range reply.Checks {
		if check.Health != job.Healthy && check.Health != doctor.Unseen {
			bad = append(bad, check.Name)
		}
	}
	err := report[job.Check]{
		doc: reply, rows: reply.Checks, cols: healthColumns, ids: bad,
		text: func(wide bool) { a.writeHealth(reply, wide) },
	}.show(a, f)
	if err != nil {
		return err
	}
	switch reply.Health {
	case job.Failing:
		return exitStatus(1)
	case job.Degraded:
		return exitStatus(statusDegraded)
	}
	return nil
}

func (a *app) writeHealth(reply api.HealthReply, wide bool) {
	a.out.Printf("%s\n\n", a.out.Paint(healthStyle(reply.Health), string(reply.Health)))
	term.WriteTable(a.out, healthColumns, reply.Checks, wide)
	writeNext(a.out, "what to do", reply.Checks, func(c job.Check) bool { return c.Health != job.Healthy })
	writeNext(a.out, "what you may want", reply.Checks, func(c job.Check) bool { return c.Health == job.Healthy })
}

// writeNext prints under a title what those checks say comes next.
func writeNext(t *term.Terminal, title string, checks []job.Check, these func(job.Check) bool) {
	first := true
	for _, c := range checks {
		if c.Next == "" || !these(c) {
			continue
		}
		if first {
			t.Printf("\n%s:\n", title)
			first = false
		}
		t.Printf("  %s: %s\n", term.Clean(c.Name), term.Clean(c.Next))
	}
}

var healthColumns = []term.Column[job.Check]{
	{Title: "PART", Key: "name", Cell: func(c job.Check) string { return c.Name }},
	{Title: "HEALTH", Key: "health", Cell: func(c job.Check) string { return string(c.Health) }, Style: func(c job.Check) term.Style { return healthStyle(c.Health) }},
	{Title: "DETAIL", Key: "detail", Least: 20, Cell: func(c job.Check) string { return c.Detail }},
	{Key: "next", Cell: func(c job.Check) string { return c.Next }},
}

func healthStyle(health job.Health) term.Style {
	switch health {
	case job.Healthy:
		return term.Green
	case job.Degraded:
		return term.Yellow
	case doctor.Unseen:
		return term.Plain
	}
	return term.Red
}
