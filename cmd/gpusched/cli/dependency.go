package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Dependencies returns the dependencies that --after, --after-ok, --after-fail and --after-any
// name, in this order.
func (a *App) Dependencies(ctx context.Context, after, ok, fail, any []string) ([]job.Dependency, error) {
	var list []job.Dependency
	for _, d := range []struct {
		kind  job.DependencyKind
		words []string
	}{{job.AfterStart, after}, {job.AfterOK, ok}, {job.AfterFail, fail}, {job.AfterAny, any}} {
		names, err := a.Resolve(ctx, d.words)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			id, err := a.numberOf(ctx, name)
			if err != nil {
				return nil, err
			}
			list = append(list, job.Dependency{Kind: d.kind, Job: id})
		}
	}
	return list, nil
}

// AfterNamesakes makes a job wait for all other jobs of the caller that have the same name, have not
// ended and are not in the job's lane.
func (a *App) AfterNamesakes(ctx context.Context, req *api.SubmitRequest) error {
	jobs, err := a.Mine(ctx, api.ListQuery{Name: req.Name})
	jobs = slices.DeleteFunc(jobs, func(j api.Job) bool { return j.Lane == req.Lane })
	for _, id := range submissions(jobs) {
		req.After = append(req.After, job.Dependency{Kind: job.AfterAny, Job: id})
	}
	return err
}

// numberOf returns the number of a job. It refuses a task that has not become a job.
func (a *App) numberOf(ctx context.Context, name string) (job.ID, error) {
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		return job.ID(id), nil
	}
	reply, err := api.Show(ctx, a.Client, name, api.JobQuery{})
	if err == nil && reply.Job.ID == 0 {
		why := "has not started yet: a job can wait for it only once it has"
		if reply.Job.State.Terminal() {
			why = "was cancelled before it started"
		}
		hint := fmt.Sprintf("wait for the whole array: %d", reply.Job.Task.Array)
		err = Refuse(api.CodeConflict, hint, "task %s %s", name, why)
	}
	return reply.Job.ID, err
}

func DependencyLine(list []job.Dependency) string {
	return Joined(list, ", ", func(d job.Dependency) string { return fmt.Sprintf("--%s %d", d.Kind, d.Job) })
}
