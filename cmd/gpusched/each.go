package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// actOn does something to every job, to so many at once, also to those after one
// that it could not be done to. That is said, and the error is the exit status of
// the first. Nothing more is done when the scheduler can't be reached.
func (a *app) actOn(ids []string, atOnce int, do func(id string) (api.JobReply, error)) (jobs []api.Job, first error) {
	for some := range slices.Chunk(ids, atOnce) {
		replies, errs := make([]api.JobReply, len(some)), make([]error, len(some))
		var all sync.WaitGroup
		for i, id := range some {
			all.Go(func() { replies[i], errs[i] = do(id) })
		}
		all.Wait()
		for i, err := range errs {
			var e *api.Error
			switch {
			case err == nil:
				jobs = append(jobs, replies[i].Job)
			case !errors.As(err, &e) || e.Code == api.CodeUnreachable:
				return jobs, err
			default:
				a.complain(e.Error())
				if first == nil {
					first = exitStatus(e.Code.ExitStatus())
				}
			}
		}
	}
	return jobs, first
}

// jobsFlags are the jobs that a command does something to.
type jobsFlags struct {
	outputFlags

	IDs []string `arg:"" name:"id" help:"The jobs."`
}

// act does it and says what became of each.
func (c *jobsFlags) act(ctx context.Context, a *app, do func(ctx context.Context, id string) (api.JobReply, error),
	said func(api.Job) string) error {
	ids, err := a.resolve(ctx, c.IDs)
	if err != nil {
		return err
	}
	jobs, first := a.actOn(ids, 1, func(id string) (api.JobReply, error) { return do(ctx, id) })
	return errors.Join(a.showActed(c.outputFlags, jobs, said), first)
}

func (a *app) showActed(o outputFlags, jobs []api.Job, said func(api.Job) string) error {
	doc := struct {
		Schema string    `json:"schema"`
		Jobs   []api.Job `json:"jobs"`
	}{api.Schema, jobs}
	return a.jobReport(doc, jobs, func(bool) {
		for _, j := range jobs {
			a.out.Printf("job %s %s\n", term.Clean(nameOfJob(j)), term.Clean(said(j)))
		}
	}).show(a, o)
}

// nameOfJob is what people call the job: its number, or as a task "7_3".
func nameOfJob(j api.Job) string {
	if j.Task != nil {
		return j.Task.Name
	}
	return j.ID.String()
}
