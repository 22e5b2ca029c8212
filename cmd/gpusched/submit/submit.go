package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// submitCmd queues a job.
type submitCmd struct {
	jobOptions

	Tasks string   `name:"array" placeholder:"TASKS" group:"queue"`
	Param []string `name:"param" sep:"none" placeholder:"NAME=V,V" group:"queue"`
	File  string   `name:"file" placeholder:"FILE" group:"queue"`

	DryRun  bool `name:"dry-run" group:"self"`
	Verbose bool `name:"verbose" short:"v" group:"self"`
	Wait    bool `name:"wait" group:"self"`
	Quiet   bool `name:"quiet" short:"q" group:"self"`
	outputFlags
}

func (*submitCmd) About() About {
	return About{
		Host: ShownHere, Hosts: OnOne, Slurm: ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  usedOptions + "array wait dry-run",
		Examples: []string{"gpusched submit -g 2 -t 12h -n big -- torchrun --standalone train.py"},
	}
}

// jobOptions is what submit and run say of a job, and its command.
type jobOptions struct {
	Request job.Request `embed:""`
	Label   job.Label   `embed:""`

	Signal     warning `name:"signal" type:"warning" placeholder:"SIG@TIME" group:"life"`
	MayRequeue *bool   `name:"requeue" negatable:"" group:"life"`

	AfterStart []string `name:"after" sep:"none" placeholder:"ID" group:"queue"`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue"`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue"`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue"`
	Host       string   `name:"host" placeholder:"HOST" group:"queue"`
	Once       bool     `name:"dedup" group:"queue"`

	Tag []string `name:"tag" sep:"none" placeholder:"K=V" group:"label"`

	Chdir  string   `name:"chdir" short:"C" placeholder:"DIR" group:"around"`
	Env    string   `name:"env" placeholder:"MODE" enum:"inherit,clean,login" default:"inherit" group:"around"`
	SetEnv []string `name:"set-env" short:"e" sep:"none" placeholder:"K=V" group:"around"`
	setupOptions
	modelOptions
	notifyOptions

	Log         string `name:"log" placeholder:"FILE" group:"around"`
	LogTruncate bool   `name:"log-truncate" group:"around"`

	Screen bool `name:"screen" group:"around"`

	Force bool `name:"force" group:"self"`

	Command []string `arg:"" optional:"" name:"command" passthrough:"partial" help:"The command and its arguments. Everything from its first word on is the command's."`
}

func (c *submitCmd) Run(ctx context.Context, a *app) error {
	if c.File != "" && !a.documents() { // else this is one of its lines
		return c.submitFile(ctx, a)
	}
	typed := a
	c, a, err := c.withScript(a)
	if err != nil {
		return err
	}
	if c.Host != "" && a.asked == nil {
		return c.submitElsewhere(ctx, typed)
	}
	req, err := c.request(ctx, a)
	if err != nil {
		return err
	}
	if err := c.checkProgram(a, &req); err != nil {
		return err
	}
	a.hint(req)
	a.hintIgnored(req)
	c.hintMisplaced(a)
	a.restoreLimits()
	reply, err := a.submit(ctx, req)
	if err != nil {
		return err
	}
	a.hintQueued(&c.jobOptions, reply.Job)
	if c.form() == "table" && !c.Quiet && a.as.submitted == "" {
		a.hintMemory(reply.Job)
	}
	if err := c.report(ctx, a, reply); err != nil || !c.Wait || c.DryRun || a.documents() {
		return err
	}
	a.out.W.Flush()
	if c.Quiet || a.as.submitted != "" || c.form() != "table" || reply.Job.Array != nil {
		return a.follow(ctx, reply.Job.ID, c.Quiet || a.as.submitted != "" || c.form() != "table")
	}
	return a.attend(ctx, reply.Job, false)
}

// BeforeApply tells an amount of GPUs that was asked from none that was.
func (c *jobOptions) BeforeApply() error {
	c.Request.GPUMilli = -1
	return nil
}

// request is that of the job, with what only submit can ask for.
func (c *submitCmd) request(ctx context.Context, a *app) (api.SubmitRequest, error) {
	req, err := c.jobOptions.request(ctx, a)
	if err != nil {
		return req, err
	}
	req.DryRun, req.Brief = c.DryRun || req.DryRun, c.numberOnly(a)
	req.Array, err = arraySpec(c.Tasks, c.Param)
	return req, err
}

// numberOnly reports whether nothing is told about the job but its number, and hintQueued has
// nothing to say that needs the job.
func (c *submitCmd) numberOnly(a *app) bool {
	number := (a.as.submitted != "" || c.Quiet && c.form() == "table") && !c.DryRun
	return number && !a.documents() && c.Signal.signal == 0 && c.Request.OnTimeout == ""
}

// request makes the request from the options and the environment.
func (c *jobOptions) request(ctx context.Context, a *app) (api.SubmitRequest, error) {
	argv, err := c.argv(a)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	if err := c.modelOptions.apply(a, argv, &c.Request); err != nil {
		return api.SubmitRequest{}, err
	}
	req := api.SubmitRequest{
		Key: api.NewKey(), Label: c.Label, Request: c.Request,
		Program: api.Program{Argv: argv, EnvMode: contract.EnvMode(c.Env), Umask: a.umask},
	}
	if a.asked != nil && a.asked.job != nil {
		req.Key, req.DryRun = a.asked.job.Key, a.asked.job.DryRun
	}
	req.GPUMilli, req.Requeue = c.gpuMilli(), c.MayRequeue
	if c.asksNoGPU(a) {
		req.GPUMilli = 0
	}
	req.Name = cmp.Or(c.Label.Name, nameOf(argv))
	if c.Request.GPUVisible == "index" {
		req.GPUVisible = ""
	}
	if c.Request.SignalTo == "all" {
		req.SignalTo = ""
	}
	if req.Tags, err = parseTags(c.Tag); err != nil {
		return req, err
	}
	if req.Notify, err = c.notifications(); err != nil {
		return req, err
	}
	req.WarnSignal, req.WarnMain, req.WarnBefore = c.Signal.signal, c.Signal.main, job.Span(c.Signal.before)
	if err := c.setEnvironment(a, argv, &req); err != nil {
		return req, err
	}
	if err := c.inScreen(a, &req); err != nil {
		return req, err
	}
	others := slices.DeleteFunc(slices.Clone(c.AfterAny), func(id string) bool { return id == slurm.Singleton })
	if req.After, err = a.dependencies(ctx, c.AfterStart, c.AfterOK, c.AfterFail, others); err != nil {
		return req, err
	}
	if len(others) < len(c.AfterAny) {
		if err := a.afterNamesakes(ctx, &req); err != nil {
			return req, err
		}
	}
	if a.as.turns != nil {
		err = a.as.turns.enter(ctx, a, &req)
	}
	return req, err
}

// argv is the command as it was typed: the parser takes the words through
// JSON, which only text survives, so they are the last of the command line.
func (c *jobOptions) argv(a *app) ([]string, error) {
	argv := a.words[len(a.words)-len(c.Command):]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return nil, refuse(api.CodeUsage, "such as: gpusched submit -- python train.py", "there is no command to run")
	}
	return argv, nil
}

// setEnvironment fills in the directory and the environment, and the hash of the
// content, to which they belong.
func (c *jobOptions) setEnvironment(a *app, argv []string, req *api.SubmitRequest) error {
	dir, err := a.workDir(c.Chdir)
	if err == nil && isDir(dir) != "" && !c.Force {
		err = unexpanded("--chdir", c.Chdir)
	}
	if err != nil {
		return err
	}
	set, err := settings(c.SetEnv, a.environ, c.Compat == string(contract.CompatSlurm))
	if err != nil {
		return err
	}
	setup, vars, err := c.setup(a, dir, c.Force)
	if err != nil {
		return err
	}
	req.Dir, req.Env, req.Setup = api.Bytes(dir), jobEnv(req.EnvMode, withVars(vars, set), a.environ), setup
	req.Log = contract.Log{Path: c.Log, Truncate: c.LogTruncate}
	if err := c.checkLog(a, dir); err != nil {
		return err
	}
	if c.Once {
		req.Dedup = contentHash(argv, dir, c.Env, set, setupWords(setup)...)
	}
	return nil
}

// gpuMilli is what was asked, or what follows from the rest: as many GPUs as
// are named, else one.
func (c *jobOptions) gpuMilli() int {
	switch {
	case c.Request.GPUMilli >= 0:
		return c.Request.GPUMilli
	case len(c.Request.GPUIDs) > 0:
		return len(c.Request.GPUIDs) * job.WholeGPU
	}
	return job.WholeGPU
}

// command are the words that are not the parser's.
func (c *jobOptions) command() []string { return c.Command }
