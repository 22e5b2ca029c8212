package past

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	counting "github.com/gpusched/gpusched/daemon/report"
)

// ReportCmd reports how jobs have used the machine.
type ReportCmd struct {
	cli.PastWindow
	By   string `name:"by" placeholder:"WHAT" default:"user"`
	User string `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine bool   `name:"mine" xor:"who"`
	HTML string `name:"html" placeholder:"FILE"`
	Wide bool   `name:"wide" short:"w"`
	cli.OutputFlags
}

func (*ReportCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.InTurn, Habits: manual.OptionsOfPast,
		Slurm: cli.NotForSlurm("Slurm's accounting has the sums", "'sreport cluster AccountUtilizationByUser -T gres/gpu'"),
	}
}

// defaultReport is how many days a report covers by default.
const defaultReport = 30

func (c *ReportCmd) Run(ctx context.Context, a *cli.App) error {
	q, err := c.query(a)
	if err != nil {
		return err
	}
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	end := a.Begin("counting what ran")
	defer end()
	if c.HTML != "" {
		return c.writeHTML(ctx, a, q)
	}
	reply, err := api.Report(ctx, a.Client, q)
	end()
	if err != nil {
		return err
	}
	nameKeys(&reply)
	name := func(r api.ReportRow) string { return strings.Join(r.Keys, ",") }
	return cli.Report[api.ReportRow]{
		Doc: reply, Rows: reply.Rows, Cols: reportColumns(reply.By, false), IDs: job.Each(reply.Rows, name),
		Text: func(wide bool) { writeReport(a, reply, wide) },
	}.Show(a, c.OutputFlags)
}

func (c *ReportCmd) query(a *cli.App) (q api.ReportQuery, err error) {
	now := a.Out.Now
	q = api.ReportQuery{By: c.By, User: c.User}
	if c.Mine {
		q.UID = &a.UID
	}
	if q.Since, q.Until, err = c.Window(now); err != nil {
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
		return q, cli.Usagef("%s (--by)", err)
	}
	q.Zone = counting.ZoneOf(now.Location(), q.Since, now).String()
	return q, nil
}

// nameKeys replaces the numbers of groups with names, if this machine knows the names.
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

// leastHours is the smallest number of hours that is not rounded to 0.00.
const leastHours = 0.005

// writeReport prints the rows and their total.
func writeReport(a *cli.App, reply api.ReportReply, wide bool) {
	t := a.Out
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
		t.Printf("ENERGY does not include %s of the %s GPU-hours, whose energy is not known\n", term.Hours(left), term.Hours(reply.Total.GPUHours))
	}
}

// writeHTML writes the report as a page in HTML.
func (c *ReportCmd) writeHTML(ctx context.Context, a *cli.App, q api.ReportQuery) error {
	main, err := api.Report(ctx, a.Client, q)
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
		reply, err := api.Report(ctx, a.Client, more)
		if err != nil {
			return err
		}
		pages = append(pages, reply)
	}
	for i := range pages {
		nameKeys(&pages[i])
	}
	host, _ := os.Hostname()
	text := reportPage(host, a.Out.Now, pages)
	if c.HTML == "-" {
		a.Out.Printf("%s", text)
		return nil
	}
	if err := os.WriteFile(c.HTML, []byte(text), 0o644); err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return cli.Refuse(api.CodeInternal, "", "write %q: %v", c.HTML, err)
	}
	a.Note("the report is in %s", c.HTML)
	return nil
}

// periodFor returns the length of the periods in a chart of this window. The periods are short
// enough to show details, and long enough to fit the chart.
func periodFor(window time.Duration) string {
	switch days := window.Hours() / 24; {
	case days <= 62:
		return "day"
	case days <= 400:
		return "week"
	}
	return "month"
}
