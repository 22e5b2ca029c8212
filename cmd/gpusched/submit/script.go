package submit

import (
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
)

// WithScript returns the submission with the options that stand in its script, and
// the words that belong to it. The options of the command line win.
func (c *Cmd) WithScript(a *cli.App) (*Cmd, *cli.App, error) {
	whole, this, err := c.scripted(a)
	if whole == nil {
		return c, a, err
	}
	with := *whole.(*Cmd)
	with.prefer(&c.JobOptions)
	if c.Tasks != "" || len(c.Param) > 0 {
		with.Tasks, with.Param = c.Tasks, c.Param
	}
	return &with, this, nil
}

// withScript is the same for a job that somebody stays with.
func (c *RunCmd) withScript(a *cli.App) (*RunCmd, *cli.App, error) {
	whole, this, err := c.scripted(a)
	if whole == nil {
		return c, a, err
	}
	with := *c
	with.JobOptions = *whole.Options()
	with.prefer(&c.JobOptions)
	return &with, this, nil
}

// NewJob is a command for a new job.
type NewJob interface{ Options() *JobOptions }

// scripted is the command with the options that stand in its script. It returns nil where
// none do.
func (c *JobOptions) scripted(a *cli.App) (NewJob, *cli.App, error) {
	argv, err := c.argv(a)
	if err != nil {
		return nil, a, err
	}
	dir, err := jobenv.WorkDir(a, c.Chdir)
	if err != nil {
		return nil, a, err
	}
	s, err := scriptOf(a, dir, argv[0])
	if err == nil && s != nil && !c.Force {
		err = s.runs(a)
	}
	if s == nil || err != nil || len(s.lines) == 0 && s.itself() && !a.As.Keeps {
		return nil, a, err
	}
	if a.As.Keeps && c.Host == "" && a.Other() == nil {
		if err := keep(a, s); err != nil {
			return nil, a, err
		}
	}
	return c.withLines(a, s, argv)
}

func (c *JobOptions) Options() *JobOptions { return c }

// prefer puts in what the command line says instead of the script, where adding one
// to the other would not do.
func (c *JobOptions) prefer(typed *JobOptions) {
	if len(typed.AfterStart)+len(typed.AfterOK)+len(typed.AfterFail)+len(typed.AfterAny) > 0 {
		c.AfterStart, c.AfterOK = typed.AfterStart, typed.AfterOK
		c.AfterFail, c.AfterAny = typed.AfterFail, typed.AfterAny
	}
	if typed.Host != "" { // which --hosts says in front of the words that are parsed
		c.Host = typed.Host
	}
	if len(typed.Tell) > 0 {
		c.notifyOptions = typed.notifyOptions
	}
	switch mine, its := &c.Request, &typed.Request; {
	case its.GPUMilli >= 0 && len(its.GPUIDs) == 0:
		mine.GPUIDs = nil
	case len(its.GPUIDs) > 0 && its.GPUMilli < 0:
		mine.GPUMilli = -1
	}
}
