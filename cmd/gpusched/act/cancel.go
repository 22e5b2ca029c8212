package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// cancelCmd ends jobs.
type cancelCmd struct {
	Signal aimed     `name:"signal" type:"signal" xor:"how" placeholder:"SIG"`
	Grace  *job.Span `name:"grace" type:"span" xor:"how" placeholder:"TIME"`
	Now    bool      `name:"now" xor:"how"`
	whoseFlags
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

func (*cancelCmd) About() About {
	about := acting(isLive)
	about.Usual, about.Habits = true, manual.OptionsOfCancel
	return about
}

// Run ends the jobs, also those after one that could not be ended; the exit
// status is then that of the first problem.
func (c *cancelCmd) Run(ctx context.Context, a *app) error {
	if c.Now {
		c.Grace = new(job.Span)
	}
	return a.acted(ctx, c.outputFlags, func(j api.Job) string { return c.said(a, j) }, func() ([]api.Job, error) {
		ids, err := c.targets(ctx, a)
		if err != nil {
			return nil, err
		}
		return c.end(ctx, a, ids)
	})
}

// end ends these jobs.
func (c *cancelCmd) end(ctx context.Context, a *app, ids []string) ([]api.Job, error) {
	r := api.ManyRequest{
		Command: job.CommandCancel, Signal: c.Signal.signal, Main: c.Signal.main, Grace: c.Grace, Brief: c.isBrief(),
	}
	if c.Signal.signal != 0 {
		r.Command = job.CommandSignal
	}
	return a.actOnMany(ctx, ids, r)
}

// said is what happened to a job.
func (c *cancelCmd) said(a *app, j api.Job) string {
	switch {
	case c.Signal.signal != 0 && j.Array != nil:
		return "passed signal " + c.Signal.name() + " on to its running tasks"
	case c.Signal.main:
		return "got signal " + c.Signal.name() + " in its main process only"
	case c.Signal.signal != 0:
		return "got signal " + c.Signal.name()
	case j.State.Terminal():
		return a.resultOf(j)
	case c.Now:
		return "is being ended: SIGKILL now"
	case c.Grace != nil || j.GraceTime() > 0:
		return fmt.Sprintf("is being ended: SIGTERM now, SIGKILL in %ds", wholeSeconds(*cmp.Or(c.Grace, j.Grace)))
	}
	return "is being ended"
}

// targets finds the jobs, and asks where whole queues are meant.
func (c *cancelCmd) targets(ctx context.Context, a *app) ([]string, error) {
	if a.as.only != nil {
		ids, err := c.narrowed(ctx, a)
		tasksLastFirst(ids)
		return ids, err
	}
	whole, err := c.choose(c.IDs, "gpusched cancel 42, or gpusched cancel --mine")
	if err != nil {
		return nil, err
	}
	if !whole {
		ids, err := a.resolve(ctx, c.IDs)
		if c.Signal.signal == 0 {
			tasksLastFirst(ids)
		}
		return ids, err
	}
	if c.Signal.signal != 0 {
		return c.jobs(ctx, a, kindOfJobs{"signal", "runs", job.CommandSignal})
	}
	// An array ends with all its tasks.
	return c.jobs(ctx, a, kindOfJobs{"end", "waits or runs", job.CommandCancel})
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
