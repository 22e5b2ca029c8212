package client

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	counting "github.com/gpusched/gpusched/daemon/report"
)

// reportCmd says what jobs took of the machine.
type reportCmd struct {
	pastWindow
	By   string `name:"by" placeholder:"WHAT" default:"user"`
	User string `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine bool   `name:"mine" xor:"who"`
	HTML string `name:"html" placeholder:"FILE"`
	Wide bool   `name:"wide" short:"w"`
	outputFlags
}

func (*reportCmd) About() About {
	return About{
		Host: RunThere, Hosts: InTurn, Habits: manual.OptionsOfPast,
		Slurm: NotForSlurm("Slurm's accounting has the sums", "'sreport cluster AccountUtilizationByUser -T gres/gpu'"),
	}
}

// defaultReport is how many days a report is about that names no time.
const defaultReport = 30

func (c *reportCmd) Run(ctx context.Context, a *app) error {
	q, err := c.query(a)
	if err != nil {
		return err
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	end := a.begin("counting what ran")
	defer end()
	if c.HTML != "" {
		return c.writeHTML(ctx, a, q)
	}
	reply, err := api.Report(ctx, a.client, q)
	end()
	if err != nil {
		return err
	}
	nameKeys(&reply)
	name := func(r api.ReportRow) string { return strings.Join(r.Keys, ",") }
	return report[api.ReportRow]{
		doc: reply, rows: reply.Rows, cols: reportColumns(reply.By, false), ids: each(reply.Rows, name),
		text: func(wide bool) { a.writeReport(reply, wide) },
	}.show(a, c.outputFlags)
}

func (c *reportCmd) query(a *app) (q api.ReportQuery, err error) {
	now := a.out.Now
	q = api.ReportQuery{By: c.By, User: c.User}
	if c.Mine {
		q.UID = &a.uid
	}
	if q.Since, q.Until, err = c.window(now); err != nil {
		return q, err
	}
	if c.Since == "" {
		end := now
		if !q.Until.IsZero() {
			end = q.Until
		}
		y, m, d := end.Date()
		q.Since = time.Date(y, m, d-defaultReport, 0, 0, 0, 0, now.Location())
	}
	if _, err := counting.ParseDims(q.By); err != nil {
		return q, usagef("%s (--by)", err)
	}
	q.Zone = counting.ZoneOf(now.Location(), q.Since, now).String()
	return q, nil
}

// nameKeys puts the names of groups for their numbers, as far as this machine knows them.
func nameKeys(reply *api.ReportReply) {
	for i, by := range reply.By {
		if by != "group" {
			continue
		}
		for k := range reply.Rows {
			if gid, ok := strings.CutPrefix(reply.Rows[k].Keys[i], "gid "); ok {
				if g, err := user.LookupGroupId(gid); err == nil {
					reply.Rows[k].Keys[i] = g.Name
				}
			}
		}
	}
}

// leastHours are not printed as 0.00.
const leastHours = 0.005

// writeReport prints the rows, and what they come to.
func (a *app) writeReport(reply api.ReportReply, wide bool) {
	t := a.out
	until := t.Clock(reply.Until)
	if t.TTY && t.Now.Sub(reply.Until) < time.Minute {
		until = "now"
	}
	t.Printf("from %s to %s\n", t.Clock(reply.Since), until)
	if reply.Total.Jobs == 0 {
		t.Printf("no job ran or ended in that time\n")
		return
	}
	rows := reply.Rows
	if len(reply.By) > 0 {
		total := reply.Total
		total.Keys = make([]string, len(reply.By))
		total.Keys[0] = "all"
		rows = append(rows[:len(rows):len(rows)], total)
	}
	cols := reportColumns(reply.By, t.Width > 0 && t.Width < 100)
	term.WriteTable(t, cols, rows, wide)
	t.Printf("\n%s\n", t.Wrap(legendOf(func(title string) bool {
		return slices.ContainsFunc(cols, func(c reportColumn) bool { return c.Title == title && (wide || !c.Extra) })
	}), ""))
	left := reply.Total.GPUHours - reply.Total.EnergyHours
	if left > reply.Total.GPUHours*0.01 && left >= leastHours && reply.Total.EnergyJoules != nil {
		t.Printf("ENERGY leaves out %s of the %s GPU-hours, for which it is not known\n", term.Hours(left), term.Hours(reply.Total.GPUHours))
	}
}

// writeHTML writes the page into a file that was not there, or is one of ours to replace.
func (c *reportCmd) writeHTML(ctx context.Context, a *app, q api.ReportQuery) error {
	main, err := api.Report(ctx, a.client, q)
	if err != nil {
		return err
	}
	pages := []api.ReportReply{main}
	for _, by := range []string{periodFor(main.Until.Sub(main.Since)), "gpu"} {
		if by == q.By {
			continue
		}
		more := q
		more.By = by
		reply, err := api.Report(ctx, a.client, more)
		if err != nil {
			return err
		}
		pages = append(pages, reply)
	}
	for i := range pages {
		nameKeys(&pages[i])
	}
	host, _ := os.Hostname()
	text := reportPage(host, a.out.Now, pages)
	if c.HTML == "-" {
		a.out.Printf("%s", text)
		return nil
	}
	if err := os.WriteFile(c.HTML, []byte(text), 0o644); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return refuse(api.CodeInternal, "", "write %q: %v", c.HTML, err)
	}
	a.note("the report is in %s", c.HTML)
	return nil
}

// periodFor is what a time is divided by, so that the parts can be told apart.
func periodFor(window time.Duration) string {
	switch days := window.Hours() / 24; {
	case days <= 62:
		return "day"
	case days <= 400:
		return "week"
	}
	return "month"
}
