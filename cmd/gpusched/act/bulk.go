package client

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
				a.complain(e.Text(a.err.Reader()))
				if first == nil {
					first = exitStatus(e.Code.ExitStatus())
				}
			}
		}
	}
	return jobs, first
}

// mostAtOnce is how many jobs one request is about at most.
const mostAtOnce = 100_000

// actOnMany does something to jobs as actOn does, but to many of them in one request.
func (a *app) actOnMany(ctx context.Context, ids []string, r api.ManyRequest) (jobs []api.Job, first error) {
	if len(ids) < 2 {
		return a.actOn(ids, 1, func(id string) (api.JobReply, error) { return api.One(ctx, a.client, id, r) })
	}
	for some := range slices.Chunk(ids, mostAtOnce) {
		r.Jobs = some
		err := api.Many(ctx, a.client, r, func(part api.ManyPart) {
			jobs = append(jobs, part.Jobs...)
			for _, r := range part.Refused {
				a.complain(r.Error.Text(a.err.Reader()))
				if first == nil {
					first = exitStatus(r.Error.Code.ExitStatus())
				}
			}
		})
		if err != nil {
			return jobs, err
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
func (c *jobsFlags) act(ctx context.Context, a *app, r api.ManyRequest, said func(api.Job) string) error {
	return a.acted(ctx, c.outputFlags, said, func() ([]api.Job, error) {
		ids, err := a.resolve(ctx, c.IDs)
		if err != nil {
			return nil, err
		}
		return a.actOnMany(ctx, ids, r)
	})
}

// acted shows what became of the jobs to which something is done, here or by the machines that have them.
func (a *app) acted(ctx context.Context, o outputFlags, said func(api.Job) string, do func() ([]api.Job, error)) error {
	if len(a.far) > 0 {
		do = func() ([]api.Job, error) { return a.actFar(ctx) }
	}
	jobs, first := do()
	if len(jobs) == 0 && first != nil && !errors.As(first, new(exitStatus)) {
		return first
	}
	return errors.Join(a.showActed(o, jobs, said), first)
}

// actedReply is the document of what was done to jobs.
type actedReply struct {
	Schema string    `json:"schema"`
	Jobs   []api.Job `json:"jobs"`
}

func (all *actedReply) nameAll(host string) { nameJobs(host, all.Jobs) }

func (a *app) showActed(o outputFlags, jobs []api.Job, said func(api.Job) string) error {
	if a.as.strict {
		return nil // scancel and tsp -k say nothing
	}
	doc := actedReply{api.Schema, append([]api.Job{}, jobs...)} // an empty list is no null
	return a.jobReport(doc, jobs, func(bool) {
		for _, j := range jobs {
			a.out.Printf("job %s %s\n", term.Clean(nameOfJob(j)), term.Clean(said(j)))
		}
	}).show(a, o)
}

// nameOfJob is what people call the job: its number, or as a task "7_3"; of another machine "a:7_3", of another engine
// "slurm:7_3".
func nameOfJob(j api.Job) string { return j.Called() }

// numberOfJob is the same without the number of a task.
func numberOfJob(j api.Job) string { return nameAt(j.Queue(), j.ID.String()) }
