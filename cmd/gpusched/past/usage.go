package past

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	counting "github.com/gpusched/gpusched/daemon/report"
)

// UsageCmd shows how much a user has used, and the user's share and quotas.
type UsageCmd struct {
	User string `arg:"" optional:"" name:"user" help:"An account. Default: your own."`
	cli.OutputFlags
}

func (*UsageCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.InTurn,
		Slurm: cli.NotForSlurm("Slurm's accounting knows the use of quotas", "'sshare', and 'sacctmgr show assoc' for the limits"),
	}
}

// oldestPeriod is longer than any period that 'gpusched usage' shows.
const oldestPeriod = 40 * 24 * time.Hour

func (c *UsageCmd) Run(ctx context.Context, a *cli.App) error {
	now := a.Out.Now
	zone := counting.ZoneOf(now.Location(), now.Add(-oldestPeriod), now).String()
	reply, err := api.Usage(ctx, a.Client, api.UsageQuery{User: c.User, Zone: zone})
	if err != nil {
		return err
	}
	return cli.Report[job.QuotaUse]{
		Doc: reply, Whole: true, Rows: reply.Quotas, Cols: quotaColumns(), IDs: []string{reply.User},
		Text: func(wide bool) { writeUsage(a, reply, wide) },
	}.Show(a, c.OutputFlags)
}

func writeUsage(a *cli.App, u api.UsageReply, wide bool) {
	t := a.Out
	type line struct {
		name string
		row  api.ReportRow
	}
	t.Printf("%s\n\n", t.Paint(term.Bold, term.Clean(u.User)))
	term.WriteTable(t, []term.Column[line]{
		{Title: "PERIOD", Cell: func(l line) string { return l.name }},
		{Title: "GPU-HOURS", Right: true, Cell: func(l line) string { return term.Hours(l.row.GPUHours) }},
		{Title: "JOBS", Right: true, Cell: func(l line) string { return fmt.Sprint(l.row.Jobs) }},
		{Title: "FAILED", Right: true, Cell: func(l line) string { return fmt.Sprint(l.row.Failures()) }},
		{Title: "GPU%", Right: true, Cell: func(l line) string { return cli.Dash(cli.PercentOf(l.row.Efficiency.GPU)) }},
		{Title: "ENERGY", Right: true, Cell: func(l line) string { return energyCell(l.row.EnergyJoules) }},
		{Title: "WAITED", Right: true, Cell: func(l line) string { return secondsCell(timesOf(l.row.Wait, median)) }},
	}, []line{{"today", u.Today}, {"this week", u.Week}, {"this month", u.Month}}, wide)
	t.Printf("\n%s\n\n", shareSentence(u))
	term.WriteTable(t, quotaColumns(), u.Quotas, wide)
	if lines := limitLines(u.Limits); len(lines) > 0 {
		t.Printf("\n%s\n", strings.Join(lines, "\n"))
	}
}

// limitLines describes the longest time limits that jobs may have. Classes with the same limit
// share a line.
func limitLines(list []job.ClassLimit) (lines []string) {
	of, bounds := map[job.Span][]string{}, []job.Span(nil)
	for _, l := range list {
		if l.Most > 0 && of[l.Most] == nil {
			bounds = append(bounds, l.Most)
		}
		of[l.Most] = append(of[l.Most], l.Class.String())
	}
	for _, most := range bounds {
		which := "jobs"
		if len(of[most]) < len(list) {
			which = "jobs of class " + strings.Join(of[most], ", ")
		}
		lines = append(lines, which+" may ask for "+term.Age(most.Duration())+" at most (--time)")
	}
	return lines
}

// shareSentence explains how a user's recent use affects the user's place in the queue.
func shareSentence(u api.UsageReply) string {
	name := term.Clean(u.User)
	if u.UsedPercent == nil || u.CountedHours == 0 {
		return "No recent use counts against " + name + "."
	}
	text := "Recent use: " + term.Hours(u.CountedHours) + " GPU-hours"
	if u.HalfLife > 0 {
		text += " (halved every " + term.Age(u.HalfLife.Duration()) + ")"
	}
	if u.EntitledPercent == nil {
		return text + fmt.Sprintf(", %.0f%% of the use of everybody who has jobs now (groups have shares of their own).", *u.UsedPercent)
	}
	used, due := *u.UsedPercent, *u.EntitledPercent
	if due > 99.5 {
		return text + ". Nobody else has jobs now."
	}
	text += fmt.Sprintf(", %.0f%% of the use of everybody who has jobs now; the fair share of %s is %.0f%%.", used, name, due)
	switch {
	case used > due*1.1:
		text += "\nOther things being equal, jobs of users below their share start first."
	case used < due*0.9:
		text += "\nOther things being equal, jobs of " + name + " start before those of users above their share."
	}
	return text
}

// quotaNames maps quotas to names for people.
var quotaNames = map[job.QuotaKind]string{
	job.QuotaGPUs: "GPUs at once", job.QuotaRunning: "running jobs", job.QuotaMem: "host memory",
	job.QuotaCPUs: "CPUs", job.QuotaQueued: "waiting jobs", job.QuotaUsage: "GPU-hours",
}

func quotaColumns() []term.Column[job.QuotaUse] {
	amount := func(q job.QuotaUse, n int64) string {
		switch q.What {
		case job.QuotaGPUs:
			return job.FormatGPUs(int(n))
		case job.QuotaMem:
			return job.FormatSize(n)
		case job.QuotaUsage:
			return term.Hours(float64(n) / 3600)
		}
		return cli.Number(n)
	}
	return []term.Column[job.QuotaUse]{
		{Title: "QUOTA", Key: "what", Cell: func(q job.QuotaUse) string {
			if q.Group != "" {
				return quotaNames[q.What] + ", group " + q.Group
			}
			return quotaNames[q.What]
		}, Raw: func(q job.QuotaUse) string { return string(q.What) }},
		{Key: "group", Cell: func(q job.QuotaUse) string { return q.Group }},
		{Title: "USED", Key: "has", Right: true, Cell: func(q job.QuotaUse) string { return amount(q, q.Has) }, Raw: func(q job.QuotaUse) string { return cli.Number(q.Has) }},
		{Title: "LIMIT", Key: "most", Right: true, Cell: func(q job.QuotaUse) string {
			if q.Most == 0 {
				return "none"
			}
			return amount(q, q.Most)
		}, Raw: func(q job.QuotaUse) string { return cli.RawSize(q.Most) }},
		{Title: "LEFT", Key: "left", Right: true, Cell: func(q job.QuotaUse) string {
			if q.Most == 0 {
				return "-"
			}
			return amount(q, max(0, q.Most-q.Has))
		}, Raw: func(q job.QuotaUse) string {
			if q.Most == 0 {
				return ""
			}
			return cli.Number(max(0, q.Most-q.Has))
		}},
	}
}
