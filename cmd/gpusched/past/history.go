package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// historyCmd lists jobs that have ended.
type historyCmd struct {
	pastWindow
	User     string   `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine     bool     `name:"mine" xor:"who"`
	State    []string `name:"state" short:"s" placeholder:"STATE"`
	Name     string   `name:"name" placeholder:"NAME"`
	Tag      string   `name:"tag" placeholder:"KEY[=VALUE]"`
	Last     *int     `name:"last" short:"n" placeholder:"COUNT"`
	Attempts bool     `name:"attempts"`
	Wide     bool     `name:"wide" short:"w"`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs; of an array, its tasks."`
}

func (*historyCmd) About() About {
	return About{
		Host: ShownHere, Hosts: InTurn, Jobs: OneAtATime, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfPast,
		Offers:  Offers{Fits: func(j api.Job) bool { return j.State.Terminal() }, Ended: true},
		Columns: func(a *app) []string { return term.Names(a.pastColumns()) },
	}
}

// fewPast is how many jobs a table shows where nothing says which.
const fewPast = 25

// historyReply is what history prints as JSON.
type historyReply struct {
	Schema string        `json:"schema"`
	Jobs   []api.PastJob `json:"jobs"`
}

// historyAnswer is what history shows.
type historyAnswer struct {
	historyReply
	More bool `json:"more,omitempty"` // earlier ones were left out
}

func (all *historyAnswer) nameAll(host string) {
	for i := range all.Jobs {
		nameJob(host, &all.Jobs[i].Job)
	}
}

func (c *historyCmd) ask(ctx context.Context, a *app, q api.HistoryQuery, last int) (historyAnswer, error) {
	rows, more, err := c.collect(ctx, a, q, last)
	return historyAnswer{historyReply{api.Schema, rows}, more}, err
}

func (c *historyCmd) Run(ctx context.Context, a *app) error {
	q, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	table := c.isTable()
	last := 0
	switch {
	case c.Last != nil:
		last = *c.Last
	case table && !c.choosesTime():
		last = fewPast
	}
	if last == 0 && !table && a.as.table == nil && a.host == "" && !a.documents() {
		return c.stream(ctx, a, q)
	}
	end := a.begin("reading what has ended")
	defer end()
	all, err := fetch(ctx, a, func() (historyAnswer, error) { return c.ask(ctx, a, q, last) })
	end()
	if err != nil {
		return err
	}
	rows, more := all.Jobs, all.More
	if a.documents() {
		return writeJSON(a.out.W, all, "")
	}
	if a.as.table != nil {
		jobs := each(rows, func(p api.PastJob) api.Job { return p.Job })
		for _, line := range a.as.table(jobs, a.out.Now) {
			a.out.Printf("%s\n", term.Clean(line))
		}
		return nil
	}
	if table { // as list has them; what machines read is a log
		slices.Reverse(rows)
		slices.SortStableFunc(rows, func(a, b api.PastJob) int { return api.NewestFirst(&a.Job, &b.Job) })
	}
	return report[api.PastJob]{
		doc: historyReply{api.Schema, rows}, rows: rows, cols: a.pastColumns(), ids: each(rows, nameOfPast),
		text: func(wide bool) {
			if len(rows) == 0 && c.meansAll() {
				a.out.Printf("no job has ended yet\n")
				return
			}
			a.writePast(rows, wide, more, c.Attempts)
		},
	}.show(a, c.outputFlags)
}

// choosesTime reports whether the command line says which jobs are meant by more than whose
// they are and how they ended.
func (c *historyCmd) choosesTime() bool { return c.Since != "" || c.Until != "" || len(c.IDs) > 0 }

// meansAll reports whether the command line leaves out no job.
func (c *historyCmd) meansAll() bool {
	return c.User+c.Name+c.Tag == "" && !c.Mine && len(c.State) == 0 && !c.choosesTime()
}

func (c *historyCmd) query(ctx context.Context, a *app) (q api.HistoryQuery, err error) {
	q = api.HistoryQuery{User: c.User, Name: c.Name, Tag: c.Tag, Attempts: c.Attempts}
	for _, s := range c.State {
		for word := range strings.SplitSeq(s, ",") {
			q.States = append(q.States, job.State(word))
		}
	}
	if c.Last != nil && *c.Last < 0 {
		return q, usagef("%d is not a number of jobs: use 0 for all of them (--last)", *c.Last)
	}
	if c.Mine {
		q.UID = &a.uid
	}
	if q.Since, q.Until, err = c.window(a.out.Now); err != nil || len(c.IDs) == 0 {
		return q, err
	}
	ids, err := a.resolve(ctx, c.IDs)
	q.IDs = strings.Join(ids, ",")
	return q, err
}

// each calls f for all jobs that match, and for the tasks of arrays that were named.
func (c *historyCmd) each(ctx context.Context, a *app, q api.HistoryQuery, f func(api.PastJob) error) error {
	var arrays []job.ID
	err := api.EachPast(ctx, a.client, q, func(p api.PastJob) error {
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
		err = api.EachPast(ctx, a.client, tasks, f)
	}
	return err
}

// liveArrays adds the arrays that were named and go on: tasks of them may have ended.
func (c *historyCmd) liveArrays(ctx context.Context, a *app, q api.HistoryQuery, arrays []job.ID) ([]job.ID, error) {
	live, err := api.List(ctx, a.client, api.ListQuery{IDs: q.IDs})
	for _, j := range live.Jobs {
		if j.Array != nil && !j.State.Terminal() {
			arrays = append(arrays, j.ID)
		}
	}
	return arrays, err
}

// collect returns the last so many of the jobs that match, 0: all, the newest last, and
// whether there are more.
func (c *historyCmd) collect(ctx context.Context, a *app, q api.HistoryQuery, last int) ([]api.PastJob, bool, error) {
	rows := []api.PastJob{}
	if last == 0 || len(c.IDs) > 0 {
		err := c.each(ctx, a, q, func(p api.PastJob) error {
			rows = append(rows, p)
			a.busy.Say("gpusched: %s read", count(len(rows), "job"))
			return nil
		})
		slices.SortStableFunc(rows, func(x, y api.PastJob) int { return x.EndedAt.Compare(y.EndedAt) })
		if last > 0 && len(rows) > last {
			return rows[len(rows)-last:], true, err
		}
		return rows, false, err
	}
	q.Order, q.Limit = "newest", min(last+1, job.MaxPast)
	for len(rows) <= last {
		page, err := api.History(ctx, a.client, q)
		if err != nil {
			return nil, false, err
		}
		if rows = append(rows, page.Jobs...); page.Next == "" {
			break
		}
		q.After = page.Next
	}
	more := len(rows) > last
	rows = rows[:min(len(rows), last)]
	slices.SortStableFunc(rows, func(x, y api.PastJob) int { return x.EndedAt.Compare(y.EndedAt) })
	return rows, more, nil
}

// stream prints jobs as they come: there may be more than fit into memory.
func (c *historyCmd) stream(ctx context.Context, a *app, q api.HistoryQuery) error {
	w := a.out.W
	first := true
	var begin, end string
	write := func(p api.PastJob) error { return report[api.PastJob]{rows: []api.PastJob{p}}.lines(w) }
	switch cols := a.pastColumns(); c.form() {
	case "json":
		begin, end = fmt.Sprintf("{\n  \"schema\": %q,\n  \"jobs\": [", api.Schema), "]\n}\n"
		write = func(p api.PastJob) error {
			if !first {
				w.WriteString(",")
			}
			first = false
			w.WriteString("\n")
			return writeJSON(w, p, "  ")
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
	if !a.out.TTY {
		defer a.begin("reading what has ended")()
	}
	n := 0
	err := c.each(ctx, a, q, func(p api.PastJob) error {
		n++
		a.busy.Say("gpusched: %s read", count(n, "job"))
		return write(p)
	})
	if err == nil {
		w.WriteString(end)
	}
	return err
}

func nameOfPast(p api.PastJob) string { return nameOfJob(p.Job) }
