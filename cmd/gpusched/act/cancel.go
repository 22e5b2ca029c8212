package act

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// CancelCmd cancels jobs or sends them a signal.
type CancelCmd struct {
	Signal cli.Aimed `name:"signal" type:"signal" xor:"how" placeholder:"SIG"`
	Grace  *job.Span `name:"grace" type:"span" xor:"how" placeholder:"TIME"`
	Now    bool      `name:"now" xor:"how"`
	ownerFlags
	cli.OutputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

func (*CancelCmd) About() cli.About {
	about := cli.Acting(cli.IsLive)
	about.Usual, about.Habits = true, manual.OptionsOfCancel
	return about
}

// Run cancels all jobs. After a failure it goes on with the next job, and returns the exit status
// of the first failure.
func (c *CancelCmd) Run(ctx context.Context, a *cli.App) error {
	if c.Now {
		c.Grace = new(job.Span)
	}
	return acted(ctx, a, c.OutputFlags, func(j api.Job) string { return c.Said(a, j) }, func() ([]api.Job, error) {
		ids, err := c.targets(ctx, a)
		if err != nil {
			return nil, err
		}
		return c.endJobs(ctx, a, ids)
	})
}

// endJobs cancels the jobs or sends them the signal.
func (c *CancelCmd) endJobs(ctx context.Context, a *cli.App, ids []string) ([]api.Job, error) {
	r := api.ManyRequest{
		Command: job.CommandCancel, Signal: c.Signal.Signal, Main: c.Signal.Main, Grace: c.Grace, Brief: c.IsBrief(),
	}
	if c.Signal.Signal != 0 {
		r.Command = job.CommandSignal
	}
	return actOnMany(ctx, a, ids, r)
}

// Said returns the sentence about what happened to a job.
func (c *CancelCmd) Said(a *cli.App, j api.Job) string {
	switch {
	case c.Signal.Signal != 0 && j.Array != nil:
		return "passed signal " + c.Signal.Name() + " on to its running tasks"
	case c.Signal.Main:
		return "got signal " + c.Signal.Name() + " in its main process only"
	case c.Signal.Signal != 0:
		return "got signal " + c.Signal.Name()
	case j.State.Terminal():
		return a.ResultOf(j)
	case c.Now:
		return "is being ended: SIGKILL now"
	case c.Grace != nil || j.GraceTime() > 0:
		return fmt.Sprintf("is being ended: SIGTERM now, SIGKILL in %ds", cli.WholeSeconds(*cmp.Or(c.Grace, j.Grace)))
	}
	return "is being ended"
}

// targets returns the names of the jobs to cancel. If the jobs are selected by their user,
// targets first asks for confirmation.
func (c *CancelCmd) targets(ctx context.Context, a *cli.App) ([]string, error) {
	if a.As.Only != nil {
		ids, err := c.filtered(ctx, a)
		tasksLastFirst(ids)
		return ids, err
	}
	whole, err := c.choose(c.IDs, "gpusched cancel 42, or gpusched cancel --mine")
	if err != nil {
		return nil, err
	}
	if !whole {
		ids, err := a.Resolve(ctx, c.IDs)
		if c.Signal.Signal == 0 {
			tasksLastFirst(ids)
		}
		return ids, err
	}
	if c.Signal.Signal != 0 {
		return c.jobs(ctx, a, action{"signal", "runs", job.CommandSignal})
	}
	// Cancelling an array cancels all its tasks.
	return c.jobs(ctx, a, action{"end", "waits or runs", job.CommandCancel})
}

// tasksLastFirst reverses the order of tasks that follow each other and belong to the same array.
// In the original order, the cancellation of one task could start the next task.
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

// filtered returns the jobs that match the filters of another tool. It chooses among the named
// jobs, or, if none are named, among the jobs of one user or of all users. As with scancel, an
// empty result is not an error.
func (c *CancelCmd) filtered(ctx context.Context, a *cli.App) (names []string, err error) {
	ids, err := a.Resolve(ctx, c.IDs)
	if err != nil {
		return nil, err
	}
	q := api.ListQuery{User: c.User, IDs: strings.Join(ids, ",")}
	if c.Mine || c.User == "" && len(ids) == 0 && !a.As.All {
		q.UID = &a.UID
	}
	jobs, err := api.List(ctx, a.Client, q)
	if err != nil {
		return nil, err
	}
	list := jobs.Jobs
	for _, j := range jobs.Jobs {
		if len(ids) > 0 && j.Array != nil && !j.State.Terminal() && len(a.As.States) > 0 {
			tasks, err := api.List(ctx, a.Client, api.ListQuery{Array: j.ID})
			if err != nil {
				return nil, err
			}
			list = append(list, tasks.Jobs...)
		}
	}
	whole := map[job.ID]bool{}
	for _, j := range list {
		switch {
		case j.State.Terminal() || !a.As.Only(j):
		case j.Array != nil && len(a.As.States) == 0:
			whole[j.ID] = true
			names = append(names, cli.NameOfJob(j))
		case j.Array != nil:
			some, err := waitingTasks(a, j)
			if err != nil {
				return nil, err
			}
			names = append(names, some...)
		case j.Task != nil && whole[j.Task.Array]:
		case alias.In(a.As.States, j) && (c.Signal.Signal == 0 || j.State == job.Running):
			names = append(names, cli.NameOfJob(j))
		}
	}
	return names, nil
}

// waitingTasks returns the tasks of an array that have not become jobs, if the filters select
// waiting tasks. All other tasks are jobs with a state of their own.
func waitingTasks(a *cli.App, j api.Job) (names []string, err error) {
	if !alias.Pending(a.As.States) || j.State != job.Queued {
		return nil, nil
	}
	tasks, err := alias.WaitingTasks(j)
	if err != nil {
		return nil, cli.Refuse(api.CodeUsage, "name the tasks, such as "+cli.NumberOfJob(j)+"_[20-90]",
			"array %s has too many parts to tell its waiting tasks from the others", cli.NumberOfJob(j))
	}
	for at := range tasks.Size() {
		names = append(names, job.Task{Array: j.ID, Index: tasks.At(at)}.String())
	}
	return names, nil
}
