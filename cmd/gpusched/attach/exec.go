package client

import (
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon/api"
)

// execCmd runs a command beside a job's.
type execCmd struct {
	Raw bool `name:"raw"`

	ID      string   `arg:"" name:"id" help:"The job, which must run."`
	Command []string `arg:"" optional:"" name:"command" passthrough:"partial" help:"The command and its arguments. Everything from its first word on is the command's."`
}

func (*execCmd) About() About {
	return About{
		Host: RunThere, Hosts: OneAtATime, Jobs: OneAtATime, Slurm: ForSlurm, OwnInput: true,
		Offers: Offers{Fits: isOn, Own: true},
	}
}

// command are the words that are not the parser's.
func (c *execCmd) command() []string { return c.Command }

func (c *execCmd) Run(ctx context.Context, a *app) error {
	argv := a.words[len(a.words)-len(c.Command):]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return refuse(api.CodeUsage, "such as: gpusched exec "+c.ID+" -- nvidia-smi", "there is no command to run")
	}
	reply, err := a.job(ctx, c.ID)
	if err != nil {
		return err
	}
	if done, err := a.enterElsewhere(reply.Job, argv); done {
		return err
	}
	s, err := a.reach(ctx, reply.Job, visit{argv: argv, raw: c.Raw})
	if err != nil {
		return err
	}
	status, err := s.run(ctx)
	switch {
	case ctx.Err() != nil:
		return exitStatus(statusInterrupted)
	case errors.Is(err, errDetached), errors.Is(err, errCut):
		return &failure{refuse(api.CodeInternal, "", "%s; the command was hung up on", errCut)}
	case err != nil || status == 0:
		return err
	}
	return exitStatus(status)
}
