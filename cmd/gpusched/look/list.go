package client

import (
	"context"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// listCmd lists jobs.
type listCmd struct {
	All   bool `name:"all" short:"a"`
	Ended *int `name:"ended" placeholder:"N"`

	choiceFlags

	Wide     bool   `name:"wide" short:"w"`
	Waiting  *int   `name:"waiting" placeholder:"N"`
	Params   bool   `name:"params"`
	Sort     string `name:"sort" placeholder:"[-]COLUMN" type:"column"`
	JobsOnly bool   `name:"jobs-only" xor:"only"`
	GPUsOnly bool   `name:"gpus-only" xor:"only"`
	outputFlags
	againFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs, ended or not."`
}

func (*listCmd) About() About {
	return About{
		Host: ShownHere, Hosts: Together, Jobs: Together, Slurm: ForSlurm, Usual: true,
		Habits: manual.OptionsOfList, Columns: jobColumnNames,
	}
}

// firstWaiting is how many waiting jobs a table shows without --waiting.
const firstWaiting = 200

func (c *listCmd) Run(ctx context.Context, a *app) error {
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	if c.GPUsOnly {
		return c.again(ctx, a, c.outputFlags, func() error { return c.showGPUs(ctx, a) })
	}
	q, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	return c.again(ctx, a, c.outputFlags, func() error { return c.show(ctx, a, q) })
}

// showGPUs is the list without its jobs.
func (c *listCmd) showGPUs(ctx context.Context, a *app) error {
	reply, err := fetch(ctx, a, func() (api.GPUsReply, error) { return api.GPUs(ctx, a.client) })
	if err != nil {
		return err
	}
	return a.gpuReport(reply, func(wide bool) {
		if len(reply.GPUs) == 0 {
			a.out.Printf("no GPUs\n")
			return
		}
		a.writeGPUs(reply.GPUs, wide)
	}).show(a, c.outputFlags)
}

func (c *listCmd) show(ctx context.Context, a *app, q api.ListQuery) error {
	if q.Names && a.as.table == nil && a.host == "" {
		lines, err := api.IDs(ctx, a.client, q)
		if err == nil {
			_, err = a.out.W.Write(lines)
		}
		return err
	}
	all, err := fetch(ctx, a, func() (listAnswer, error) { return c.ask(ctx, a, q) })
	if err != nil {
		return err
	}
	if a.documents() {
		return writeJSON(a.out.W, all, "")
	}
	reply := all.ListReply
	if a.as.check != nil {
		if err := a.as.check(reply.Jobs, a.out.Now); err != nil {
			return refuse(api.CodeNotFound, "", "%v", err)
		}
	}
	if a.as.table != nil {
		for _, line := range a.as.table(reply.Jobs, a.out.Now) {
			a.out.Printf("%s\n", term.Clean(line))
		}
		return nil
	}
	if len(c.IDs) > 0 && !c.chooses() && len(reply.Jobs) == 0 {
		return refuse(api.CodeNotFound, "see 'gpusched list -a'", "there is no job %s", q.IDs)
	}
	if err := c.sort(a, &reply, all.Params); err != nil {
		return err
	}
	table := a.jobReport(reply, reply.Jobs, func(wide bool) { c.write(a, reply, all.Params, wide, all.Left) })
	table.cols = a.columnsWith(all.Params, true)
	return table.show(a, c.outputFlags)
}

// listAnswer is what a list shows.
type listAnswer struct {
	api.ListReply
	Params   []string `json:"params,omitempty"` // the names of the parameters of its tasks
	Left     leftOut  `json:"left,omitzero"`
	Commands []string `json:"commands,omitempty"` // of its jobs, for another gpusched: no document has them
}

func (all *listAnswer) nameAll(host string) {
	for i, command := range all.Commands[:min(len(all.Commands), len(all.Jobs))] {
		all.Jobs[i].Command = command
	}
	nameJobs(host, all.Jobs)
	nameGPUs(host, all.GPUs)
}

// ask asks for what is listed, the parameters of its tasks, and what is left out.
func (c *listCmd) ask(ctx context.Context, a *app, q api.ListQuery) (all listAnswer, err error) {
	if all.ListReply, err = api.List(ctx, a.client, q); err != nil {
		return all, err
	}
	if q.IDs != "" {
		if all.Left.Tasks, err = c.addTasks(ctx, a, q, &all.ListReply); err != nil {
			return all, err
		}
	}
	a.addLookedUp(ctx, c.columns(), all.Jobs)
	if c.withParams(a) {
		all.Params = a.addParams(ctx, all.Jobs)
	}
	if a.as.table != nil {
		return all, nil
	}
	told := ended(all.Jobs)
	if c.groups() {
		all.Jobs = api.ByState(all.Jobs, q.Ended)
	}
	all.Left.Ended = c.cutEnded(q, &all.ListReply, told)
	if a.documents() && slices.Contains(c.columns(), commandColumn) {
		all.Commands = each(all.Jobs, func(j api.Job) string { return j.Command })
	}
	return all, nil
}

// write prints the list for people.
func (c *listCmd) write(a *app, reply api.ListReply, params []string, wide bool, left leftOut) {
	a.writeDrain(reply.Drain)
	if len(reply.GPUs) > 0 && !c.JobsOnly && !c.chooses() && len(c.IDs) == 0 {
		a.writeGPUs(reply.GPUs, false)
		a.out.Printf("\n")
	}
	switch {
	case len(reply.Jobs) > 0:
		term.WriteTable(a.out, a.columnsWith(params, false), reply.Jobs, wide)
	case c.chooses() && !c.wantsEnded() && len(c.IDs) == 0:
		a.out.Printf("no such job waits or runs (-a shows those that have ended, too)\n")
	case c.chooses() || len(c.IDs) > 0 || c.All:
		a.out.Printf("no jobs\n")
	default:
		a.out.Printf("no jobs wait or run\n")
	}
	c.writeLeftOut(a, reply, left)
	a.writeRecent(reply.Recent)
}

// sort puts the jobs in the order that was asked for. Of those that wait as many are left as
// a table shows.
func (c *listCmd) sort(a *app, reply *api.ListReply, params []string) error {
	if c.Sort == "" {
		return nil
	}
	if err := term.Sort(a.columnsWith(params, true), reply.Jobs, c.Sort); err != nil {
		return refuse(api.CodeUsage, "", "--sort: %s", err)
	}
	if c.Waiting != nil || !c.isTable() || len(c.IDs) > 0 {
		return nil
	}
	waiting := 0
	reply.Jobs = slices.DeleteFunc(reply.Jobs, func(j api.Job) bool {
		if j.State == job.Queued {
			waiting++
		}
		return j.State == job.Queued && waiting > firstWaiting
	})
	reply.Omitted += max(0, waiting-firstWaiting)
	return nil
}

// addTasks puts the tasks of arrays that were named behind these, and reports how
// many ended ones it left out. q is what was asked for.
func (c *listCmd) addTasks(ctx context.Context, a *app, q api.ListQuery, reply *api.ListReply) (beyond int, err error) {
	named, ofArray := reply.Jobs, q
	ofArray.IDs, ofArray.Ended = "", c.ended(fewEnded)
	if c.chooses() {
		// An array that is not chosen can have tasks that are.
		every, err := api.List(ctx, a.client, api.ListQuery{IDs: q.IDs})
		if err != nil {
			return 0, err
		}
		named, ofArray.Ended = every.Jobs, c.ended(mostEnded)
	}
	found := map[job.ID]api.Job{}
	for _, j := range reply.Jobs {
		found[j.ID] = j
	}
	reply.Jobs = nil
	for _, j := range named {
		if j, ok := found[j.ID]; ok {
			reply.Jobs = append(reply.Jobs, j)
		}
		if j.Array == nil {
			continue
		}
		ofArray.Array = j.ID
		tasks, err := api.List(ctx, a.client, ofArray)
		if err != nil {
			return 0, err
		}
		if c.isTable() {
			api.InEndOrder(tasks.Jobs)
		}
		reply.Jobs = append(reply.Jobs, tasks.Jobs...)
		if !c.chooses() {
			beyond += max(0, j.Array.Next-len(tasks.Jobs))
		}
	}
	return beyond, nil
}

// How many ended jobs are shown without --ended, how many are asked for where some of them share a row, and at most.
const (
	fewEnded     = 20
	severalEnded = 200
	mostEnded    = 10_000
)

// ended is how many ended jobs were asked for.
func (c *listCmd) ended(otherwise int) int {
	if c.Ended == nil {
		return otherwise
	}
	return *c.Ended
}

// wantsEnded reports whether jobs that have ended are to be listed, too.
func (c *listCmd) wantsEnded() bool {
	states := each(strings.Split(c.State, ","), func(s string) job.State { return job.State(s) })
	return c.All || c.Name != "" || !c.Since.IsZero() || slices.ContainsFunc(states, job.State.Terminal)
}

// groups reports whether tasks of an array that are in the same state share a row.
func (c *listCmd) groups() bool { return c.form() == "table" && !c.Params && len(c.IDs) == 0 }

// cutEnded takes away the ended jobs that were asked for beyond those that are shown, and
// reports whether there are more. The reply had so many.
func (c *listCmd) cutEnded(q api.ListQuery, reply *api.ListReply, told int) bool {
	if !c.isTable() || c.Ended != nil || !c.Since.IsZero() || len(c.IDs) > 0 {
		return false
	}
	n := 0
	for i, j := range reply.Jobs {
		if !j.State.Terminal() {
			continue
		}
		if n++; n > fewEnded {
			reply.Jobs = reply.Jobs[:i]
			return true
		}
	}
	return told > 0 && told == q.Ended
}

// ended counts the jobs that have ended.
func ended(jobs []api.Job) (n int) {
	for i := range jobs {
		if jobs[i].State.Terminal() {
			n++
		}
	}
	return n
}

func (c *listCmd) query(ctx context.Context, a *app) (api.ListQuery, error) {
	q := api.ListQuery{Reasons: api.WithReasons}
	switch {
	case c.form() == "ids":
		q.Reasons = ""
	case c.isTable() && !a.documents():
		q.Reasons = api.ReasonCodes
	}
	// Of arrays that are named the tasks follow, and jobs of several machines are sorted by their states.
	q.Names = c.form() == "ids" && len(c.IDs) == 0 && c.Sort == "" && !a.documents()
	if err := c.choose(a, &q); err != nil {
		return q, err
	}
	switch {
	case c.Waiting != nil && *c.Waiting < 0:
		return q, usagef("%d is not a number of waiting jobs: use 0 for all of them (--waiting)", *c.Waiting)
	case c.Waiting != nil:
		q.Waiting = *c.Waiting
	case c.isTable() && len(c.IDs) == 0 && c.Sort == "":
		q.Waiting = firstWaiting
	}
	switch {
	case !c.Since.IsZero():
		q.Ended = c.ended(mostEnded)
	case c.wantsEnded():
		switch q.Ended = c.ended(fewEnded); {
		case c.Ended == nil && c.groups():
			q.Ended = severalEnded
		case c.Ended == nil && c.isTable():
			q.Ended++ // the last says that there are more
		}
	}
	q.Recent = c.isTable() && !c.All && !c.chooses() && len(c.IDs) == 0 && a.as.table == nil
	if len(c.IDs) == 0 {
		return q, nil
	}
	ids, err := a.resolve(ctx, c.IDs)
	q.IDs = strings.Join(ids, ",")
	return q, err
}
