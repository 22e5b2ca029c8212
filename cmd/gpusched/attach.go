package main

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/terminal"
)

// attachCmd attaches to the terminal of a job.
type attachCmd struct {
	ID string `arg:"" name:"id" help:"The job."`
}

func (c *attachCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.job(ctx, c.ID)
	if err != nil {
		return err
	}
	if !a.onTerminal() {
		return errNoTerminal()
	}
	s, err := a.reach(reply.Job, nil)
	if err != nil {
		return err
	}
	return a.inSession(ctx, reply.Job, s)
}

// errNoTerminal is for what needs one on this side.
func errNoTerminal() error {
	return refuse(api.CodeUsage, "without a terminal there are 'gpusched run' and 'gpusched logs -f'",
		"there is no terminal here: input and output must both be one")
}

// reach connects with the holder of a job's terminal, or says why not.
func (a *app) reach(j api.Job, argv []string) (*session, error) {
	name := nameOfJob(j)
	switch {
	case j.UID != a.uid && a.uid != 0:
		return nil, refuse(api.CodeForbidden, "root can do so too", "the terminal of job %s is for %s", name, j.User)
	case j.State.Terminal():
		return nil, refuse(api.CodeConflict, "see 'gpusched logs "+name+"'", "job %s has ended: %s", name, resultOf(j))
	case j.State == job.Queued:
		return nil, refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s is queued%s", name, colon(a.err.Local(j.Why)))
	case isSuspended(j):
		return nil, refuse(api.CodeConflict, "'gpusched resume "+name+"' lets it go on",
			"job %s is suspended by %s, and its terminal with it", name, j.SuspendedBy)
	}
	s, err := a.greet(j, argv)
	if errors.Is(err, terminal.ErrNone) {
		return nil, refuse(api.CodeConflict, "'gpusched run --tty' and 'gpusched shell' start jobs that have one; "+
			"the output of any job is in 'gpusched logs -f "+name+"'", "job %s has no terminal that you could reach", name)
	}
	return s, err
}

// inSession stays in the terminal of a job, and ends as the job does where that ends
// meanwhile.
func (a *app) inSession(ctx context.Context, j api.Job, s *session) error {
	status, err := s.run(ctx)
	name := nameOfJob(j)
	var refused *api.Error
	switch {
	case errors.Is(err, errDetached):
		a.err.Printf("\r\n")
		a.note("job %s goes on: 'gpusched attach %s' comes back, 'gpusched cancel %s' ends it", name, name, name)
		return nil
	case errors.As(err, &refused):
		return refused
	case err == nil:
		return a.sessionOver(ctx, j, status)
	}
	reply, asked := a.client.Job(ctx, j.ID.String())
	runs := reply.Job.State == job.Running || reply.Job.State == job.Starting
	if asked == nil && runs && reply.Job.Attempt == j.Attempt {
		return &failure{refuse(api.CodeInternal, "'gpusched attach "+name+"' comes back", "%s; job %s goes on", errCut, name)}
	}
	return a.sessionOver(ctx, j, statusFailure)
}

// sessionOver ends as the job did; of one that goes back to the queue that is said. The
// scheduler's word is better than that of the terminal, which serves without it.
func (a *app) sessionOver(ctx context.Context, j api.Job, status int) error {
	reply, err := a.client.Wait(ctx, j.ID.String(), overTime)
	if err != nil {
		a.note("job %s: its command has ended with %d; %v", nameOfJob(j), status, err)
		return exitStatus(status)
	}
	a.note("job %s %s", nameOfJob(j), resultOf(reply.Job))
	return statusOf([]api.Job{reply.Job})
}

// onTerminal reports whether a person can work in a session here.
func (a *app) onTerminal() bool { return a.interactive && a.out.TTY }
