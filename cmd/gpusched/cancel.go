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
	Signal int `name:"signal" type:"signal" placeholder:"SIG" help:"Only send this signal to the processes of the job, such as USR1."`
	whoseFlags
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
	whole, err := c.choose(c.IDs, "gpusched cancel 42, or gpusched cancel --mine")
	if err != nil {
		return nil, 0, err
	}
	if !whole {
		ids, err = a.resolve(ctx, c.IDs)
		if c.Signal == 0 {
			tasksLastFirst(ids)
		}
		return ids, 0, err
	}
	verb, which, fits := "end", "waits or runs", func(j api.Job) bool { return j.Task == nil } // an array ends with all its tasks
	if c.Signal != 0 {
		verb, which, fits = "signal", "runs", func(j api.Job) bool { return j.State == job.Running }
	}
	jobs, err := c.jobs(ctx, a, verb, which, fits)
	for _, j := range jobs {
		if liveRank(j) == 0 {
			waiting++
		}
	}
	return each(lastFirst(jobs), func(j api.Job) string { return j.ID.String() }), waiting, err
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
