package client

// withScript returns the submission with the options that stand in its script, and
// the words that belong to it. The options of the command line win.
func (c *submitCmd) withScript(a *app) (*submitCmd, *app, error) {
	whole, this, err := c.scripted(a)
	if whole == nil {
		return c, a, err
	}
	with := *whole.(*submitCmd)
	with.prefer(&c.jobOptions)
	if c.Tasks != "" || len(c.Param) > 0 {
		with.Tasks, with.Param = c.Tasks, c.Param
	}
	return &with, this, nil
}

// withScript is the same for a job that somebody stays with.
func (c *runCmd) withScript(a *app) (*runCmd, *app, error) {
	whole, this, err := c.scripted(a)
	if whole == nil {
		return c, a, err
	}
	with := *c
	with.jobOptions = *whole.options()
	with.prefer(&c.jobOptions)
	return &with, this, nil
}

// newJob is a command for a new job.
type newJob interface{ options() *jobOptions }

// scripted is the command with the options that stand in its script. It returns nil where
// none do.
func (c *jobOptions) scripted(a *app) (newJob, *app, error) {
	argv, err := c.argv(a)
	if err != nil {
		return nil, a, err
	}
	dir, err := a.workDir(c.Chdir)
	if err != nil {
		return nil, a, err
	}
	s, err := a.scriptOf(dir, argv[0])
	if err == nil && s != nil && !c.Force {
		err = s.runs(a)
	}
	if s == nil || err != nil || len(s.lines) == 0 && s.itself() && !a.as.keeps {
		return nil, a, err
	}
	if a.as.keeps && c.Host == "" && a.other() == nil {
		if err := a.keep(s); err != nil {
			return nil, a, err
		}
	}
	return c.withLines(a, s, argv)
}

func (c *jobOptions) options() *jobOptions { return c }

// prefer puts in what the command line says instead of the script, where adding one
// to the other would not do.
func (c *jobOptions) prefer(typed *jobOptions) {
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

// noteOnce says something once, however many jobs it is about.
func (a *app) noteOnce(text string) {
	if !a.noted[text] {
		a.noted[text] = true
		a.note("%s", text)
	}
}
