package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// runCmd queues a job and stands for it: what it prints comes here, and it ends as
// the job does.
type runCmd struct {
	jobOptions

	TTY   bool `name:"tty" group:"self"`
	Quiet bool `name:"quiet" short:"q" group:"self"`
}

func (*runCmd) About() About {
	return About{
		Host: ShownHere, Hosts: OnOne, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  usedOptions + "tty",
		Examples: []string{"gpusched run -g 1 -- python train.py", "gpusched run --tty -g 1 -- python -m pdb train.py"},
	}
}

func (c *runCmd) Run(ctx context.Context, a *app) error {
	typed := a
	c, a, err := c.withScript(a)
	if err != nil {
		return err
	}
	if c.TTY && c.Screen {
		return refuse(api.CodeUsage, "--tty for this terminal and 'gpusched attach', --screen for 'screen -r'",
			"--tty and --screen are both a terminal for the job")
	}
	if c.TTY && !a.onTerminal() && !a.documents() {
		return errNoTerminal()
	}
	if c.Host != "" && a.asked == nil {
		return c.runElsewhere(ctx, typed)
	}
	if done, err := c.byEngine(ctx, a); done {
		return err
	}
	j, err := c.submit(ctx, a)
	if err != nil {
		return waitError(ctx, err)
	}
	if a.documents() {
		return writeJSON(a.out.W, api.SubmitReply{Schema: api.Schema, Job: j}, "")
	}
	if c.TTY {
		return a.attendTerminal(ctx, j, c.Quiet)
	}
	return a.attend(ctx, j, c.Quiet)
}

// asked is the request of the job.
func (c *runCmd) asked(ctx context.Context, a *app) (api.SubmitRequest, error) {
	req, err := c.request(ctx, a)
	if err != nil {
		return req, err
	}
	if err := c.checkProgram(a, &req); err != nil {
		return req, err
	}
	a.hint(req)
	if c.TTY {
		inTerminal(a, &req)
	}
	a.restoreLimits()
	return req, nil
}

// submit queues the job, and nothing else.
func (c *runCmd) submit(ctx context.Context, a *app) (api.Job, error) {
	req, err := c.asked(ctx, a)
	if err != nil {
		return api.Job{}, err
	}
	reply, err := a.submit(ctx, req)
	if err == nil {
		a.hintQueued(&c.jobOptions, reply.Job)
		a.hintMemory(reply.Job)
	}
	return reply.Job, err
}

// inTerminal has the command run in a terminal that its job holds.
func inTerminal(a *app, req *api.SubmitRequest) {
	req.TTY = true
	kind := a.getenv("TERM")
	if req.EnvMode != contract.EnvInherit && kind != "" {
		req.Env = slices.Insert(req.Env, 0, "TERM="+kind)
	}
}

// shellCmd is a shell in a job.
type shellCmd struct {
	runCmd
}

func (*shellCmd) About() About {
	return About{
		Host: ShownHere, Hosts: OnOne, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  "gpus gpu-mem mem time name conda set-env after-ok",
		Examples: []string{"gpusched shell -g 1 -t 2h"},
	}
}

// Run queues the user's shell, or the command that is given, with a terminal.
func (c *shellCmd) Run(ctx context.Context, a *app) error {
	c.TTY = true
	if len(c.Command) == 0 {
		this := *a
		c.Command = []string{cmp.Or(a.getenv("SHELL"), "/bin/sh")}
		if !runnable(c.Command[0]) {
			return refuse(api.CodeUsage, "name another, as in: gpusched shell -- bash",
				"your shell %q (SHELL) can't be run here", c.Command[0])
		}
		this.words = append(slices.Clone(a.words), c.Command...)
		a = &this
	}
	return c.runCmd.Run(ctx, a)
}
