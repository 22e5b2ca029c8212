package submit

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/estimate"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Cmd queues a job.
type Cmd struct {
	JobOptions

	Tasks string   `name:"array" placeholder:"TASKS" group:"queue"`
	Param []string `name:"param" sep:"none" placeholder:"NAME=V,V" group:"queue"`
	File  string   `name:"file" placeholder:"FILE" group:"queue"`

	DryRun  bool `name:"dry-run" group:"self"`
	Verbose bool `name:"verbose" short:"v" group:"self"`
	Wait    bool `name:"wait" group:"self"`
	Quiet   bool `name:"quiet" short:"q" group:"self"`
	cli.OutputFlags
}

func (*Cmd) About() cli.About {
	return cli.About{
		Host: cli.ShownHere, Hosts: cli.OnOne, Slurm: cli.ForSlurm, Usual: true, Habits: manual.OptionsOfNewJobs,
		Options:  parse.UsedOptions + "array wait dry-run",
		Examples: []string{"gpusched submit -g 2 -t 12h -n big -- torchrun --standalone train.py"},
	}
}

// JobOptions are the options and the command that submit, run and shell share.
type JobOptions struct {
	Request job.Request `embed:""`
	Label   job.Label   `embed:""`

	Signal     cli.Warning `name:"signal" type:"warning" placeholder:"SIG@TIME" group:"life"`
	MayRequeue *bool       `name:"requeue" negatable:"" group:"life"`
	Park       string      `name:"park" placeholder:"WHEN" enum:"auto,never" default:"auto" group:"life"`

	AfterStart []string `name:"after" sep:"none" placeholder:"ID" group:"queue"`
	AfterOK    []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue"`
	AfterFail  []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue"`
	AfterAny   []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue"`
	Host       string   `name:"host" placeholder:"HOST" group:"queue"`
	Once       bool     `name:"dedup" group:"queue"`

	Tag []string `name:"tag" sep:"none" placeholder:"K=V" group:"label"`

	Chdir  string   `name:"chdir" short:"C" placeholder:"DIR" group:"around"`
	Env    string   `name:"env" placeholder:"MODE" enum:",inherit,clean,login" default:"" group:"around"`
	SetEnv []string `name:"set-env" short:"e" sep:"none" placeholder:"K=V" group:"around"`
	jobenv.SetupOptions
	jobenv.ContainerOptions
	jobenv.SnapshotOptions
	estimate.ModelOptions
	notifyOptions

	Log         string `name:"log" placeholder:"FILE" group:"around"`
	LogTruncate bool   `name:"log-truncate" group:"around"`

	Screen bool `name:"screen" group:"around"`

	Force bool `name:"force" group:"self"`

	Command []string `arg:"" optional:"" name:"command" passthrough:"partial" help:"The command and its arguments. Everything from its first word on is the command's."`
}

func (c *Cmd) Run(ctx context.Context, a *cli.App) error {
	if c.File != "" && !a.Documents() { // if another gpusched asks, this process queues one line of the file
		return c.submitFile(ctx, a)
	}
	typed := a
	c, a, err := c.WithScript(ctx, a)
	if err != nil {
		return err
	}
	if c.Host != "" && a.Asked == nil {
		return c.submitRemote(ctx, typed)
	}
	req, err := c.MakeRequest(ctx, a)
	if err != nil {
		return err
	}
	if err := c.CheckProgram(a, &req); err != nil {
		return err
	}
	hint(a, req)
	c.hintMisplaced(a)
	a.RestoreLimits()
	reply, err := submit(ctx, a, req)
	if err != nil {
		return err
	}
	hintQueued(a, &c.JobOptions, reply.Job)
	if c.Form() == "table" && !c.Quiet && a.As.Submitted == "" {
		jobenv.HintMemory(a, reply.Job)
	}
	err = c.report(ctx, a, reply)
	if lost := a.Out.W.Flush(); lost != nil && !c.DryRun { // such as a full disk: nobody must queue the job again
		return cli.Refuse(api.CodeInternal, "", "job %s is queued, but this could not be written: %v", cli.NumberOfJob(reply.Job), lost)
	}
	if err != nil || !c.Wait || c.DryRun || a.Documents() {
		return err
	}
	if c.Quiet || a.As.Submitted != "" || c.Form() != "table" || reply.Job.Array != nil {
		return attach.Follow(ctx, a, reply.Job.ID, c.Quiet || a.As.Submitted != "" || c.Form() != "table")
	}
	return attach.Attend(ctx, a, reply.Job, false)
}

// Queue queues a job that has these options and runs one of gpusched's own programs. A second call
// with the same key returns the same job. Unless the options say otherwise, a reboot ends the job.
// If check is not nil, it may refuse the request.
func (c *JobOptions) Queue(
	ctx context.Context, a *cli.App, key string, argv []string, check func(api.SubmitRequest) error,
) (api.Job, error) {
	this := *a
	this.Words, c.Command = append(slices.Clone(a.Words), argv...), argv
	req, err := c.request(ctx, &this)
	if err != nil {
		return api.Job{}, err
	}
	if err := c.CheckProgram(&this, &req); err != nil {
		return api.Job{}, err
	}
	if check != nil && !c.Force {
		if err := check(req); err != nil {
			return api.Job{}, err
		}
	}
	req.Key, req.Requeue = key, cmp.Or(req.Requeue, new(false))
	a.RestoreLimits()
	reply, err := submit(ctx, &this, req)
	return reply.Job, err
}

// BeforeApply sets the number of GPUs to a value that means "not given".
func (c *JobOptions) BeforeApply() error {
	c.Request.GPUMilli = -1
	return nil
}

// MakeRequest returns the job's request. It includes the options that only submit has.
func (c *Cmd) MakeRequest(ctx context.Context, a *cli.App) (api.SubmitRequest, error) {
	req, err := c.JobOptions.request(ctx, a)
	if err != nil {
		return req, err
	}
	req.DryRun, req.Brief = c.DryRun || req.DryRun, c.numberOnly(a)
	req.Array, err = arraySpec(c.Tasks, c.Param)
	if err == nil && c.Compat == string(contract.CompatSlurm) && c.Tasks != "" && len(c.Param) == 0 {
		req.Env = jobenv.WithVars(req.Env, arrayVariables(c.Tasks))
	}
	return req, err
}

// numberOnly reports whether the command needs only the job's number: it prints nothing else, and
// hintQueued does not need the job.
func (c *Cmd) numberOnly(a *cli.App) bool {
	number := (a.As.Submitted != "" || c.Quiet && c.Form() == "table") && !c.DryRun
	return number && !a.Documents() && c.Signal.Signal == 0 && c.Request.OnTimeout == ""
}

// request makes the job's request from the options and the environment.
func (c *JobOptions) request(ctx context.Context, a *cli.App) (api.SubmitRequest, error) {
	argv, err := c.argv(a)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	if err := c.ModelOptions.Apply(a, argv, &c.Request); err != nil {
		return api.SubmitRequest{}, err
	}
	req := api.SubmitRequest{
		Key: api.NewKey(), Label: c.Label, Request: c.Request,
		Program: api.Program{Argv: argv, EnvMode: cmp.Or(contract.EnvMode(c.Env), contract.EnvInherit), Umask: a.Umask},
	}
	if a.Asked != nil && a.Asked.Job != nil {
		req.Key, req.DryRun = a.Asked.Job.Key, a.Asked.Job.DryRun
	}
	req.GPUMilli, req.Requeue = c.gpuMilli(), c.MayRequeue
	req.NoPark = c.Park == "never"
	if c.asksNoGPU(a) {
		req.GPUMilli = 0
	}
	req.Name = cmp.Or(c.Label.Name, DefaultName(argv))
	if c.Request.GPUVisible == "index" {
		req.GPUVisible = ""
	}
	if c.Request.SignalTo == "all" {
		req.SignalTo = ""
	}
	if req.Tags, err = cli.ParseTags(c.Tag); err != nil {
		return req, err
	}
	if req.Notify, err = c.notifications(); err != nil {
		return req, err
	}
	req.WarnSignal, req.WarnMain, req.WarnBefore = c.Signal.Signal, c.Signal.Main, job.Span(c.Signal.Before)
	if err := c.setEnvironment(ctx, a, argv, &req); err != nil {
		return req, err
	}
	if err := cmp.Or(c.inScreen(a, &req), c.needsMPS(a)); err != nil {
		return req, err
	}
	others := slices.DeleteFunc(slices.Clone(c.AfterAny), func(id string) bool { return id == slurm.Singleton })
	if req.After, err = a.Dependencies(ctx, c.AfterStart, c.AfterOK, c.AfterFail, others); err != nil {
		return req, err
	}
	if len(others) < len(c.AfterAny) {
		if req.Lane == "" {
			req.Lane = job.Lane(req.Name + "=1")
		}
		if err := a.AfterNamesakes(ctx, &req); err != nil {
			return req, err
		}
	}
	if a.As.Turns != nil {
		err = a.As.Turns.Enter(ctx, a, &req)
	}
	return req, err
}

// argv returns the job's command.
func (c *JobOptions) argv(a *cli.App) ([]string, error) {
	argv := a.TypedCommand(c.Command)
	if len(argv) == 0 {
		return nil, cli.Refuse(api.CodeUsage, "such as: gpusched submit -- python train.py", "there is no command to run")
	}
	return argv, nil
}

// setEnvironment sets the directory, the environment and the log, and the content hash, which
// depends on these.
func (c *JobOptions) setEnvironment(ctx context.Context, a *cli.App, argv []string, req *api.SubmitRequest) error {
	dir, err := jobenv.WorkDir(a, c.Chdir)
	if err == nil && jobenv.NotDir(dir) != "" && !c.Force {
		err = unexpanded("--chdir", c.Chdir)
	}
	if err != nil {
		return err
	}
	set, err := jobenv.SetVariables(c.SetEnv, a.Environ, c.Compat == string(contract.CompatSlurm))
	if err != nil {
		return err
	}
	if err := c.refuseOutside(); err != nil {
		return err
	}
	setup, vars, err := c.SetUp(a, dir, c.Force)
	if err != nil {
		return err
	}
	req.Dir, req.Env, req.Setup = api.Bytes(dir), jobenv.Environ(req.EnvMode, jobenv.WithVars(vars, set), a.Environ), setup
	c.Log = cmp.Or(c.Log, a.As.Log)
	req.Log = contract.Log{Path: c.Log, Truncate: c.LogTruncate}
	if err := c.checkLog(a, dir); err != nil {
		return err
	}
	if err := c.setContainer(ctx, a, set, req); err != nil {
		return err
	}
	if req.Snapshot.Source, err = c.SnapshotOptions.Source(ctx, a, dir); err != nil {
		return err
	}
	if c.Once {
		words := append(jobenv.SetupWords(setup), jobenv.ContainerWords(req.Container)...)
		req.Dedup = jobenv.ContentHash(argv, dir, string(req.EnvMode), set, words...)
	}
	return nil
}

// gpuMilli returns the requested number of GPUs in thousandths: the given number, or else the
// number of named GPUs, or else one.
func (c *JobOptions) gpuMilli() int {
	switch {
	case c.Request.GPUMilli >= 0:
		return c.Request.GPUMilli
	case len(c.Request.GPUIDs) > 0:
		return len(c.Request.GPUIDs) * job.WholeGPU
	}
	return job.WholeGPU
}

// JobCommand returns the words of the job's command.
func (c *JobOptions) JobCommand() []string { return c.Command }

// hint prints warnings about probable failures. The job is queued anyway, since the user may remove
// the cause before the job starts.
func hint(a *cli.App, req api.SubmitRequest) {
	if req.Array != nil {
		for _, name := range look.UnusedParams(req.Array.Params, req.Argv) {
			a.Note("warning: the command does not use {%s}, so its values make no difference", name)
		}
		for _, p := range req.Array.Params {
			mark := "{" + p.Name + "}"
			if strings.Contains(req.Name+" "+req.Log.Path, mark) && !strings.Contains(req.Argv[0], mark) {
				a.Note("warning: %s is replaced in the command alone, not in --name or --log (there, %%a is the task's number)", mark)
			}
		}
	}
	dir := string(req.Dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		a.Note("warning: there is no directory %q yet", dir)
	}
	hintIgnored(a, req)
}

// hintMisplaced prints a warning if a number of GPUs follows the program and no option comes before
// the program. The number is then an argument of the program.
func (c *Cmd) hintMisplaced(a *cli.App) {
	if len(c.Command) < 2 || c.Command[0] == "--" || len(a.Words) > len(c.Command)+1 {
		return
	}
	for i, word := range c.Command[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok && i+2 < len(c.Command) {
			value = c.Command[i+2]
		}
		n, err := job.ParseGPUs(value)
		if (name == "-g" || name == "--gpus") && err == nil && n != job.WholeGPU {
			a.Note("warning: %s %s is for %s, and the job asks for 1 GPU: gpusched's options go before the command", name, value, c.Command[0])
			return
		}
	}
}

// asksNoGPU reports whether the job gets no GPU because no option requests one. This can happen
// only under another tool's name.
func (c *JobOptions) asksNoGPU(a *cli.App) bool {
	return a.As.NoGPU && c.Request.GPUMilli < 0 && len(c.Request.GPUIDs) == 0
}

// hintQueued prints warnings about facts that the user of a new job may not expect. The job may
// have no GPU. And some options do nothing without a time limit; --signal, however, also acts when
// a preemptible job is preempted.
func hintQueued(a *cli.App, c *JobOptions, j api.Job) {
	if c.asksNoGPU(a) {
		a.NoteOnce("no GPU is asked for, so the job gets none (--gpus=1 asks for one)")
	}
	if j.TimeLimit > 0 {
		return
	}
	if c.Signal.Signal > 0 && !j.Preemptible {
		a.Note("warning: the job has no time limit, so --signal sends nothing (give it a --time)")
	}
	if c.Request.OnTimeout == job.TimeoutRequeue {
		a.Note("warning: the job has no time limit, so --on-timeout makes no difference (give it a --time)")
	}
}

// capTime shortens a time limit to the longest limit that the site allows, as other tools do. If
// the longest limit can't be read, the time limit stays as it is, and the scheduler refuses it if
// it is too long.
func capTime(ctx context.Context, a *cli.App, req *api.SubmitRequest) {
	usage, err := api.Usage(ctx, a.Client, api.UsageQuery{})
	if err != nil {
		return
	}
	for _, l := range usage.Limits {
		if l.Class == req.Priority.Class && l.Most > 0 && req.TimeLimit > l.Most {
			a.NoteOnce(fmt.Sprintf("the site's longest time limit is %v, so it replaces %v", l.Most, req.TimeLimit))
			req.TimeLimit = l.Most
		}
	}
}

// submit queues a job. Some other tools let all users raise priorities. Under the name of such a
// tool, a priority to which the user has no right counts as normal.
func submit(ctx context.Context, a *cli.App, req api.SubmitRequest) (api.SubmitReply, error) {
	if a.As.Turns != nil {
		defer a.As.Turns.Leave()
	}
	if a.As.Caps && req.TimeLimit > 0 && a.Other() == nil {
		capTime(ctx, a, &req)
	}
	return snapshots{}.submit(ctx, a, req, func(req api.SubmitRequest) (api.SubmitReply, error) {
		if !a.As.Caps {
			return a.Client.Submit(a.ForRequest(ctx), req)
		}
		return act.SubmitCapped(ctx, a, a.Client, req, job.Priority{})
	})
}

// CheckProgram returns an error if the program, script or directory of a job does not exist, unless
// --force is given. If the environment is not inherited, it does not search the PATH, which only
// the job's unit knows.
func (c *JobOptions) CheckProgram(a *cli.App, req *api.SubmitRequest) error {
	if c.Force {
		return nil
	}
	dir, program := string(req.Dir), req.Argv[0]
	hint := jobenv.ForceHint(a)
	if a.Asked != nil {
		hint = "the job runs in the same path on that machine: create it there, choose another with --chdir, or queue the job anyway with --force"
	}
	if err := jobenv.CheckDirectory(dir, hint); err != nil {
		return err
	}
	if req.Setup.Command != "" {
		dir = "" // the set-up may change to another directory
	}
	switch {
	case slices.Contains(jobenv.ShellWords, program):
		return jobenv.RefuseShellWord(req.Argv)
	case c.IsContainer():
		return c.checkInImage(a, req)
	case strings.Contains(program, "/"):
		if path := jobenv.InDir(dir, program); path != "" {
			return jobenv.CheckFile(a, program, path)
		}
	case req.EnvMode != contract.EnvInherit:
	case !jobenv.InPath(program, jobenv.SearchPath(*req)):
		return jobenv.NotInPath(a, dir, program, req.Argv[1:], jobenv.SearchPath(*req))
	}
	return jobenv.CheckScriptArgument(a, dir, req.Argv)
}
