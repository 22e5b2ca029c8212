package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// listCmd lists jobs.
type listCmd struct {
	All     bool   `name:"all" short:"a" help:"Also jobs that have ended, the newest first."`
	Ended   *int   `name:"ended" placeholder:"N" help:"How many ended jobs to show with -a, -s or --name, or how many ended tasks of an array that is named. Default: 20, or all tasks of the array where an option chooses among them."`
	User    string `name:"user" short:"u" placeholder:"USER" xor:"who" help:"Only jobs of this account."`
	Mine    bool   `name:"mine" xor:"who" help:"Only your own jobs."`
	State   string `name:"state" short:"s" placeholder:"STATE" help:"Only jobs in this state, such as queued or failed."`
	Name    string `name:"name" short:"n" placeholder:"NAME" help:"Only jobs of this name."`
	Wide    bool   `name:"wide" short:"w" help:"The same as -o wide."`
	Waiting *int   `name:"waiting" placeholder:"N" help:"At most this many waiting jobs, the first in the queue; 0 shows all. Default: 200 in a table, all in other forms."`
	Params  bool   `name:"params" help:"Also the parameters of tasks (submit --param), one column each; so do -o csv and JSON, and -w of arrays that are named."`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs, ended or not."`
}

// firstWaiting is how many waiting jobs a table shows without --waiting.
const firstWaiting = 200

func (c *listCmd) Run(ctx context.Context, a *app) error {
	q, err := c.query(ctx, a)
	if err != nil {
		return err
	}
	reply, err := a.client.List(ctx, q)
	if err != nil {
		return err
	}
	if c.Wide && c.form() == "table" {
		c.Output = "wide"
	}
	beyond := 0
	if q.IDs != "" {
		if beyond, err = c.addTasks(ctx, a, q, &reply); err != nil {
			return err
		}
	}
	var params []string
	if c.withParams(a) {
		params = a.addParams(ctx, reply.Jobs)
	}
	if a.as.Table != nil {
		for _, line := range a.as.Table(reply.Jobs, a.out.Now) {
			a.out.Printf("%s\n", term.Clean(line))
		}
		return nil
	}
	table := a.jobReport(reply, reply.Jobs, func(wide bool) {
		a.writeDrain(reply.Drain)
		if len(reply.GPUs) > 0 {
			a.writeGPUs(reply.GPUs, false)
			a.out.Printf("\n")
		}
		if len(reply.Jobs) == 0 {
			a.out.Printf("no jobs\n")
			return
		}
		term.WriteTable(a.out, a.columnsWith(params, false), reply.Jobs, wide)
		if reply.Omitted > 0 {
			a.out.Printf("… and %d more wait ('gpusched list --waiting 0' shows all)\n", reply.Omitted)
		}
		if beyond > 0 {
			a.out.Printf("… and %s ended ('gpusched list %s --ended %d' shows these too)\n",
				moreTasks(beyond), term.Clean(strings.Join(c.IDs, " ")), mostEnded)
		}
	})
	table.cols = a.columnsWith(params, true)
	return table.show(a, c.outputFlags)
}

func moreTasks(n int) string {
	if n == 1 {
		return "1 more task has"
	}
	return fmt.Sprintf("%d more tasks have", n)
}

// addTasks puts the tasks of arrays that were named behind these, and reports how
// many ended ones it left out. q is what was asked for.
func (c *listCmd) addTasks(ctx context.Context, a *app, q api.ListQuery, reply *api.ListReply) (beyond int, err error) {
	named, ofArray := reply.Jobs, q
	ofArray.IDs, ofArray.Ended = "", c.ended(fewEnded)
	if c.chooses() {
		// An array that is not chosen can have tasks that are.
		every, err := a.client.List(ctx, api.ListQuery{IDs: q.IDs})
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
		tasks, err := a.client.List(ctx, ofArray)
		if err != nil {
			return 0, err
		}
		reply.Jobs = append(reply.Jobs, tasks.Jobs...)
		if !c.chooses() {
			beyond += max(0, j.Array.Next-len(tasks.Jobs))
		}
	}
	return beyond, nil
}

// chooses reports whether an option leaves jobs out.
func (c *listCmd) chooses() bool { return c.User != "" || c.Mine || c.State != "" || c.Name != "" }

// How many ended jobs are shown without --ended, and at most.
const (
	fewEnded  = 20
	mostEnded = 10_000
)

// ended is how many ended jobs were asked for.
func (c *listCmd) ended(otherwise int) int {
	if c.Ended == nil {
		return otherwise
	}
	return *c.Ended
}

func (c *listCmd) query(ctx context.Context, a *app) (api.ListQuery, error) {
	q := api.ListQuery{User: c.User, State: job.State(c.State), Name: c.Name, Reasons: c.form() != "ids"}
	q.Names = c.form() == "ids" && len(c.IDs) == 0 // of arrays that are named the tasks follow
	switch {
	case c.Waiting != nil && *c.Waiting < 0:
		return q, usagef("%d is not a number of waiting jobs: use 0 for all of them (--waiting)", *c.Waiting)
	case c.Waiting != nil:
		q.Waiting = *c.Waiting
	case (c.form() == "table" || c.form() == "wide") && len(c.IDs) == 0:
		q.Waiting = firstWaiting
	}
	if c.All || c.Name != "" || c.State != "" && job.State(c.State).Terminal() {
		q.Ended = c.ended(fewEnded)
	}
	if c.Mine {
		q.UID = &a.uid
	}
	if len(c.IDs) == 0 {
		return q, nil
	}
	ids, err := a.resolve(ctx, c.IDs)
	q.IDs = strings.Join(ids, ",")
	return q, err
}
