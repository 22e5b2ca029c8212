package submit

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// RunCmd queues a job, prints the job's output and returns its exit status.
type RunCmd struct {
	JobOptions

	TTY   bool `name:"tty" group:"self"`
	Quiet bool `name:"quiet" short:"q" group:"self"`
}

func (*RunCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.OnOne, Slurm: cli.ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  parse.UsedOptions + "tty",
		Examples: []string{"gpusched run -g 1 -- python train.py", "gpusched run --tty -g 1 -- python -m pdb train.py"},
	}
}

func (c *RunCmd) Run(ctx context.Context, a *cli.App) error {
	typed := a
	c, a, err := c.withScript(ctx, a)
	if err != nil {
		return err
	}
	if c.TTY && c.Screen {
		return cli.Refuse(api.CodeUsage, "use --tty for this terminal and 'gpusched attach', or --screen for 'screen -r'",
			"--tty and --screen both give the job a terminal")
	}
	if c.TTY && !a.OnTerminal() && !a.Documents() {
		return cli.ErrNoTerminal()
	}
	if c.Host != "" && a.Asked == nil {
		return c.runRemote(ctx, typed)
	}
	if done, err := c.byEngine(ctx, a); done {
		return err
	}
	j, err := c.submit(ctx, a)
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	if a.Documents() {
		return cli.WriteJSON(a.Out.W, api.SubmitReply{Schema: api.Schema, Job: j}, "")
	}
	if c.TTY {
		return attach.AttendTerminal(ctx, a, j, c.Quiet)
	}
	return attach.Attend(ctx, a, j, c.Quiet)
}

// makeRequest prints warnings, checks the job's request and returns it.
func (c *RunCmd) makeRequest(ctx context.Context, a *cli.App) (api.SubmitRequest, error) {
	req, err := c.request(ctx, a)
	if err != nil {
		return req, err
	}
	if err := c.CheckProgram(a, &req); err != nil {
		return req, err
	}
	hint(a, req)
	if c.TTY {
		inTerminal(a, &req)
	}
	a.RestoreLimits()
	return req, nil
}

// submit queues the job.
func (c *RunCmd) submit(ctx context.Context, a *cli.App) (api.Job, error) {
	req, err := c.makeRequest(ctx, a)
	if err != nil {
		return api.Job{}, err
	}
	reply, err := submit(ctx, a, req)
	if err == nil {
		hintQueued(a, &c.JobOptions, reply.Job)
		jobenv.HintMemory(a, reply.Job)
	}
	return reply.Job, err
}

// inTerminal requests a terminal. The job keeps the terminal until it ends.
func inTerminal(a *cli.App, req *api.SubmitRequest) {
	req.TTY = true
	kind := a.Getenv("TERM")
	if req.EnvMode != contract.EnvInherit && kind != "" {
		req.Env = slices.Insert(req.Env, 0, "TERM="+kind)
	}
}

// ShellCmd runs a shell as a job.
type ShellCmd struct {
	RunCmd
}

func (*ShellCmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.OnOne, Slurm: cli.ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  "gpus gpu-mem mem time name conda set-env after-ok",
		Examples: []string{"gpusched shell -g 1 -t 2h"},
	}
}

// Run queues the user's shell, or the given command, with a terminal.
func (c *ShellCmd) Run(ctx context.Context, a *cli.App) error {
	c.TTY = len(c.Command) == 0 || !a.As.Other || a.OnTerminal() // salloc also runs a command without a terminal
	if len(c.Command) == 0 {
		this := *a
		c.Command = []string{cmp.Or(a.Getenv("SHELL"), "/bin/sh")}
		if c.IsContainer() {
			c.Command = shellOfImage
		} else if !jobenv.Runnable(c.Command[0]) {
			return cli.Refuse(api.CodeUsage, "name another, as in: gpusched shell -- bash",
				"your shell %q (SHELL) can't be run here", c.Command[0])
		}
		this.Words = append(slices.Clone(a.Words), c.Command...)
		a = &this
	}
	return c.RunCmd.Run(ctx, a)
}

// shellOfImage runs bash if an image has it, or else sh.
var shellOfImage = []string{"sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh"}

// byEngine replaces this process with a client program of another engine, which runs the command.
// srun, for example, passes on the caller's terminal, input and signals, and returns the job's exit
// status.
func (c *RunCmd) byEngine(ctx context.Context, a *cli.App) (done bool, err error) {
	e := a.Other()
	if e == nil {
		return false, nil
	}
	req, err := c.makeRequest(ctx, a)
	if err != nil {
		return true, cli.WaitError(ctx, err)
	}
	p, err := e.Run(ctx, req)
	if err != nil {
		return true, cli.WaitError(ctx, err)
	}
	if c.Quiet {
		p.Argv = slices.Insert(p.Argv, 1, "--quiet")
	}
	return true, a.BecomeProgram(p)
}
