package act

import (
	"context"
	"errors"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// mostAtOnce is the largest number of jobs in one request.
const mostAtOnce = 100_000

// actOnMany is like ActOn, but sends one request for all jobs.
func actOnMany(ctx context.Context, a *cli.App, ids []string, r api.ManyRequest) (jobs []api.Job, first error) {
	if len(ids) < 2 {
		return a.ActOn(ids, 1, func(id string) (api.JobReply, error) { return api.One(ctx, a.Client, id, r) })
	}
	for some := range slices.Chunk(ids, mostAtOnce) {
		r.Jobs = some
		err := api.Many(ctx, a.Client, r, func(part api.ManyPart) {
			jobs = append(jobs, part.Jobs...)
			for _, r := range part.Refused {
				a.Complain(r.Error.Text(a.Err.Reader()))
				if first == nil {
					first = cli.ExitStatus(r.Error.Code.ExitStatus())
				}
			}
		})
		if err != nil {
			return jobs, err
		}
	}
	return jobs, first
}

// jobsFlags are the arguments of a command that acts on named jobs.
type jobsFlags struct {
	cli.OutputFlags

	IDs []string `arg:"" name:"id" help:"The jobs."`
}

// actOnJobs carries out the command for the jobs and prints the result.
func (c *jobsFlags) actOnJobs(ctx context.Context, a *cli.App, r api.ManyRequest, said func(api.Job) string) error {
	return acted(ctx, a, c.OutputFlags, said, func() ([]api.Job, error) {
		ids, err := a.Resolve(ctx, c.IDs)
		if err != nil {
			return nil, err
		}
		return actOnMany(ctx, a, ids, r)
	})
}

// acted carries out a command for jobs, here or on the jobs' machines. Then it prints the results.
func acted(
	ctx context.Context, a *cli.App, o cli.OutputFlags, said func(api.Job) string, do func() ([]api.Job, error),
) error {
	if len(a.Far) > 0 {
		do = func() ([]api.Job, error) { return afar.ActFar(ctx, a) }
	}
	jobs, first := do()
	if len(jobs) == 0 && first != nil && !errors.As(first, new(cli.ExitStatus)) {
		return first
	}
	return errors.Join(ShowActed(a, o, jobs, said), first)
}

func ShowActed(a *cli.App, o cli.OutputFlags, jobs []api.Job, said func(api.Job) string) error {
	if a.As.Strict {
		return nil // scancel and tsp -k print nothing
	}
	doc := afar.ActedReply{Schema: api.Schema, Jobs: append([]api.Job{}, jobs...)} // an empty list, not null
	return a.JobReport(doc, jobs, func(bool) {
		for _, j := range jobs {
			a.Out.Printf("job %s %s\n", term.Clean(cli.NameOfJob(j)), term.Clean(said(j)))
		}
	}).Show(a, o)
}
