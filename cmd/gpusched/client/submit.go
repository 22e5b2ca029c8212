package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// submitCmd queues a job.
type submitCmd struct {
	jobOptions

	Tasks string   `name:"array" placeholder:"TASKS" group:"queue" brief:"A task for each number, such as 0-9 or 0-199%4" help:"One task for each number, such as 0-9, 1,4,8-20:4, or 0-9%2 for two at a time. With --param only the limit: %2."`
	Param []string `name:"param" sep:"none" placeholder:"NAME=V,V" group:"queue" brief:"A task for each value, such as lr=1e-3,1e-4" help:"One task for each value, such as lr=1e-3,1e-4, which replaces {lr} in the command. Repeated: one for each combination."`
	File  string   `name:"file" placeholder:"FILE" group:"queue" brief:"One job for each line of a file; - for the input" help:"One job for each line of a file, - for the input: options and a command, as on a command line. The options beside --file are for every line."`

	DryRun  bool `name:"dry-run" group:"self" brief:"Queue nothing; say where it would go" help:"Queue nothing; say where the job would go, or why it would wait, and what it asks."`
	Verbose bool `name:"verbose" short:"v" group:"self" brief:"With --dry-run: also show the systemd unit" help:"With --dry-run: also show the systemd unit that the job would be."`
	Wait    bool `name:"wait" group:"self" brief:"Show its output, and exit as it does" help:"Wait until the job has ended and exit as it did, showing what it prints (not for an array, nor with -q or -o)."`
	Quiet   bool `name:"quiet" short:"q" group:"self" help:"Print the job's number only."`
	outputFlags
}

// jobOptions is what submit and run say of a job, and its command.
type jobOptions struct {
	Request job.Request `embed:""`
	Label   job.Label   `embed:""`

	Signal     warning `name:"signal" type:"warning" placeholder:"SIG@TIME" group:"life" brief:"Send a signal before the limit, such as USR1@60s" help:"Send the job a signal some time before its limit, or before it makes room for another, such as USR1@60s; main:USR1@60s sends it to the job's own command alone."`
	MayRequeue *bool   `name:"requeue" negatable:"" group:"life" brief:"Whether to start it again after a reboot" help:"Whether to start the job again after a reboot ended it, or once where its GPU is found to fail jobs, whatever --retries says. Default: the site's choice."`

	AfterStart []string `name:"after" sep:"none" placeholder:"ID" group:"queue" brief:"Start when these jobs have started, such as 41 or @" help:"Not before these jobs have started, such as 41, 41,43 or @. May be repeated, as may the next three."`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue" brief:"Start when these jobs have completed, such as 41" help:"Not before these jobs have completed."`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue" brief:"Start when these jobs ended without completing" help:"Not before these jobs have ended in another way."`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue" brief:"Start when these jobs have ended" help:"Not before these jobs have ended."`
	Host       string   `name:"host" placeholder:"HOST" group:"queue" brief:"Queue it on this machine, or on the best one" help:"Queue it on this machine, which is asked by ssh; best: on the one of --hosts or GPUSCHED_HOSTS where it starts first."`
	Once       bool     `name:"dedup" group:"queue" brief:"Not again what you have already submitted" help:"Queue nothing if you have already submitted the same command, directory, -e settings and set-up, unless that failed."`

	Tag []string `name:"tag" sep:"none" placeholder:"K=V" group:"label" brief:"A tag, such as project=vision" help:"A tag, such as project=vision. Everybody can see it. May be repeated."`

	Chdir  string   `name:"chdir" short:"C" placeholder:"DIR" group:"around" brief:"Directory to run in" help:"Directory to run in. Default: the current one."`
	Env    string   `name:"env" placeholder:"MODE" enum:"inherit,clean,login" default:"inherit" group:"around" brief:"inherit (yours as it is now), clean or login" help:"Environment: inherit (yours as it is now), clean (HOME, USER, SHELL, PATH, LANG) or login (as after logging in)."`
	SetEnv []string `name:"set-env" short:"e" sep:"none" placeholder:"K=V" group:"around" brief:"Set a variable, or pass on yours: NAME alone" help:"Set a variable; with K alone, to its current value. May be repeated."`
	setupOptions
	modelOptions
	notifyOptions

	Log         string `name:"log" placeholder:"FILE" group:"around" brief:"Have the output in this file, too" help:"Have the output in this file, too, besides the journal; seen from the job's directory. %j is the job (42, or 7_3 for a task), %a the number of the task, %A of the array, %n the job's name, %u the user; %3a has three digits at least, such as 007. none: no file, also where the site has one for all jobs."`
	LogTruncate bool   `name:"log-truncate" group:"around" brief:"Empty the file of --log first" help:"Empty the file of --log before the job's first start. Default: append to it."`

	Screen bool `name:"screen" group:"around" brief:"Run the job in a session of GNU screen" help:"Run the job in a session of GNU screen, such as gpujob_0,1_train_42 ('gpusched screens'), to which 'screen -r' attaches."`

	Force bool `name:"force" group:"self" brief:"Queue it although its program or files are not there" help:"Queue the job although its program, script, directory or environment is not there."`

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
	a.leaveLane()
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
		Key: api.NewKey(), Label: c.Label, Request: c.Request, Requeue: c.MayRequeue,
		Argv: bytesOf(argv), EnvMode: c.Env, Umask: a.umask,
	}
	if a.asked != nil && a.asked.job != nil {
		req.Key, req.DryRun = a.asked.job.Key, a.asked.job.DryRun
	}
	req.GPUMilli = c.gpuMilli()
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
	if c.Request.Grace > 0 {
		req.Grace = &c.Request.Grace
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
	return req, a.intoLane(ctx, &req)
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
	req.Dir, req.Env, req.Setup = []byte(dir), bytesOf(jobEnv(c.Env, withVars(vars, set), a.environ)), setup
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

func bytesOf(list []string) [][]byte { return each(list, func(s string) []byte { return []byte(s) }) }

// command are the words that are not the parser's.
func (c *jobOptions) command() []string { return c.Command }
