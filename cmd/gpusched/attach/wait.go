package attach

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// WaitCmd waits for jobs to end.
type WaitCmd struct {
	Any     bool          `name:"any"`
	Timeout time.Duration `name:"timeout" type:"span" placeholder:"TIME"`
	Quiet   bool          `name:"quiet" short:"q"`
	cli.OutputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs. Default: the one you submitted last."`
}

func (*WaitCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.OneAtATime, Jobs: cli.Divided, Slurm: cli.ForSlurm, Usual: true,
		Offers: cli.Offers{Fits: cli.IsLive},
	}
}

// maxAny is the largest number of requests that --any keeps open.
const maxAny = 48

func (c *WaitCmd) Run(ctx context.Context, a *cli.App) error {
	if len(a.Far) > 0 {
		return c.WaitFar(ctx, a)
	}
	ids, err := a.Resolve(ctx, logs.OrLast(c.IDs))
	if err != nil {
		return err
	}
	if len(c.IDs) == 0 && !c.Quiet {
		a.Note("waiting for your last job, %s", ids[0])
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		late := cli.Refuse(api.CodeWaitTimeout, "the jobs go on, see 'gpusched list'", "not ended after %s", c.Timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, late)
		defer cancel()
	}
	wait := func(ctx context.Context, ids []string) ([]api.Job, error) { return waitAll(ctx, a, ids) }
	if c.Any {
		wait = func(ctx context.Context, ids []string) ([]api.Job, error) { return waitAny(ctx, a, ids) }
		if len(ids) > maxAny {
			return cli.Usagef("--any can wait for at most %d jobs, not %d", maxAny, len(ids))
		}
	}
	jobs, err := wait(ctx, ids)
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	if !c.Quiet || a.Documents() {
		if err := act.ShowActed(a, c.OutputFlags, jobs, a.ResultOf); err != nil {
			return err
		}
	}
	return cli.StatusOf(jobs)
}

// waitAll waits until all jobs have ended. A listing finds the jobs that have ended already. When
// the last one of many has ended, a second listing finds most of the others.
func waitAll(ctx context.Context, a *cli.App, ids []string) (jobs []api.Job, err error) {
	ended := map[string]api.Job{}
	running := func(id string) bool { return ended[id].ID == 0 }
	wait := func(id string) error {
		reply, err := api.Wait(ctx, a.Client, id, 0)
		ended[id] = reply.Job
		return err
	}
	for range min(len(ids)-1, 2) {
		list, err := api.List(ctx, a.Client, api.ListQuery{IDs: strings.Join(ids, ",")})
		for _, j := range list.Jobs {
			if j.State.Terminal() {
				ended[cli.NameOfJob(j)] = j
			}
		}
		last := ids[len(ids)-1]
		if err != nil || !running(last) { // the waits below report the error, too
			break
		}
		if err := wait(last); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if running(id) {
			if err := wait(id); err != nil {
				return nil, err
			}
		}
		jobs = append(jobs, ended[id])
	}
	return jobs, nil
}

// waitAny waits for all jobs at once. It returns the first job that ends.
func waitAny(ctx context.Context, a *cli.App, ids []string) ([]api.Job, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type ended struct {
		job api.Job
		err error
	}
	first := make(chan ended, len(ids))
	for _, id := range ids {
		go func() {
			reply, err := api.Wait(ctx, a.Client, id, 0)
			first <- ended{reply.Job, err}
		}()
	}
	one := <-first
	return []api.Job{one.job}, one.err
}

// Follow waits for the end of a new job and returns the job's exit status.
func Follow(ctx context.Context, a *cli.App, id job.ID, quiet bool) error {
	jobs, err := waitAll(ctx, a, []string{id.String()})
	if errors.Is(err, context.Canceled) {
		a.Note("job %d goes on (come back with 'gpusched wait %d', end it with 'gpusched cancel %d')", id, id, id)
		return err
	}
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	if !quiet {
		a.Out.Printf("job %s %s\n", cli.NumberOfJob(jobs[0]), term.Clean(a.ResultOf(jobs[0])))
	}
	return cli.StatusOf(jobs)
}
