package past

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// HistoryCmd lists jobs that have ended.
type HistoryCmd struct {
	cli.PastWindow
	User     string   `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine     bool     `name:"mine" xor:"who"`
	State    []string `name:"state" short:"s" placeholder:"STATE"`
	Name     string   `name:"name" placeholder:"NAME"`
	Tag      string   `name:"tag" placeholder:"KEY[=VALUE]"`
	Last     *int     `name:"last" short:"n" placeholder:"COUNT"`
	Attempts bool     `name:"attempts"`
	Wide     bool     `name:"wide" short:"w"`
	cli.OutputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs; of an array, its tasks."`
}

func (*HistoryCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.InTurn, Jobs: cli.OneAtATime, Slurm: cli.ForSlurm, Usual: true,
		Habits:  manual.OptionsOfPast,
		Offers:  cli.Offers{Fits: func(j api.Job) bool { return j.State.Terminal() }, Ended: true},
		Columns: func(a *cli.App) []string { return term.Names(pastColumns(a)) },
	}
}

// defaultLast is how many jobs a table shows if no option selects jobs.
const defaultLast = 25

// historyReply is the command's JSON document.
type historyReply struct {
	Schema string        `json:"schema"`
	Jobs   []api.PastJob `json:"jobs"`
}

// historyAnswer is the answer of one machine.
type historyAnswer struct {
	historyReply
	More bool `json:"more,omitempty"` // there are earlier jobs that were left out
}

func (all *historyAnswer) NameAll(host string) {
	for i := range all.Jobs {
		afar.NameJob(host, &all.Jobs[i].Job)
	}
}

func (c *HistoryCmd) ask(ctx context.Context, a *cli.App, q api.HistoryQuery, last int) (historyAnswer, error) {
	rows, more, err := c.collect(ctx, a, q, last)
	return historyAnswer{historyReply{api.Schema, rows}, more}, err
}

func (c *HistoryCmd) Run(ctx context.Context, a *cli.App) error {
	q, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	table := c.IsTable()
	last := 0
	switch {
	case c.Last != nil:
		last = *c.Last
	case table && !c.choosesTime():
		last = defaultLast
	}
	if last == 0 && !table && a.As.Table == nil && a.Host == "" && !a.Documents() {
		return c.stream(ctx, a, q)
	}
	end := a.Begin("reading what has ended")
	defer end()
	all, err := afar.Fetch(ctx, a, func() (historyAnswer, error) { return c.ask(ctx, a, q, last) })
	end()
	if err != nil {
		return err
	}
	rows, more := all.Jobs, all.More
	if a.Documents() {
		return cli.WriteJSON(a.Out.W, all, "")
	}
	if a.As.Table != nil {
		jobs := job.Each(rows, func(p api.PastJob) api.Job { return p.Job })
		for _, line := range a.As.Table(jobs, a.Out.Now) {
			a.Out.Printf("%s\n", term.Clean(line))
		}
		return nil
	}
	if table { // a table begins with the newest job, like 'gpusched list'; other formats begin with the oldest
		slices.Reverse(rows)
		slices.SortStableFunc(rows, func(a, b api.PastJob) int { return api.NewestFirst(&a.Job, &b.Job) })
	}
	return cli.Report[api.PastJob]{
		Doc: historyReply{api.Schema, rows}, Rows: rows, Cols: pastColumns(a), IDs: job.Each(rows, nameOfPast),
		Text: func(wide bool) {
			if len(rows) == 0 && c.User+c.Name+c.Tag == "" && !c.Mine && len(c.State) == 0 && !c.choosesTime() {
				a.Out.Printf("no job has ended yet\n")
				return
			}
			writePast(a, rows, wide, more, c.Attempts)
		},
	}.Show(a, c.OutputFlags)
}

// choosesTime reports whether the command line selects jobs by time or id. The user, name and state
// do not count.
func (c *HistoryCmd) choosesTime() bool { return c.Since != "" || c.Until != "" || len(c.IDs) > 0 }

func (c *HistoryCmd) query(ctx context.Context, a *cli.App) (q api.HistoryQuery, err error) {
	q = api.HistoryQuery{User: c.User, Name: c.Name, Tag: c.Tag, Attempts: c.Attempts}
	for _, s := range c.State {
		for word := range strings.SplitSeq(s, ",") {
			q.States = append(q.States, job.State(word))
		}
	}
	if c.Last != nil && *c.Last < 0 {
		return q, cli.Usagef("%d is not a number of jobs: use 0 for all of them (--last)", *c.Last)
	}
	if c.Mine {
		q.UID = &a.UID
	}
	if q.Since, q.Until, err = c.Window(a.Out.Now); err != nil || len(c.IDs) == 0 {
		return q, err
	}
	ids, err := a.Resolve(ctx, c.IDs)
	q.IDs = strings.Join(ids, ",")
	return q, err
}

// forEach calls the function f for every matching job. If arrays are named, it also calls f for
// their tasks.
func (c *HistoryCmd) forEach(ctx context.Context, a *cli.App, q api.HistoryQuery, f func(api.PastJob) error) error {
	var arrays []job.ID
	err := api.EachPast(ctx, a.Client, q, func(p api.PastJob) error {
		if p.Array != nil && p.Array.Next > 0 {
			arrays = append(arrays, p.ID)
			return nil
		}
		return f(p)
	})
	if err == nil && q.IDs != "" {
		arrays, err = c.liveArrays(ctx, a, q, arrays)
	}
	for _, id := range arrays {
		if err != nil {
			return err
		}
		tasks := q
		tasks.IDs, tasks.Array = "", id
		err = api.EachPast(ctx, a.Client, tasks, f)
	}
	return err
}

// liveArrays adds named arrays that have not ended, since some of their tasks may have ended.
func (c *HistoryCmd) liveArrays(
	ctx context.Context, a *cli.App, q api.HistoryQuery, arrays []job.ID,
) ([]job.ID, error) {
	live, err := api.List(ctx, a.Client, api.ListQuery{IDs: q.IDs})
	for _, j := range live.Jobs {
		if j.Array != nil && !j.State.Terminal() {
			arrays = append(arrays, j.ID)
		}
	}
	return arrays, err
}

// collect returns the newest matching jobs, no more than the limit. The newest job comes last. If
// the limit is 0, collect returns all matching jobs. It also reports whether there are more.
func (c *HistoryCmd) collect(
	ctx context.Context, a *cli.App, q api.HistoryQuery, limit int,
) ([]api.PastJob, bool, error) {
	rows := []api.PastJob{}
	if limit == 0 || len(c.IDs) > 0 {
		err := c.forEach(ctx, a, q, func(p api.PastJob) error {
			rows = append(rows, p)
			a.Busy.Say("gpusched: %s read", cli.Count(len(rows), "job"))
			return nil
		})
		slices.SortStableFunc(rows, func(x, y api.PastJob) int { return x.EndedAt.Compare(y.EndedAt) })
		if limit > 0 && len(rows) > limit {
			return rows[len(rows)-limit:], true, err
		}
		return rows, false, err
	}
	q.Order, q.Limit = "newest", min(limit+1, job.MaxPast)
	for len(rows) <= limit {
		page, err := api.History(ctx, a.Client, q)
		if err != nil {
			return nil, false, err
		}
		if rows = append(rows, page.Jobs...); page.Next == "" {
			break
		}
		q.After = page.Next
	}
	more := len(rows) > limit
	rows = rows[:min(len(rows), limit)]
	slices.SortStableFunc(rows, func(x, y api.PastJob) int { return x.EndedAt.Compare(y.EndedAt) })
	return rows, more, nil
}

// stream prints each job when it arrives, since there may be more jobs than fit into memory.
func (c *HistoryCmd) stream(ctx context.Context, a *cli.App, q api.HistoryQuery) error {
	w := a.Out.W
	first := true
	var begin, end string
	write := func(p api.PastJob) error { return cli.Report[api.PastJob]{Rows: []api.PastJob{p}}.Lines(w) }
	switch cols := pastColumns(a); c.Form() {
	case "json":
		begin, end = fmt.Sprintf("{\n  \"schema\": %q,\n  \"jobs\": [", api.Schema), "]\n}\n"
		write = func(p api.PastJob) error {
			if !first {
				w.WriteString(",")
			}
			first = false
			w.WriteString("\n")
			return cli.WriteJSON(w, p, "  ")
		}
	case "csv":
		if err := term.WriteCSV(w, cols, nil); err != nil {
			return err
		}
		write = func(p api.PastJob) error { return term.WriteRows(w, cols, []api.PastJob{p}) }
	case "ids":
		write = func(p api.PastJob) error { _, err := fmt.Fprintln(w, nameOfPast(p)); return err }
	}
	w.WriteString(begin)
	if !a.Out.TTY {
		defer a.Begin("reading what has ended")()
	}
	n := 0
	err := c.forEach(ctx, a, q, func(p api.PastJob) error {
		n++
		a.Busy.Say("gpusched: %s read", cli.Count(n, "job"))
		return write(p)
	})
	if err == nil {
		w.WriteString(end)
	}
	return err
}

func nameOfPast(p api.PastJob) string { return cli.NameOfJob(p.Job) }
