package look

import (
	"context"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type ListCmd struct {
	All   bool `name:"all" short:"a"`
	Ended *int `name:"ended" placeholder:"N"`

	cli.ChoiceFlags

	Wide     bool   `name:"wide" short:"w"`
	Waiting  *int   `name:"waiting" placeholder:"N"`
	Params   bool   `name:"params"`
	Sort     string `name:"sort" placeholder:"[-]COLUMN" type:"column"`
	JobsOnly bool   `name:"jobs-only" xor:"only"`
	GPUsOnly bool   `name:"gpus-only" xor:"only"`
	cli.OutputFlags
	cli.AgainFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs, ended or not."`
}

func (*ListCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.Together, Jobs: cli.Together, Slurm: cli.ForSlurm, Usual: true,
		Habits: manual.OptionsOfList, Columns: cli.JobColumnNames,
	}
}

// firstWaiting is how many waiting jobs a table shows without --waiting.
const firstWaiting = 200

func (c *ListCmd) Run(ctx context.Context, a *cli.App) error {
	if c.Wide && c.Form() == "table" {
		c.Output = "wide"
	}
	if c.GPUsOnly {
		return c.Again(ctx, a, c.OutputFlags, func() error { return c.showGPUs(ctx, a) })
	}
	q, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	return c.Again(ctx, a, c.OutputFlags, func() error { return c.show(ctx, a, q) })
}

// showGPUs shows only the GPUs, without the jobs.
func (c *ListCmd) showGPUs(ctx context.Context, a *cli.App) error {
	reply, err := afar.Fetch(ctx, a, func() (api.GPUsReply, error) { return api.GPUs(ctx, a.Client) })
	if err != nil {
		return err
	}
	return gpuReport(a, reply, func(wide bool) {
		if len(reply.GPUs) == 0 {
			a.Out.Printf("%s\n", noGPUs(reply))
			return
		}
		a.WriteGPUs(reply.GPUs, wide)
	}).Show(a, c.OutputFlags)
}

func (c *ListCmd) show(ctx context.Context, a *cli.App, q api.ListQuery) error {
	if q.Names && a.As.Table == nil && a.Host == "" {
		lines, err := api.IDs(ctx, a.Client, q)
		if err == nil {
			_, err = a.Out.W.Write(lines)
		}
		return err
	}
	all, err := afar.Fetch(ctx, a, func() (listAnswer, error) { return c.ask(ctx, a, q) })
	if err != nil {
		return err
	}
	if a.Documents() {
		return cli.WriteJSON(a.Out.W, all, "")
	}
	reply := all.ListReply
	if a.As.Check != nil {
		if err := a.As.Check(reply.Jobs, a.Out.Now); err != nil {
			return cli.Refuse(api.CodeNotFound, "", "%v", err)
		}
	}
	if a.As.Table != nil {
		for _, line := range a.As.Table(reply.Jobs, a.Out.Now) {
			a.Out.Printf("%s\n", term.Clean(line))
		}
		return nil
	}
	if len(c.IDs) > 0 && !c.Chooses() && len(reply.Jobs) == 0 {
		return cli.Refuse(api.CodeNotFound, "see 'gpusched list -a'", "there is no job %s", q.IDs)
	}
	if err := c.sort(a, &reply, all.Params); err != nil {
		return err
	}
	table := a.JobReport(reply, reply.Jobs, func(wide bool) { c.write(a, reply, all.Params, wide, all.Left) })
	table.Cols = columnsWith(a, all.Params, true)
	return table.Show(a, c.OutputFlags)
}

// listAnswer is the JSON document of 'gpusched list'.
type listAnswer struct {
	api.ListReply
	Params   []string    `json:"params,omitempty"` // names of the parameters of the tasks
	Left     cli.LeftOut `json:"left,omitzero"`
	Commands []string    `json:"commands,omitempty"` // the jobs' commands, for another gpusched: a job's JSON has none
}

func (all *listAnswer) NameAll(host string) {
	for i, command := range all.Commands[:min(len(all.Commands), len(all.Jobs))] {
		all.Jobs[i].Command = command
	}
	afar.NameJobs(host, all.Jobs)
	afar.NameGPUs(host, all.GPUs)
}

// ask requests the jobs and their parameters. It records what the list leaves out.
func (c *ListCmd) ask(ctx context.Context, a *cli.App, q api.ListQuery) (all listAnswer, err error) {
	if all.ListReply, err = api.List(ctx, a.Client, q); err != nil {
		return all, err
	}
	if q.IDs != "" {
		if all.Left.Tasks, err = c.addTasks(ctx, a, q, &all.ListReply); err != nil {
			return all, err
		}
	}
	a.AddLookedUp(ctx, c.Columns(), all.Jobs)
	if c.withParams(a) {
		all.Params = addParams(ctx, a, all.Jobs)
	}
	if a.As.Table != nil {
		return all, nil
	}
	told := ended(all.Jobs)
	if c.groupsTasks() {
		all.Jobs = api.ByState(all.Jobs, q.Ended)
	}
	all.Left.Ended = c.cutEnded(q, &all.ListReply, told)
	if a.Documents() && slices.Contains(c.Columns(), cli.CommandColumn) {
		all.Commands = job.Each(all.Jobs, func(j api.Job) string { return j.Command })
	}
	return all, nil
}

// write prints the list for people.
func (c *ListCmd) write(a *cli.App, reply api.ListReply, params []string, wide bool, left cli.LeftOut) {
	writeDrain(a, reply.Drain)
	if len(reply.GPUs) > 0 && !c.JobsOnly && !c.Chooses() && len(c.IDs) == 0 {
		a.WriteGPUs(reply.GPUs, false)
		a.Out.Printf("\n")
	}
	switch {
	case len(reply.Jobs) > 0:
		term.WriteTable(a.Out, columnsWith(a, params, false), reply.Jobs, wide)
	case c.Chooses() && !c.wantsEnded() && len(c.IDs) == 0:
		a.Out.Printf("no such job waits or runs (-a also shows ended jobs)\n")
	case c.Chooses() || len(c.IDs) > 0 || c.All:
		a.Out.Printf("no jobs\n")
	default:
		a.Out.Printf("no jobs wait or run\n")
	}
	c.writeLeftOut(a, reply, left)
	a.WriteRecent(reply.Recent)
}

// sort sorts the jobs as --sort says. It cuts the waiting jobs to the number that a table shows.
func (c *ListCmd) sort(a *cli.App, reply *api.ListReply, params []string) error {
	if c.Sort == "" {
		return nil
	}
	if err := term.Sort(columnsWith(a, params, true), reply.Jobs, c.Sort); err != nil {
		return cli.Refuse(api.CodeUsage, "", "--sort: %s", err)
	}
	if c.Waiting != nil || !c.IsTable() || len(c.IDs) > 0 {
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

// addTasks puts the tasks of named arrays after their arrays. It returns how many ended tasks it
// left out. The argument q is the query of the list.
func (c *ListCmd) addTasks(
	ctx context.Context, a *cli.App, q api.ListQuery, reply *api.ListReply,
) (beyond int, err error) {
	named, ofArray := reply.Jobs, q
	ofArray.IDs, ofArray.Ended = "", c.endedLimit(fewEnded)
	if c.Chooses() {
		// The options may select tasks of an array although they do not select the array.
		every, err := api.List(ctx, a.Client, api.ListQuery{IDs: q.IDs})
		if err != nil {
			return 0, err
		}
		named, ofArray.Ended = every.Jobs, c.endedLimit(cli.MostEnded)
	}
	found := map[string]api.Job{} // tasks that are not jobs yet have no ID
	for _, j := range reply.Jobs {
		found[cli.NameOfJob(j)] = j
	}
	reply.Jobs = nil
	for _, j := range named {
		if j, ok := found[cli.NameOfJob(j)]; ok {
			reply.Jobs = append(reply.Jobs, j)
		}
		if j.Array == nil {
			continue
		}
		ofArray.Array = j.ID
		tasks, err := api.List(ctx, a.Client, ofArray)
		if err != nil {
			return 0, err
		}
		if c.IsTable() {
			api.InEndOrder(tasks.Jobs)
		}
		reply.Jobs = append(reply.Jobs, tasks.Jobs...)
		if !c.Chooses() {
			beyond += max(0, j.Array.Next-len(tasks.Jobs))
		}
	}
	return beyond, nil
}

// fewEnded is how many ended jobs are shown without --ended. If some of them may share a row,
// severalEnded jobs are requested.
const (
	fewEnded     = 20
	severalEnded = 200
)

// endedLimit returns the value of --ended. If the option is not given, it returns the argument.
func (c *ListCmd) endedLimit(otherwise int) int {
	if c.Ended == nil {
		return otherwise
	}
	return *c.Ended
}

// wantsEnded reports whether the list includes ended jobs.
func (c *ListCmd) wantsEnded() bool {
	states := job.Each(strings.Split(c.State, ","), func(s string) job.State { return job.State(s) })
	return c.All || c.Name != "" || !c.Since.IsZero() || slices.ContainsFunc(states, job.State.Terminal)
}

// groupsTasks reports whether tasks of an array share a row if they are in the same state.
func (c *ListCmd) groupsTasks() bool { return c.Form() == "table" && !c.Params && len(c.IDs) == 0 }

// cutEnded removes ended jobs that were requested but are not shown. It reports whether there are
// more ended jobs. The last argument is the number of ended jobs in the reply.
func (c *ListCmd) cutEnded(q api.ListQuery, reply *api.ListReply, listed int) bool {
	if !c.IsTable() || c.Ended != nil || !c.Since.IsZero() || len(c.IDs) > 0 {
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
	return listed > 0 && listed == q.Ended
}

func ended(jobs []api.Job) (n int) {
	for i := range jobs {
		if jobs[i].State.Terminal() {
			n++
		}
	}
	return n
}

func (c *ListCmd) query(ctx context.Context, a *cli.App) (api.ListQuery, error) {
	q := api.ListQuery{Reasons: api.WithReasons}
	switch {
	case c.Form() == "ids":
		q.Reasons = ""
	case c.IsTable() && !a.Documents():
		q.Reasons = api.ReasonCodes
	}
	// Names alone are not enough if jobs are named, since tasks follow their arrays, or if several
	// machines answer, since their jobs are sorted by state.
	q.Names = c.Form() == "ids" && len(c.IDs) == 0 && c.Sort == "" && !a.Documents()
	if err := c.Choose(a, &q); err != nil {
		return q, err
	}
	switch {
	case c.Waiting != nil && *c.Waiting < 0:
		return q, cli.Usagef("%d is not a number of waiting jobs: use 0 for all of them (--waiting)", *c.Waiting)
	case c.Waiting != nil:
		q.Waiting = *c.Waiting
	case c.IsTable() && len(c.IDs) == 0 && c.Sort == "":
		q.Waiting = firstWaiting
	}
	switch {
	case !c.Since.IsZero():
		q.Ended = c.endedLimit(cli.MostEnded)
	case c.wantsEnded():
		switch q.Ended = c.endedLimit(fewEnded); {
		case c.Ended == nil && c.groupsTasks():
			q.Ended = severalEnded
		case c.Ended == nil && c.IsTable():
			q.Ended++ // one more than is shown, to find out whether there are more
		}
	}
	q.Recent = c.IsTable() && !c.All && !c.Chooses() && len(c.IDs) == 0 && a.As.Table == nil
	if len(c.IDs) == 0 {
		return q, nil
	}
	ids, err := a.Resolve(ctx, c.IDs)
	q.IDs = strings.Join(ids, ",")
	return q, err
}

// writeLeftOut says what the list does not show, and how to see it.
func (c *ListCmd) writeLeftOut(a *cli.App, reply api.ListReply, left cli.LeftOut) {
	if reply.Omitted > 0 {
		a.Out.Printf("… and %d more wait ('gpusched list --waiting 0' shows all)\n", reply.Omitted)
	}
	if left.Tasks > 0 {
		a.Out.Printf("… and %s ended ('gpusched list %s --ended %d' shows these too)\n",
			cli.MoreTasks(left.Tasks), term.Clean(strings.Join(c.IDs, " ")), cli.MostEnded)
	}
	if left.Ended {
		a.Out.Printf("… and more have ended ('--ended 1000' shows 1000, '--since 7d' those of a week)\n")
	}
}
