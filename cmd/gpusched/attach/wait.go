package client

import (
	"context"
	"errors"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// waitCmd waits for jobs.
type waitCmd struct {
	Any     bool          `name:"any"`
	Timeout time.Duration `name:"timeout" type:"span" placeholder:"TIME"`
	Quiet   bool          `name:"quiet" short:"q"`
	outputFlags

	IDs []string `arg:"" optional:"" name:"id" help:"The jobs. Default: the one you submitted last."`
}

func (*waitCmd) About() About {
	return About{
		Host: ShownHere, Hosts: OneAtATime, Jobs: Divided, Slurm: ForSlurm, Usual: true, Offers: Offers{Fits: isLive},
	}
}

// maxAny bounds how many waits one command keeps open.
const maxAny = 48

func (c *waitCmd) Run(ctx context.Context, a *app) error {
	if len(a.far) > 0 {
		return c.waitFar(ctx, a)
	}
	ids, err := a.resolve(ctx, orLast(c.IDs))
	if err != nil {
		return err
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		late := refuse(api.CodeWaitTimeout, "the jobs go on, see 'gpusched list'", "not ended after %s", c.Timeout)
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, late)
		defer cancel()
	}
	wait := a.waitAll
	if c.Any {
		wait = a.waitAny
		if len(ids) > maxAny {
			return usagef("--any can watch %d jobs, not %d", maxAny, len(ids))
		}
	}
	jobs, err := wait(ctx, ids)
	if err != nil {
		return waitError(ctx, err)
	}
	if !c.Quiet || a.documents() {
		if err := a.showActed(c.outputFlags, jobs, a.resultOf); err != nil {
			return err
		}
	}
	return statusOf(jobs)
}

// waitError tells a timeout, Ctrl-C and errors about the jobs named from
// failures of gpusched itself, which have a status that is no job's (125).
func waitError(ctx context.Context, err error) error {
	var e *api.Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	if errors.As(err, &e) && e.Code != api.CodeNotFound && e.Code != api.CodeUsage {
		return &failure{e}
	}
	return err
}

// failure is an error of gpusched itself while it stands for a job.
type failure struct{ cause *api.Error }

// Error is that of the cause.
func (f *failure) Error() string { return f.cause.Error() }

// statusFailure is the status of a failure.
const statusFailure = 125

// waitAll waits for one after the other, which takes as long as the longest.
func (a *app) waitAll(ctx context.Context, ids []string) ([]api.Job, error) {
	var jobs []api.Job
	for _, id := range ids {
		reply, err := api.Wait(ctx, a.client, id, 0)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, reply.Job)
	}
	return jobs, nil
}

// waitAny waits for all at once and returns the first that ended.
func (a *app) waitAny(ctx context.Context, ids []string) ([]api.Job, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type ended struct {
		job api.Job
		err error
	}
	first := make(chan ended, len(ids))
	for _, id := range ids {
		go func() {
			reply, err := api.Wait(ctx, a.client, id, 0)
			first <- ended{reply.Job, err}
		}()
	}
	one := <-first
	return []api.Job{one.job}, one.err
}

func (a *app) resultOf(j api.Job) string {
	if j.Result != nil {
		return j.Cause(a.out.Reader())
	}
	if j.State == job.Queued {
		return "does not go on" + a.because(j)
	}
	return string(j.State)
}

// statusOf is the first status that is not 0.
func statusOf(jobs []api.Job) error {
	for _, j := range jobs {
		if j.Result != nil && j.Result.Code != 0 {
			return exitStatus(j.Result.Code)
		}
		if j.Result == nil && j.State == job.Queued {
			return exitStatus(1) // no more of it starts, as too many tasks have failed
		}
		if j.Result == nil && j.State != job.Completed {
			return exitStatus(statusFailure)
		}
	}
	return nil
}

// follow waits for a job just submitted and ends as it did.
func (a *app) follow(ctx context.Context, id job.ID, quiet bool) error {
	jobs, err := a.waitAll(ctx, []string{id.String()})
	if errors.Is(err, context.Canceled) {
		a.note("job %d goes on (come back with 'gpusched wait %d', end it with 'gpusched cancel %d')", id, id, id)
		return err
	}
	if err != nil {
		return waitError(ctx, err)
	}
	if !quiet {
		a.out.Printf("job %s %s\n", numberOfJob(jobs[0]), term.Clean(a.resultOf(jobs[0])))
	}
	return statusOf(jobs)
}
