package attach

import (
	"cmp"
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// enterByEngine runs a command in a job of another engine. Without a command it runs the user's
// shell. The result handled is false if the job belongs to gpusched itself.
func enterByEngine(a *cli.App, j api.Job, argv []string) (handled bool, err error) {
	e := a.Other()
	if e == nil {
		return false, nil
	}
	name := cli.NameOfJob(j)
	switch {
	case j.State.Terminal():
		return true, cli.Refuse(api.CodeConflict, "see 'gpusched logs "+name+"'", "job %s has ended: %s", name, a.ResultOf(j))
	case j.Array != nil:
		return true, cli.Refuse(api.CodeUsage, "name one, such as "+name+"_0", "%s is an array, and this works on one task", name)
	case j.State != job.Running:
		return true, cli.Refuse(api.CodeConflict, "see 'gpusched why "+name+"'", "job %s is %s%s", name, j.State, a.Because(j))
	case len(argv) == 0 && !a.OnTerminal():
		return true, cli.ErrNoTerminal()
	case len(argv) == 0:
		a.Note("this is a shell in job %s; leaving it does not end the job", name)
		argv = []string{cmp.Or(a.Getenv("SHELL"), "/bin/sh")}
	}
	p, err := e.Within(j, a.OnTerminal(), argv...)
	if err != nil {
		return true, &cli.Failure{Cause: cli.AsAPI(err)}
	}
	return true, a.BecomeProgram(p)
}

// AttendAgain implements the internal command "stay-with tty|output loud|quiet ID". The gpusched of
// another machine runs that command here.
func AttendAgain(ctx context.Context, a *cli.App, args []string) error {
	if len(args) != 3 {
		return cli.Usagef("%s takes three words", afar.AttendCommand)
	}
	id, err := job.ParseID(args[2])
	if err != nil {
		return cli.Usagef("%v", err)
	}
	reply, err := api.Show(ctx, a.Client, id.String(), api.JobQuery{})
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	if args[0] == "tty" {
		return AttendTerminal(ctx, a, reply.Job, args[1] == "quiet")
	}
	return Attend(ctx, a, reply.Job, args[1] == "quiet")
}

// WaitFar asks all machines at once to wait for their own jobs.
func (c *WaitCmd) WaitFar(ctx context.Context, a *cli.App) error {
	type ended struct {
		at  int
		ans remote.Answer
		err error
	}
	waiting, enough := context.WithCancel(ctx)
	defer enough()
	came := make(chan ended, len(a.Far))
	for i, host := range a.Far {
		go func() {
			ans, _, err := afar.UntilAnswered(waiting, func() (remote.Answer, error) {
				return afar.AskHost(waiting, a, host, afar.Typed(a), len(a.Far))
			})
			came <- ended{i, ans, err}
		}()
	}
	list := make([][]api.Job, len(a.Far))
	var first error
	for range a.Far {
		e := <-came
		if ctx.Err() != nil {
			return ctx.Err()
		}
		jobs, err := afar.ActedOn(a, a.Far[e.at], e.ans, e.err)
		if list[e.at] = jobs; err != nil && len(jobs) == 0 && first == nil {
			first = err
		}
		if c.Any && len(jobs) > 0 {
			break
		}
	}
	enough()
	var jobs []api.Job
	for _, some := range list {
		jobs = append(jobs, some...)
	}
	if !c.Quiet {
		if err := act.ShowActed(a, c.OutputFlags, jobs, a.ResultOf); err != nil {
			return err
		}
	}
	return cmp.Or(first, cli.StatusOf(jobs))
}
