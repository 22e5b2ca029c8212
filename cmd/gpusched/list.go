package main

import (
	"context"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// listCmd lists jobs.
type listCmd struct {
	All   bool   `name:"all" short:"a" help:"Also jobs that have ended, the newest first."`
	Ended int    `name:"ended" placeholder:"N" default:"20" help:"How many ended jobs -a, -s and --name show. 20 without this option."`
	User  string `name:"user" short:"u" placeholder:"USER" xor:"who" help:"Only jobs of this account."`
	Mine  bool   `name:"mine" xor:"who" help:"Only your own jobs."`
	State string `name:"state" short:"s" placeholder:"STATE" help:"Only jobs in this state, such as queued or failed."`
	Name  string `name:"name" short:"n" placeholder:"NAME" help:"Only jobs of this name."`
	Wide  bool   `name:"wide" short:"w" help:"The same as -o wide."`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"Only these jobs, ended or not."`
}

// Help is the text below the options.
func (listCmd) Help() string {
	return `The GPUs come first, then jobs that run, then those that wait, in the order of the queue. WHY says what a job waits for, or how it ended. A number of GPUs in brackets is asked for, without brackets these are the job's GPUs.

Everybody sees all jobs, but not their commands.

Examples:

    gpusched list
    gpusched list --mine -a
    gpusched list -s failed -u alice
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
		},
	})
}

func (c *listCmd) query(ctx context.Context, a *app) (api.ListQuery, error) {
	q := api.ListQuery{User: c.User, State: c.State, Name: c.Name, Reasons: true}
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
