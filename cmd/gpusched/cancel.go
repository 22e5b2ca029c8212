package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// cancelCmd ends jobs.
type cancelCmd struct {
	Signal int  `name:"signal" type:"signal" placeholder:"SIG" help:"Only send this signal to the processes of the job, such as USR1."`
	All    bool `name:"all" help:"All waiting and running jobs; those of others only if you are an administrator."`
	Mine   bool `name:"mine" help:"All your own waiting and running jobs."`
	Yes    bool `name:"yes" short:"y" help:"Do not ask for confirmation."`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// Run ends the jobs, also those after one that could not be ended; the exit
// status is then that of the first problem.
func (c *cancelCmd) Run(ctx context.Context, a *app) error {
	ids, waiting, err := c.targets(ctx, a)
	if err != nil {
		return err
	}
	end := func(id string) (api.JobReply, error) {
		return a.client.Cancel(ctx, id, api.CancelRequest{Signal: int(c.Signal)})
	}
	jobs, first := a.actOn(ids[:waiting], together, end)
	more, second := a.actOn(ids[waiting:], 1, end)
	return errors.Join(a.showActed(c.outputFlags, append(jobs, more...), c.said), cmp.Or(first, second))
}

// together is how many waiting jobs are ended at once. Requests that come
// together share one write to the disk.
const together = 8

// said is what happened to a job.
func (c *cancelCmd) said(j api.Job) string {
	switch {
	case c.Signal != 0:
		return "got signal " + job.SignalName(int(c.Signal))
	case j.State.Terminal():
		return resultOf(j)
	case j.Grace > 0:
		return fmt.Sprintf("is being ended: SIGTERM now, SIGKILL in %ds", wholeSeconds(j.Grace))
	}
	return "is being ended"
}

// targets finds the jobs, and asks where whole queues are meant. The first so
// many wait; of jobs that were named it is not known.
func (c *cancelCmd) targets(ctx context.Context, a *app) (ids []string, waiting int, err error) {
	whole := c.All || c.Mine
	switch {
	case whole && len(c.IDs) > 0:
		return nil, 0, usagef("name jobs, or use --all or --mine, not both")
	case !whole && len(c.IDs) == 0:
		return nil, 0, refuse(api.CodeUsage,
			"such as: gpusched cancel 42, or gpusched cancel --mine", "no job is named")
	case !whole:
		ids, err = a.resolve(ctx, c.IDs)
		if c.Signal == 0 {
			tasksLastFirst(ids)
		}
		return ids, 0, err
	}
	q := api.ListQuery{}
	if c.Mine {
		q.UID = &a.uid
	}
	reply, err := a.client.List(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	// An array ends with all its tasks.
	jobs := slices.DeleteFunc(reply.Jobs, func(j api.Job) bool { return j.Task != nil })
	for _, j := range jobs {
		if liveRank(j) == 0 {
			waiting++
		}
	}
	ids, err = a.confirm(lastFirst(jobs), c.Yes)
	return ids, min(waiting, len(ids)), err
}

// lastFirst puts waiting jobs before running ones, last in the queue first, so
// that none starts because another was ended.
func lastFirst(jobs []api.Job) []api.Job {
	list := slices.Clone(jobs)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(x, y api.Job) int { return liveRank(x) - liveRank(y) })
	return list
}

// tasksLastFirst puts the last task of each run of neighbours first, so that
// none starts because another was ended.
func tasksLastFirst(ids []string) {
	for from := 0; from < len(ids); {
		array, _, isTask := strings.Cut(ids[from], "_")
		to := from + 1
		for isTask && to < len(ids) && strings.HasPrefix(ids[to], array+"_") {
			to++
		}
		slices.Reverse(ids[from:to])
		from = to
	}
}

// liveRank is 0 for a job that waits, 1 for one that has a unit.
func liveRank(j api.Job) int {
	if j.State == job.Queued {
		return 0
	}
	return 1
}

// confirm returns the ids of the jobs once the user has confirmed.
func (a *app) confirm(jobs []api.Job, yes bool) ([]string, error) {
	users := map[string]bool{}
	var ids []string
	for _, j := range jobs {
		users[j.User] = true
		ids = append(ids, j.ID.String())
	}
	question := fmt.Sprintf("end %s of %s?", count(len(ids), "job"), count(len(users), "user"))
	switch {
	case yes || len(ids) == 0:
		return ids, nil
	case !a.interactive:
		return nil, refuse(api.CodeUsage, "confirm with -y", "%s there is no terminal to ask on", question)
	}
	a.err.Printf("%s [y/N] ", question)
	a.err.W.Flush()
	if said := a.answer(); said != "y" && said != "yes" {
		return nil, refuse(api.CodeInternal, "", "nothing was ended")
	}
	return ids, nil
}
