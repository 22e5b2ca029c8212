package submit

import (
	"context"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
)

// WithScript adds the options of the job's script to the command. It returns the new command, and
// an App with the new words and engine. Options on the command line override those of the script.
func (c *Cmd) WithScript(ctx context.Context, a *cli.App) (*Cmd, *cli.App, error) {
	whole, this, err := c.scripted(ctx, a)
	if whole == nil {
		return c, a, err
	}
	with := *whole.(*Cmd)
	with.override(&c.JobOptions)
	if c.Tasks != "" || len(c.Param) > 0 {
		with.Tasks, with.Param = c.Tasks, c.Param
	}
	return &with, this, nil
}

// withScript is like WithScript, but for run and shell.
func (c *RunCmd) withScript(ctx context.Context, a *cli.App) (*RunCmd, *cli.App, error) {
	whole, this, err := c.scripted(ctx, a)
	if whole == nil {
		return c, a, err
	}
	with := *c
	with.JobOptions = *whole.Options()
	with.override(&c.JobOptions)
	return &with, this, nil
}

// NewJob is a command that queues a job.
type NewJob interface{ Options() *JobOptions }

// scripted returns the command with its script's options, or nil if no script adds options.
func (c *JobOptions) scripted(ctx context.Context, a *cli.App) (NewJob, *cli.App, error) {
	argv, err := c.argv(a)
	if err != nil {
		return nil, a, err
	}
	dir, err := jobenv.WorkDir(a, c.Chdir)
	if err != nil {
		return nil, a, err
	}
	s, err := scriptOf(a, dir, argv[0])
	if err == nil && s != nil && !c.Force && !c.IsContainer() && !s.names("--image") {
		err = s.checkInterpreter(a)
	}
	if s == nil || err != nil {
		return nil, a, err
	}
	keeps, here := a.As.Keeps, c.Host == "" && a.Other() == nil
	if here && c.Snapshot == nil && !keeps { // a restart of the daemon does not end the submission
		err = api.Repeat(ctx, func() error {
			v, err := api.Version(ctx, a.Client)
			keeps = v.KeepScripts
			return err
		})
	}
	if err == nil && keeps && here {
		err = useCopy(a, s)
	}
	if err != nil || len(s.lines) == 0 && s.runsDirectly() && !keeps {
		return nil, a, err
	}
	return c.withLines(a, s, argv)
}

func (c *JobOptions) Options() *JobOptions { return c }

// override replaces some of the script's options with those of the command line. For these options,
// the parser has only combined the values of both.
func (c *JobOptions) override(typed *JobOptions) {
	if len(typed.AfterStart)+len(typed.AfterOK)+len(typed.AfterFail)+len(typed.AfterAny) > 0 {
		c.AfterStart, c.AfterOK = typed.AfterStart, typed.AfterOK
		c.AfterFail, c.AfterAny = typed.AfterFail, typed.AfterAny
	}
	if typed.Host != "" { // --hosts has set typed.Host; that option is not among the parsed words
		c.Host = typed.Host
	}
	if len(typed.NotifyWhen) > 0 {
		c.notifyOptions = typed.notifyOptions
	}
	switch mine, its := &c.Request, &typed.Request; {
	case its.GPUMilli >= 0 && len(its.GPUIDs) == 0:
		mine.GPUIDs = nil
	case len(its.GPUIDs) > 0 && its.GPUMilli < 0:
		mine.GPUMilli = -1
	}
}
