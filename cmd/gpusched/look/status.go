package look

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type StatusCmd struct {
	Detailed bool `name:"detailed"`
	Short    bool `name:"short"`
	cli.OutputFlags
	cli.AgainFlags
}

func (*StatusCmd) About() cli.About {
	return cli.About{Host: cli.ShownHere, Hosts: cli.Together, Slurm: cli.ForSlurm, Usual: true}
}

func (c *StatusCmd) Run(ctx context.Context, a *cli.App) error {
	if c.Short {
		if err := c.onlyShort(a); err != nil {
			return err
		}
		return showShort(ctx, a)
	}
	return c.Again(ctx, a, c.OutputFlags, func() error {
		reply, err := afar.Fetch(ctx, a, func() (api.StatusReply, error) { return api.Status(ctx, a.Client) })
		if err != nil {
			return err
		}
		jobs := append(append([]api.Job{}, reply.Running...), reply.Waiting...)
		text := func(wide bool) { writeStatus(a, reply, jobs, wide, c.Detailed) }
		return a.JobReport(reply, jobs, text).Show(a, c.OutputFlags)
	})
}

// onlyShort refuses options that can't be combined with --short.
func (c *StatusCmd) onlyShort(a *cli.App) error {
	switch {
	case c.Detailed || c.Watch || c.Form() != "table":
		return cli.Usagef("--short is one line for people: leave out the other options")
	case a.Host != "":
		return cli.Usagef("--short is about this machine: leave out --hosts")
	}
	return nil
}

func writeStatus(a *cli.App, s api.StatusReply, jobs []api.Job, wide, detailed bool) {
	t := a.Out
	t.Printf("gpusched %s, up since %s\n", term.Clean(s.Version), t.Moment(s.StartedAt))
	t.Printf("health    %s\n", healthLine(a, s))
	t.Printf("jobs      %s\n", cmp.Or(api.CountLine(s.Counts), "none")+classLine(s.Totals))
	if line := endedLine(s.Totals, detailed); line != "" {
		t.Printf("ended     %s\n", line)
	}
	if line := promisedLine(&s.Host); line != "" {
		t.Printf("allocated %s\n", line)
	}
	writeDrain(a, s.Drain)
	writeStatusTables(a, s, jobs, wide, detailed, " ('gpusched list' shows them)")
}

// writeStatusTables prints the GPUs, and as many jobs as there is room for. The hint says how to see
// the others.
func writeStatusTables(a *cli.App, s api.StatusReply, jobs []api.Job, wide, detailed bool, hint string) {
	t := a.Out
	if len(s.GPUs) > 0 {
		t.Printf("\n")
		a.WriteGPUs(s.GPUs, wide)
	}
	hidden := s.Counts[job.Queued] - len(s.Waiting)
	if !wide && !detailed {
		if jobs = api.ByState(jobs, 0); t.Height > 0 {
			some, rest := fitRows(jobs, max(t.Height-statusLines-len(s.GPUs)-len(s.Hosts), leastShown))
			jobs, hidden = some, hidden+rest
		}
	}
	if len(jobs) > 0 {
		t.Printf("\n")
		term.WriteTable(t, a.JobColumns(), jobs, wide)
	}
	if hidden > 0 {
		t.Printf("… and %d more%s\n", hidden, hint)
	}
}

// statusLines is how many lines a status has in addition to GPUs and jobs. It includes the prompt
// and the first line of --watch. leastShown is how many jobs are shown even if they do not fit on
// the terminal.
const (
	statusLines = 14
	leastShown  = 4
)

// healthLine shows the scheduler's health and its worst problem.
func healthLine(a *cli.App, s api.StatusReply) string {
	text := string(s.Health)
	if s.Health == job.Healthy {
		return a.Out.Paint(styleOf(s.Health), text)
	}
	hint := " ('gpusched health')"
	if s.Problem != nil {
		text += ": " + term.Clean(s.Problem.Name+": "+a.Out.Reader().Check(*s.Problem))
	}
	if room := a.Out.Width - len("health    ") - len(hint); a.Out.Width > 0 {
		text = term.Cut(text, max(room, 10))
	}
	word, rest, _ := strings.Cut(text, ":")
	if rest != "" {
		rest = ":" + rest
	}
	return a.Out.Paint(styleOf(s.Health), word) + rest + hint
}

// classLine counts the live jobs of each class. If all are of class normal, it is empty.
func classLine(t *job.Totals) string {
	var parts cli.Phrases
	if t == nil || len(t.Classes) == 1 && t.Classes[job.Normal] != (job.ClassTotals{}) {
		return ""
	}
	for class := job.Interactive; class >= job.Scavenger; class-- {
		n := t.Classes[class]
		parts.Add(n.Queued+n.Active > 0, "%d %s", n.Queued+n.Active, class)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// endedLine counts the jobs that have ended.
func endedLine(t *job.Totals, detailed bool) string {
	if t == nil {
		return ""
	}
	ended, bad := 0, 0
	var each cli.Phrases
	for _, state := range job.EndStates() {
		n := t.Ended[state]
		if ended += n; state != job.Completed && state != job.Cancelled {
			bad += n
		}
		each.Add(n > 0, "%d %s", n, state)
	}
	text := fmt.Sprintf("%d since the scheduler started", ended)
	switch {
	case detailed && len(each) > 0:
		text += " (" + strings.Join(each, ", ") + ")"
	case bad > 0:
		text += fmt.Sprintf(", %d of them failed", bad)
	}
	return text + fmt.Sprintf("; %d submitted in all", t.Submitted)
}

// promisedLine shows how much of the host's memory, CPUs and job places is in use.
func promisedLine(h *job.HostView) string {
	var parts cli.Phrases
	parts.Add(h.MemBytes > 0, "memory %s of %s", job.FormatSize(h.PromisedMem), job.FormatSize(h.MemBytes))
	parts.Add(h.ParkedMem > 0, "%s of that for parked jobs", job.FormatSize(h.ParkedMem))
	parts.Add(h.CPUs > 0, "CPUs %d of %d", h.PromisedCPUs, h.CPUs)
	parts.Add(h.Places > 0, "jobs %d of %d", h.Taken, h.Places)
	return strings.Join(parts, ", ")
}

// styleOf returns the style for a health state that the scheduler reports.
func styleOf(health job.Health) term.Style {
	switch health {
	case job.Healthy:
		return term.Green
	case job.Degraded:
		return term.Yellow
	}
	return term.Red
}

// fitRows returns the first rows, as many as there is room for. The second result is the number of
// jobs in the other rows.
func fitRows(rows []api.Job, room int) (some []api.Job, hidden int) {
	room = min(len(rows), room)
	for _, j := range rows[room:] {
		hidden += max(1, j.Alike)
	}
	return rows[:room], hidden
}
