package attach

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// ExecCmd runs a second command inside a running job.
type ExecCmd struct {
	Raw bool `name:"raw"`

	ID      string   `arg:"" name:"id" help:"The job, which must run."`
	Command []string `arg:"" optional:"" name:"command" passthrough:"partial" help:"The command and its arguments. Everything from its first word on is the command's."`
}

func (*ExecCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Jobs: cli.OneAtATime, Slurm: cli.ForSlurm, OwnInput: true,
		Offers: cli.Offers{Fits: cli.IsOn, Own: true},
	}
}

// JobCommand returns the words of the command that runs in the job.
func (c *ExecCmd) JobCommand() []string { return c.Command }

func (c *ExecCmd) Run(ctx context.Context, a *cli.App) error {
	argv := a.TypedCommand(c.Command)
	if len(argv) == 0 {
		return cli.Refuse(api.CodeUsage, "such as: gpusched exec "+c.ID+" -- nvidia-smi", "there is no command to run")
	}
	reply, err := a.Job(ctx, c.ID)
	if err != nil {
		return err
	}
	if done, err := enterByEngine(a, reply.Job, argv); done {
		return err
	}
	status, err := within(ctx, a, reply.Job, sessionOptions{argv: argv, raw: c.Raw})
	if err != nil || status == 0 {
		return err
	}
	return cli.ExitStatus(status)
}

// Enter runs a command inside a running job, with the standard input and output of this process. It
// returns the command's exit status.
func Enter(ctx context.Context, a *cli.App, j api.Job, argv []string) (status int, err error) {
	return within(ctx, a, j, sessionOptions{argv: argv})
}

func within(ctx context.Context, a *cli.App, j api.Job, v sessionOptions) (status int, err error) {
	s, err := connectLauncher(ctx, a, j, v)
	if err != nil {
		return 0, err
	}
	status, err = s.run(ctx)
	switch {
	case ctx.Err() != nil:
		return 0, cli.ExitStatus(cli.StatusInterrupted)
	case errors.Is(err, errDetached), errors.Is(err, errCut):
		return 0, &cli.Failure{Cause: cli.Refuse(api.CodeInternal, "", "%s; the command was hung up on", errCut)}
	}
	return status, err
}
