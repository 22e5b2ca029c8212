package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	counting "github.com/gpusched/gpusched/daemon/report"
)

// usageCmd says where a user stands.
type usageCmd struct {
	User string `arg:"" optional:"" name:"user" help:"An account. Default: your own."`
	outputFlags
}

// oldestPeriod is longer than the longest of the periods that usage counts.
const oldestPeriod = 40 * 24 * time.Hour

func (c *usageCmd) Run(ctx context.Context, a *app) error {
	now := a.out.Now
	reply, err := a.client.Usage(ctx, c.User, counting.ZoneOf(now.Location(), now.Add(-oldestPeriod), now).String())
	if err != nil {
		return err
	}
	return report[api.QuotaUse]{
		doc: reply, whole: true, rows: reply.Quotas, cols: quotaColumns(), ids: []string{reply.User},
		text: func(wide bool) { a.writeUsage(reply, wide) },
	}.show(a, c.outputFlags)
}

func (a *app) writeUsage(u api.UsageReply, wide bool) {
	t := a.out
	type line struct {
		name string
		row  api.ReportRow
	}
	t.Printf("%s\n\n", t.Paint(term.Bold, term.Clean(u.User)))
	term.WriteTable(t, []term.Column[line]{
		{Title: "SINCE", Cell: func(l line) string { return l.name }},
		{Title: "GPU-HOURS", Right: true, Cell: func(l line) string { return hours(l.row.GPUHours) }},
		{Title: "JOBS", Right: true, Cell: func(l line) string { return fmt.Sprint(l.row.Jobs) }},
		{Title: "FAILED", Right: true, Cell: func(l line) string { return fmt.Sprint(failures(l.row)) }},
		{Title: "GPU%", Right: true, Cell: func(l line) string { return orDash(percentOf(l.row.Efficiency.GPU)) }},
		{Title: "ENERGY", Right: true, Cell: func(l line) string { return energyCell(l.row.EnergyJoules) }},
		{Title: "WAITED", Right: true, Cell: func(l line) string { return secondsCell(timesOf(l.row.Wait, median)) }},
	}, []line{{"midnight", u.Today}, {"Monday", u.Week}, {"the first of the month", u.Month}}, wide)
	t.Printf("\n%s\n\n", shareSentence(u))
	term.WriteTable(t, quotaColumns(), u.Quotas, wide)
	t.Printf("\n")
	for _, l := range u.Limits {
		if l.Most > 0 {
			t.Printf("the longest time limit of class %s is %s\n", l.Class, term.Age(time.Duration(l.Most)*time.Second))
		}
	}
}

// shareSentence says in words what counts for the order of the queue.
func shareSentence(u api.UsageReply) string {
	counts := fmt.Sprintf("For the order of the queue %s GPU-hours count", hours(u.CountedHours))
	if u.HalfLifeSeconds > 0 {
		counts += "; use counts half after " + term.Age(time.Duration(u.HalfLifeSeconds)*time.Second)
	}
	switch {
	case u.UsedPercent == nil:
		return counts + ".\nNobody who has jobs now has used anything."
	case u.EntitledPercent == nil:
		return counts + fmt.Sprintf(".\nThat is %.0f%% of what all who have jobs now have used (groups have shares, too).", *u.UsedPercent)
	}
	used, due := *u.UsedPercent, *u.EntitledPercent
	counts += fmt.Sprintf(".\nThat is %.0f%% of what all who have jobs now have used; %.0f%% is due", used, due)
	switch {
	case due > 99.5:
		return counts + ": nobody else has jobs."
	case used > due*1.1:
		return counts + ".\nJobs of users who used less go first."
	case used < due*0.9:
		return counts + ".\nJobs of this user go before those of users who used more."
	}
	return counts + "."
}

// quotaNames are the words for quotas.
var quotaNames = map[string]string{
	string(job.QuotaGPUs): "GPUs at once", string(job.QuotaRunning): "running jobs", string(job.QuotaMem): "host memory",
	string(job.QuotaCPUs): "CPUs", string(job.QuotaQueued): "waiting jobs", string(job.QuotaUsage): "GPU-hours",
}

func quotaColumns() []term.Column[api.QuotaUse] {
	amount := func(q api.QuotaUse, n int64) string {
		switch job.QuotaKind(q.What) {
		case job.QuotaGPUs:
			return job.FormatGPUs(int(n))
		case job.QuotaMem:
			return job.FormatSize(n)
		case job.QuotaUsage:
			return hours(float64(n) / 3600)
		}
		return number(n)
	}
	return []term.Column[api.QuotaUse]{
		{Title: "OF", Key: "what", Cell: func(q api.QuotaUse) string {
			if q.Group != "" {
				return quotaNames[q.What] + ", group " + q.Group
			}
			return quotaNames[q.What]
		}, Raw: func(q api.QuotaUse) string { return q.What }},
		{Key: "group", Cell: func(q api.QuotaUse) string { return q.Group }},
		{Title: "HAS", Key: "has", Right: true, Cell: func(q api.QuotaUse) string { return amount(q, q.Has) }, Raw: func(q api.QuotaUse) string { return number(q.Has) }},
		{Title: "MOST", Key: "most", Right: true, Cell: func(q api.QuotaUse) string {
			if q.Most == 0 {
				return "no bound"
			}
			return amount(q, q.Most)
		}, Raw: func(q api.QuotaUse) string { return rawSize(q.Most) }},
		{Title: "LEFT", Key: "left", Right: true, Cell: func(q api.QuotaUse) string {
			if q.Most == 0 {
				return "-"
			}
			return amount(q, max(0, q.Most-q.Has))
		}, Raw: func(q api.QuotaUse) string {
			if q.Most == 0 {
				return ""
			}
			return number(max(0, q.Most-q.Has))
		}},
	}
}
