package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor/installation"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type HealthCmd struct {
	QuietHealth
	cli.OutputFlags
}

func (*HealthCmd) About() cli.About {
	return cli.About{Host: cli.RunThere, Hosts: cli.InTurn, Slurm: cli.ForSlurm}
}

// QuietHealth is the flag that leaves out healthy parts.
type QuietHealth struct {
	Quiet bool `name:"quiet" short:"q"`
}

func (c *HealthCmd) Run(ctx context.Context, a *cli.App) error {
	reply, err := api.Health(ctx, a.Client)
	if err != nil {
		return err
	}
	return ShowHealth(a, c.OutputFlags, c.Quiet, "health", reply)
}

// statusDegraded is the exit status if everything works but something needs attention.
const statusDegraded = 9

// ShowHealth prints checks and returns their exit status. For people it prints the worst checks
// first.
func ShowHealth(a *cli.App, f cli.OutputFlags, quiet bool, command string, reply api.HealthReply) error {
	if quiet {
		reply.Checks = slices.DeleteFunc(slices.Clone(reply.Checks), needsNothing)
	}
	var bad []string
	for _, check := range reply.Checks {
		if !needsNothing(check) && check.Health != installation.Unknown {
			bad = append(bad, check.Name)
		}
	}
	err := cli.Report[job.Check]{
		Doc: reply, Rows: reply.Checks, Cols: healthColumns(a.Out), IDs: bad,
		Text: func(wide bool) {
			reply.Checks = WorstFirst(reply.Checks)
			switch {
			case quiet:
				WriteProblems(a, reply.Checks)
			case wide || !a.Out.TTY:
				writeHealth(a, reply, wide)
			default:
				writeBriefHealth(a, reply, command)
			}
		},
	}.Show(a, f)
	if err != nil {
		return err
	}
	return HealthStatus(reply.Health)
}

// HealthStatus returns the exit status for a state of health.
func HealthStatus(h job.Health) error {
	switch h {
	case job.Failing:
		return cli.ExitStatus(1)
	case job.Degraded:
		return cli.ExitStatus(statusDegraded)
	}
	return nil
}

func isWell(c job.Check) bool { return c.Health == job.Healthy }

// needsNothing reports whether the part that was checked needs no action.
func needsNothing(c job.Check) bool { return isWell(c) || c.Health == job.Limited }

// WorstFirst sorts checks. Parts that need action come first.
func WorstFirst(checks []job.Check) []job.Check {
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
	case installation.Unknown:
		return 2
	case job.Degraded:
		return 1
	}
	return 0
}

// writeBriefHealth prints problems in full, and only the names of healthy parts.
func writeBriefHealth(a *cli.App, reply api.HealthReply, command string) {
	bad := slices.IndexFunc(reply.Checks, isWell)
	if bad < 0 {
		bad = len(reply.Checks)
	}
	problems, well := reply.Checks[:bad], reply.Checks[bad:]
	limited := 0
	for _, c := range problems {
		if needsNothing(c) {
			limited++
		}
	}
	text := fmt.Sprintf(", all of %s", cli.Count(len(well), "part"))
	switch broken := bad - limited; {
	case broken > 0 && limited > 0:
		text = fmt.Sprintf(", %d of %s not healthy, %d limited", broken, cli.Count(len(reply.Checks), "part"), limited)
	case broken > 0:
		text = fmt.Sprintf(", %d of %s not healthy", broken, cli.Count(len(reply.Checks), "part"))
	case limited > 0:
		text = fmt.Sprintf(", %d of %s limited", limited, cli.Count(len(reply.Checks), "part"))
	}
	a.Out.Printf("%s%s\n", a.Out.Paint(HealthStyle(reply.Health), string(reply.Health)), text)
	if WriteProblems(a, problems); len(well) > 0 {
		a.Out.Printf("%s\n", a.Out.Wrap("healthy: "+cli.Joined(well, ", ", func(c job.Check) string { return c.Name }), "         "))
	}
	a.Out.Printf("All parts in full, and hints: gpusched %s -o wide\n", command)
}

// WriteProblems prints the fault of each part and what to do about it.
func WriteProblems(a *cli.App, checks []job.Check) {
	for i, c := range checks {
		health := term.Pad(string(c.Health), 8, false)
		text := a.Out.Wrap(fmt.Sprintf("%s  %s: %s", health, term.Clean(c.Name), term.Clean(a.Out.Reader().Check(c))), "          ")
		a.Out.Printf("%s%s\n", a.Out.Paint(HealthStyle(c.Health), health), text[len(health):])
		same := slices.IndexFunc(checks[:i], func(b job.Check) bool { return b.Next == c.Next })
		switch {
		case c.Next == "":
		case same >= 0:
			a.Out.Printf("          → as for %s\n", term.Clean(checks[same].Name))
		default:
			a.Out.Printf("%s\n", a.Out.Wrap("          → "+term.Clean(c.Next), "            "))
		}
	}
}

func writeHealth(a *cli.App, reply api.HealthReply, wide bool) {
	a.Out.Printf("%s\n\n", a.Out.Paint(HealthStyle(reply.Health), string(reply.Health)))
	term.WriteTable(a.Out, healthColumns(a.Out), reply.Checks, wide)
	writeNext(a.Out, "what to do", reply.Checks, func(c job.Check) bool { return !needsNothing(c) })
	writeNext(a.Out, "what you may want", reply.Checks, needsNothing)
}

// writeNext prints a title and the advice of the checks that its last argument selects. It prints
// the same advice only once.
func writeNext(t *term.Terminal, title string, checks []job.Check, selected func(job.Check) bool) {
	checks = slices.DeleteFunc(slices.Clone(checks), func(c job.Check) bool { return c.Next == "" || !selected(c) })
	for i, c := range checks {
		if i == 0 {
			t.Printf("\n%s:\n", title)
		}
		same := func(other job.Check) bool { return other.Next == c.Next }
		if slices.ContainsFunc(checks[:i], same) {
			continue
		}
		of := slices.DeleteFunc(slices.Clone(checks[i:]), func(other job.Check) bool { return !same(other) })
		t.Printf("  %s: %s\n", cli.Joined(of, ", ", func(c job.Check) string { return term.Clean(c.Name) }), term.Clean(c.Next))
	}
}

func healthColumns(t *term.Terminal) []term.Column[job.Check] {
	return []term.Column[job.Check]{
		{Title: "PART", Key: "name", Cell: func(c job.Check) string { return c.Name }},
		{Title: "HEALTH", Key: "health", Cell: func(c job.Check) string { return string(c.Health) }, Style: func(c job.Check) term.Style { return HealthStyle(c.Health) }},
		{Title: "DETAIL", Key: "detail", Least: 20, Cell: t.Reader().Check, Raw: func(c job.Check) string { return c.Detail }},
		{Key: "next", Cell: func(c job.Check) string { return c.Next }},
	}
}

// HealthStyle is like styleOf, but for checks, whose health can also be UNKNOWN.
func HealthStyle(health job.Health) term.Style {
	if health == installation.Unknown || health == job.Limited {
		return term.Plain
	}
	return styleOf(health)
}
