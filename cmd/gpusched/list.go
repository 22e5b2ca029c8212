package main

import (
	"context"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// listCmd lists jobs.
type listCmd struct {
	All     bool   `name:"all" short:"a" help:"Also jobs that have ended, the newest first."`
	Ended   int    `name:"ended" placeholder:"N" default:"20" help:"How many ended jobs -a, -s and --name show. 20 without this option."`
	User    string `name:"user" short:"u" placeholder:"USER" xor:"who" help:"Only jobs of this account."`
	Mine    bool   `name:"mine" xor:"who" help:"Only your own jobs."`
	State   string `name:"state" short:"s" placeholder:"STATE" help:"Only jobs in this state, such as queued or failed."`
	Name    string `name:"name" short:"n" placeholder:"NAME" help:"Only jobs of this name."`
	Wide    bool   `name:"wide" short:"w" help:"The same as -o wide."`
	Waiting *int   `name:"waiting" placeholder:"N" help:"At most so many waiting jobs, the first in the queue; 0 shows all. 200 in a table without this option, all in other forms."`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs, ended or not."`
}

// Help is the text below the options.
func (listCmd) Help() string {
	return `The GPUs come first, then jobs that run, then those that wait, in the order of the queue. WHY says what a job waits for, or how it ended; of a long queue the first 1000 jobs say so. A number of GPUs in brackets is asked for, without brackets these are the job's GPUs; 2:0.5 is half of GPU 2. START is when a waiting job is expected to start, by how long jobs like those that run and wait have taken; nobody promises it.

An array is one line, such as 7_[0-199%4]: "queued 160/200, 4 run" means that 160 of its 200 tasks are still to start. Tasks that have are lines of their own, such as 7_3.

Everybody sees all jobs, but not their commands.

Examples:

    gpusched list
    gpusched list --mine -a
    gpusched list -s failed -u alice
    gpusched list 7       (an array and its tasks)
    gpusched list --json | jq -r '.jobs[] | select(.state == "queued") | .why'

States: ` + strings.Join(stateNames(), ", ") + `.

` + aboutIDs
}

func stateNames() []string {
	var names []string
	for _, s := range job.States() {
		names = append(names, string(s))
	}
	return names
}

// firstWaiting is how many waiting jobs a table shows that nobody asked for more.
const firstWaiting = 200

// Run lists the jobs.
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
	if err := c.addTasks(ctx, a, &reply); err != nil {
		return err
	}
	items, ids := jobLines(reply.Jobs)
	return a.show(c.outputFlags, report{
		doc: reply, items: items, ids: ids, csv: a.jobsCSV(reply.Jobs),
		text: func(wide bool) {
			if len(reply.GPUs) > 0 {
				a.writeGPUs(reply.GPUs, false)
				a.out.printf("\n")
			}
			if len(reply.Jobs) == 0 {
				a.out.printf("no jobs\n")
				return
			}
			writeTable(a.out, a.jobColumns(), reply.Jobs, wide)
			if reply.Omitted > 0 {
				a.out.printf("… and %d more wait ('gpusched list --waiting 0' shows all)\n", reply.Omitted)
			}
		},
	})
}

// addTasks puts the tasks of arrays that were named behind these.
func (c *listCmd) addTasks(ctx context.Context, a *app, reply *api.ListReply) error {
	if len(c.IDs) == 0 {
		return nil
	}
	var jobs []api.Job
	for _, j := range reply.Jobs {
		jobs = append(jobs, j)
		if j.Array == nil {
			continue
		}
		tasks, err := a.client.List(ctx, api.ListQuery{Array: j.ID, Ended: c.Ended, Reasons: true})
		if err != nil {
			return err
		}
		jobs = append(jobs, tasks.Jobs...)
	}
	reply.Jobs = jobs
	return nil
}

func (c *listCmd) query(ctx context.Context, a *app) (api.ListQuery, error) {
	q := api.ListQuery{User: c.User, State: c.State, Name: c.Name, Reasons: c.form() != "ids"}
	switch {
	case c.Waiting != nil && *c.Waiting < 0:
		return q, usagef("%d is not a number of waiting jobs: use 0 for all of them (--waiting)", *c.Waiting)
	case c.Waiting != nil:
		q.Waiting = *c.Waiting
	case (c.form() == "table" || c.form() == "wide") && len(c.IDs) == 0:
		q.Waiting = firstWaiting
	}
	if c.All || c.Name != "" || c.State != "" && job.State(c.State).Terminal() {
		q.Ended = c.Ended
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
