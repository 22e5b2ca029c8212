package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/doctor/installation"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// healthCmd checks the scheduler.
type healthCmd struct {
	quietHealth
	outputFlags
}

func (*healthCmd) About() About { return About{Host: RunThere, Hosts: InTurn, Slurm: ForSlurm} }

// quietHealth leaves out what is well.
type quietHealth struct {
	Quiet bool `name:"quiet" short:"q"`
}

func (c *healthCmd) Run(ctx context.Context, a *app) error {
	reply, err := api.Health(ctx, a.client)
	if err != nil {
		return err
	}
	return a.showHealth(c.outputFlags, c.Quiet, "health", reply)
}

// statusDegraded is the exit status where everything works, and not all as it
// should.
const statusDegraded = 9

// showHealth prints checks, for people the worst first, and gives the exit status that they mean.
func (a *app) showHealth(f outputFlags, quiet bool, command string, reply api.HealthReply) error {
	if quiet {
		reply.Checks = slices.DeleteFunc(slices.Clone(reply.Checks), works)
	}
	var bad []string
	for _, check := range reply.Checks {
		if !works(check) && check.Health != installation.Unseen {
			bad = append(bad, check.Name)
		}
	}
	err := report[job.Check]{
		doc: reply, rows: reply.Checks, cols: healthColumns(a.out), ids: bad,
		text: func(wide bool) {
			reply.Checks = worstFirst(reply.Checks)
			switch {
			case quiet:
				a.writeProblems(reply.Checks)
			case wide || !a.out.TTY:
				a.writeHealth(reply, wide)
			default:
				a.writeBriefHealth(reply, command)
			}
		},
	}.show(a, f)
	if err != nil {
		return err
	}
	return healthStatus(reply.Health)
}

// healthStatus is the exit status for a health.
func healthStatus(h job.Health) error {
	switch h {
	case job.Failing:
		return exitStatus(1)
	case job.Degraded:
		return exitStatus(statusDegraded)
	}
	return nil
}

func isWell(c job.Check) bool { return c.Health == job.Healthy }

// works reports whether nothing needs to be done about a part.
func works(c job.Check) bool { return isWell(c) || c.Health == job.Limited }

// worstFirst are the checks with those first that somebody has to do something about.
func worstFirst(checks []job.Check) []job.Check {
	list := slices.Clone(checks)
	slices.SortStableFunc(list, func(x, y job.Check) int { return cmp.Compare(rankOf(x.Health), rankOf(y.Health)) })
	return list
}

func rankOf(h job.Health) int {
	switch h {
	case job.Healthy:
		return 4
	case job.Limited:
		return 3
	case installation.Unseen:
		return 2
	case job.Degraded:
		return 1
	}
	return 0
}

// writeBriefHealth is for a terminal: problems in full, of the rest the names.
func (a *app) writeBriefHealth(reply api.HealthReply, command string) {
	bad := slices.IndexFunc(reply.Checks, isWell)
	if bad < 0 {
		bad = len(reply.Checks)
	}
	problems, well := reply.Checks[:bad], reply.Checks[bad:]
	limited := 0
	for _, c := range problems {
		if works(c) {
			limited++
		}
	}
	text := fmt.Sprintf(", all of %s", count(len(well), "part"))
	switch broken := bad - limited; {
	case broken > 0 && limited > 0:
		text = fmt.Sprintf(", %d of %s not healthy, %d limited", broken, count(len(reply.Checks), "part"), limited)
	case broken > 0:
		text = fmt.Sprintf(", %d of %s not healthy", broken, count(len(reply.Checks), "part"))
	case limited > 0:
		text = fmt.Sprintf(", %d of %s limited", limited, count(len(reply.Checks), "part"))
	}
	a.out.Printf("%s%s\n", a.out.Paint(healthStyle(reply.Health), string(reply.Health)), text)
	if a.writeProblems(problems); len(well) > 0 {
		a.out.Printf("%s\n", a.out.Wrap("healthy: "+joined(well, ", ", func(c job.Check) string { return c.Name }), "         "))
	}
	a.out.Printf("All parts in full, and hints: gpusched %s -o wide\n", command)
}

// writeProblems says of each what is wrong and what to do.
func (a *app) writeProblems(checks []job.Check) {
	for i, c := range checks {
		health := term.Pad(string(c.Health), 8, false)
		text := a.out.Wrap(fmt.Sprintf("%s  %s: %s", health, term.Clean(c.Name), term.Clean(a.out.Reader().Check(c))), "          ")
		a.out.Printf("%s%s\n", a.out.Paint(healthStyle(c.Health), health), text[len(health):])
		same := slices.IndexFunc(checks[:i], func(b job.Check) bool { return b.Next == c.Next })
		switch {
		case c.Next == "":
		case same >= 0:
			a.out.Printf("          → as for %s\n", term.Clean(checks[same].Name))
		default:
			a.out.Printf("%s\n", a.out.Wrap("          → "+term.Clean(c.Next), "            "))
		}
	}
}

func (a *app) writeHealth(reply api.HealthReply, wide bool) {
	a.out.Printf("%s\n\n", a.out.Paint(healthStyle(reply.Health), string(reply.Health)))
	term.WriteTable(a.out, healthColumns(a.out), reply.Checks, wide)
	writeNext(a.out, "what to do", reply.Checks, func(c job.Check) bool { return !works(c) })
	writeNext(a.out, "what you may want", reply.Checks, works)
}

// writeNext prints under a title what those checks say comes next, the same advice once.
func writeNext(t *term.Terminal, title string, checks []job.Check, these func(job.Check) bool) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c job.Check) bool { return c.Next == "" || !these(c) })
	for i, c := range checks {
		if i == 0 {
			t.Printf("\n%s:\n", title)
		}
		same := func(other job.Check) bool { return other.Next == c.Next }
		if slices.ContainsFunc(checks[:i], same) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(checks[i:]), func(other job.Check) bool { return !same(other) })
		t.Printf("  %s: %s\n", joined(of, ", ", func(c job.Check) string { return term.Clean(c.Name) }), term.Clean(c.Next))
	}
}

func healthColumns(t *term.Terminal) []term.Column[job.Check] {
	return []term.Column[job.Check]{
		{Title: "PART", Key: "name", Cell: func(c job.Check) string { return c.Name }},
		{Title: "HEALTH", Key: "health", Cell: func(c job.Check) string { return string(c.Health) }, Style: func(c job.Check) term.Style { return healthStyle(c.Health) }},
		{Title: "DETAIL", Key: "detail", Least: 20, Cell: t.Reader().Check, Raw: func(c job.Check) string { return c.Detail }},
		{Key: "next", Cell: func(c job.Check) string { return c.Next }},
	}
}

// healthStyle is styleOf with what a user may not look at.
func healthStyle(health job.Health) term.Style {
	if health == installation.Unseen || health == job.Limited {
		return term.Plain
	}
	return styleOf(health)
}
