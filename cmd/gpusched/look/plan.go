package look

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/gantt"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// farPlan is the longest time that a plan covers.
const farPlan = 7 * 24 * time.Hour

// drawPlan draws the plan for the GPUs.
func (c *WhyCmd) drawPlan(ctx context.Context, a *cli.App) error {
	if e := a.Other(); e != nil {
		return e.Refusal("why --plan")
	}
	var j api.Job
	if c.ID != "" {
		reply, err := a.Job(ctx, c.ID)
		if err != nil {
			return err
		}
		j = reply.Job
	}
	reply, err := api.Plan(ctx, a.Client, cmp.Or(c.Within, farPlan))
	if err != nil {
		return err
	}
	rows := planRows(&reply)
	return cli.Report[planRow]{
		Doc: reply, Rows: rows, Cols: planColumns(a.Out), IDs: nil,
		Text: func(wide bool) { writePlan(a, &reply, j, c.Within, wide) },
	}.Show(a, c.OutputFlags)
}

// picture returns the settings for drawing a plan on this terminal.
func picture(a *cli.App, p *api.PlanReply, of job.ID, until time.Time) gantt.Picture {
	return gantt.Picture{
		Width: cmp.Or(a.Out.Width, 80), ASCII: asciiOnly(a), Paint: a.Out.Paint, Job: of,
		From: p.At.In(a.Out.Now.Location()), Until: until,
	}
}

// asciiOnly reports whether the terminal may be limited to ASCII characters.
func asciiOnly(a *cli.App) bool {
	locale := strings.ToUpper(cmp.Or(a.Getenv("LC_ALL"), a.Getenv("LC_CTYPE"), a.Getenv("LANG")))
	return a.Getenv("TERM") == "dumb" || !strings.Contains(locale, "UTF-8") && !strings.Contains(locale, "UTF8")
}

func writePlan(a *cli.App, p *api.PlanReply, j api.Job, within time.Duration, wide bool) {
	if len(p.GPUs) == 0 {
		a.Out.Printf("this machine has no GPU to plan\n")
		return
	}
	until := p.Until
	if within == 0 {
		until = gantt.Window(p, 0)
	}
	pic := picture(a, p, j.ID, until)
	zone, _ := pic.From.Zone()
	a.Out.Printf("%s to %s (%s), if no new job comes and all run as expected\n",
		pic.From.Format("Mon 15:04"), until.In(pic.From.Location()).Format("Mon 15:04"), zone)
	drawn := pic.Draw(p.GPUs)
	for _, line := range append(drawn, pic.Key(drawn)) {
		a.Out.Printf("%s\n", line)
	}
	a.Out.Printf("\n")
	rows := slices.DeleteFunc(planRows(p), func(r planRow) bool { return !r.From.Before(until) })
	first := rows[:min(len(rows), maxPlanRows)]
	if wide {
		first = rows
	}
	if len(first) > 0 {
		term.WriteTable(a.Out, planColumns(a.Out), first, wide)
	}
	writePlanNotes(a, p, j, len(rows)-len(first))
}

// maxPlanRows is the largest number of rows in the legend without -o wide.
const maxPlanRows = 30

// writePlanNotes prints facts that the picture does not show.
func writePlanNotes(a *cli.App, p *api.PlanReply, j api.Job, more int) {
	if more > 0 {
		a.Out.Printf("and %d more (-o wide shows all)\n", more)
	}
	switch late := p.Waiting - p.Planned; {
	case p.Closed:
		a.Out.Printf("no new job starts until an administrator allows it: %s waiting\n", cli.Count(p.Waiting, "job"))
	case late > 0:
		a.Out.Printf("%s not drawn: %s, on no GPU, or at an unknown time\n", amount(late), later(late))
	}
	if j.ID == 0 {
		return
	}
	name, text := term.Clean(cli.NameOfJob(j)), ""
	switch {
	case j.State != job.Queued:
		text = fmt.Sprintf("job %s is not waiting: it is %s", name, term.Clean(string(j.State)))
	case !j.ExpectedStart.IsZero():
		text = fmt.Sprintf("job %s is expected to start %s", name, cli.StartText(a.Out, j))
	case j.StartUnknown:
		text = fmt.Sprintf("job %s: %s", name, cli.UnknownStart(j))
	}
	if text != "" {
		a.Out.Printf("%s\n", a.Out.Wrap(text, "    "))
	}
}

func amount(n int) string {
	if n == 1 {
		return "1 waiting job is"
	}
	return strconv.Itoa(n) + " waiting jobs are"
}

func later(n int) string {
	if n == 1 {
		return "it starts later"
	}
	return "they start later"
}

// maxSmallPlan is the largest number of rows in the plan below a job's reasons.
const maxSmallPlan = 8

// writeSmallPlan draws the plan below a job's reasons, if it fits on the terminal.
func writeSmallPlan(a *cli.App, p *api.PlanReply, j api.Job, lines int) {
	if !a.Out.TTY || p == nil {
		return
	}
	p.GPUs = slices.DeleteFunc(p.GPUs, func(g job.GPUCourse) bool {
		return !slices.ContainsFunc(g.Stays, func(s job.Stay) bool { return s.Job == j.ID })
	})
	pic := picture(a, p, j.ID, gantt.Window(p, j.ID))
	drawn := pic.Draw(p.GPUs)
	if len(p.GPUs) == 0 || len(drawn) > maxSmallPlan+1 || lines+len(drawn)+2 > a.Out.Height {
		return
	}
	a.Out.Printf("\n")
	for _, line := range drawn {
		a.Out.Printf("%s\n", line)
	}
}

// planRow is one stay in the plan, on one or more GPUs.
type planRow struct {
	job.Stay
	GPUs []int `json:"gpus"`
}

// planRows returns the stays of a plan, ordered by their start. All GPUs of a job share one row.
func planRows(p *api.PlanReply) (rows []planRow) {
	for i := range p.GPUs {
		for _, s := range p.GPUs[i].Stays {
			at := slices.IndexFunc(rows, func(r planRow) bool {
				return s.Job != 0 && r.Job == s.Job && r.From.Equal(s.From) && !slices.Contains(r.GPUs, p.GPUs[i].Index)
			})
			if at < 0 {
				at, rows = len(rows), append(rows, planRow{Stay: s})
			}
			rows[at].GPUs = append(rows[at].GPUs, p.GPUs[i].Index)
		}
	}
	slices.SortStableFunc(rows, func(a, b planRow) int { return a.From.Compare(b.From) })
	return rows
}

// planned describes a row of the plan: its kind and the reason. If the reason begins with the kind,
// it returns the reason only.
func planned(r planRow) string {
	kind := string(r.Kind)
	if r.Sentence == "" || strings.HasPrefix(r.Sentence, kind) {
		return cmp.Or(r.Sentence, kind)
	}
	return kind + " (" + r.Sentence + ")"
}

func planColumns(out *term.Terminal) []term.Column[planRow] {
	end := func(r planRow) string {
		if r.Until.IsZero() {
			return "unknown"
		}
		return out.Clock(r.Until)
	}
	return []term.Column[planRow]{
		{Title: "JOB", Key: "job", Cell: func(r planRow) string { return r.Called }},
		{Title: "USER", Key: "user", Maybe: true, Least: 4, Cell: func(r planRow) string { return r.User }},
		{Title: "NAME", Key: "name", Maybe: true, Least: 4, Cell: func(r planRow) string { return r.Name }},
		{Title: "GPUS", Key: "gpus", Least: 4, Cell: func(r planRow) string { return job.FormatGPUList(r.GPUs) }},
		{Title: "WHAT", Key: "kind", Least: 8, Cell: planned,
			Raw: func(r planRow) string { return string(r.Kind) }},
		{Title: "FROM", Key: "from", Cell: func(r planRow) string { return out.Clock(r.From) }},
		{Title: "UNTIL", Key: "until", Cell: end, Raw: func(r planRow) string { return out.Clock(r.Until) }},
		{Title: "AT THE LATEST", Key: "late_until", Maybe: true, Cell: func(r planRow) string {
			if r.Late.Equal(r.Until) {
				return ""
			}
			return out.Clock(r.Late)
		}, Raw: func(r planRow) string { return out.Clock(r.Late) }},
		{Key: "detail", Cell: func(r planRow) string { return r.Sentence }},
	}
}
