package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// submitCmd queues a job.
type submitCmd struct {
	GPUs       gpuAmount `name:"gpus" short:"g" placeholder:"N" group:"needs" help:"How many GPUs: 0 (none), 0.01 to 0.99 of one, 1, 1.5, 2, … Whole ones are for this job alone, a fraction leaves the rest of its GPU to other fractions. 1 without this option."`
	GPUMem     size      `name:"gpu-mem" placeholder:"SIZE" group:"needs" help:"Memory that must really be free on each GPU at the start, and is kept for the job, such as 20G. A fraction without this option gets that part of the GPU's memory."`
	GPUIDs     indexes   `name:"gpu-ids" placeholder:"LIST" group:"needs" help:"Exactly these GPUs, such as 0,2."`
	GPUsFrom   indexes   `name:"gpus-from" placeholder:"LIST" group:"needs" help:"Any of these GPUs, such as 0-3."`
	GPUType    string    `name:"gpu-type" placeholder:"TYPE" group:"needs" help:"Only GPUs of this type, such as a100."`
	Spread     bool      `name:"spread" group:"needs" help:"Put a fraction on the emptiest GPU rather than on the fullest that has room."`
	MaxLoad    percent   `name:"max-load" placeholder:"PCT" group:"needs" help:"Only GPUs that are at most so busy, such as 30% or 0.3. The site's bound without this option."`
	MaxUsed    percent   `name:"max-used" placeholder:"PCT" group:"needs" help:"Only GPUs with at most so much of their memory in use, such as 80% or 0.8. The site's bound without this option."`
	GPUVisible string    `name:"gpu-visible" placeholder:"HOW" enum:"index,uuid" default:"index" group:"needs" help:"How CUDA_VISIBLE_DEVICES names the GPUs: index (0, 1, … of the job's own) or uuid."`
	Mem        size      `name:"mem" short:"m" placeholder:"SIZE" group:"needs" help:"Host memory, such as 32G. A job that goes over it is killed. A share of the machine without this option."`
	CPUs       cpuCount  `name:"cpus" short:"c" placeholder:"N" group:"needs" help:"CPU time of at most N CPUs. No limit without this option."`
	Time       span      `name:"time" short:"t" placeholder:"TIME" group:"needs" help:"Time limit, such as 90m, 2h, 2:00:00 or 1-12 (days-hours); a number alone is seconds. The site's without this option."`

	Grace       span          `name:"grace" placeholder:"TIME" group:"life" help:"Time between SIGTERM and SIGKILL when the job is ended, such as 30s."`
	OnTimeout   timeoutAction `name:"on-timeout" placeholder:"WHAT" group:"life" help:"At its time limit: kill the job, or requeue it at the end of the queue. The site's choice without this option."`
	Signal      warning       `name:"signal" placeholder:"SIG@TIME" group:"life" help:"Send the job a signal some time before its limit, or before it makes room for another, such as USR1@60s."`
	Priority    priority      `name:"priority" short:"p" placeholder:"P" group:"life" help:"A number (higher goes first) or scavenger, low, normal, high, interactive. Above normal may be for administrators only."`
	Preemptible bool          `name:"preemptible" group:"life" help:"The job may be stopped and queued again for one that goes first. Implied by the class scavenger."`
	Requeue     *bool         `name:"requeue" negatable:"" group:"life" help:"Start the job again if a reboot takes it, or not; --retries has no part in it. The site's choice without this option."`
	Retries     int           `name:"retries" placeholder:"N" group:"life" help:"Start the job again up to N times when it fails."`
	Backoff     span          `name:"backoff" placeholder:"TIME" group:"life" help:"Wait so long before the first retry, then twice as long each time, such as 5s."`

	Begin     moment   `name:"begin" placeholder:"WHEN" group:"queue" help:"Not before this time, such as 22:00, 'tomorrow 8:00', 2026-11-22T08:00 or +2h."`
	Hold      bool     `name:"hold" group:"queue" help:"Queue the job and keep it from starting until 'gpusched release'."`
	After     []string `name:"after" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have started, such as 41, 41,43 or @. May be repeated, as all of these."`
	AfterOK   []string `name:"after-ok" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have completed."`
	AfterFail []string `name:"after-fail" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have ended in another way."`
	AfterAny  []string `name:"after-any" sep:"none" placeholder:"ID" group:"queue" help:"Not before these jobs have ended."`
	Array     string   `name:"array" placeholder:"TASKS" group:"queue" help:"One task for each number, such as 0-9, 1,4,8-20:4, or 0-9%2 for two at a time. With --param only the limit: %2."`
	Param     []string `name:"param" sep:"none" placeholder:"NAME=V,V" group:"queue" help:"One task for each value, such as lr=1e-3,1e-4, which stands where the command says {lr}. Repeated: for each combination."`
	Dedup     bool     `name:"dedup" group:"queue" help:"Queue nothing if you have already submitted the same command, directory and -e settings, unless that failed."`

	Name    string   `name:"name" short:"n" placeholder:"NAME" group:"label" help:"Name for people. Everybody can see it. The name of the program or script without this option."`
	Tag     []string `name:"tag" sep:"none" placeholder:"K=V" group:"label" help:"A tag, such as project=vision. Everybody can see it. May be repeated."`
	Comment string   `name:"comment" placeholder:"TEXT" group:"label" help:"A comment. Everybody can see it."`

	Chdir  string   `name:"chdir" short:"C" placeholder:"DIR" group:"around" help:"Directory to run in. The current one without this option."`
	Env    string   `name:"env" placeholder:"MODE" enum:"inherit,clean,login" default:"inherit" group:"around" help:"Environment: inherit (yours as it is now), clean (HOME, USER, SHELL, PATH, LANG) or login (as after logging in)."`
	SetEnv []string `name:"set-env" short:"e" sep:"none" placeholder:"K=V" group:"around" help:"Set a variable; with K alone, to its present value. May be repeated."`

	DryRun bool `name:"dry-run" group:"self" help:"Queue nothing; show where the job would go and the systemd unit it would be."`
	Wait   bool `name:"wait" group:"self" help:"Wait until the job has ended and exit as it did."`
	Quiet  bool `name:"quiet" short:"q" group:"self" help:"Print the job's number only."`
	outputFlags

	Command []string `arg:"" optional:"" name:"command" passthrough:"partial" help:"The command and its arguments. Everything from its first word on is the command's."`
}

// Help is the text below the options.
func (submitCmd) Help() string {
	return `The job waits until it is its turn and fits, and then runs as you, with your groups and resource limits, as the systemd unit gpujob-ID.service. In that unit it can open no GPU but its own. Its output is in the journal ('gpusched logs').

Options for gpusched come before the command. To pass a command that starts with a dash, put -- before it.

Examples:

    gpusched submit -- python train.py --lr 1e-3
    gpusched submit -g 2 --gpu-mem 40G -t 12h -n big-run -- torchrun --standalone --nproc-per-node 2 train.py
    gpusched submit -g 0 -m 64G -c 16 -- ./preprocess.sh
    gpusched submit --gpu-ids 0,2 --env clean -e WANDB_MODE=offline -- ./run.sh
    id=$(gpusched submit -q -- ./run.sh); gpusched logs -f "$id"
    gpusched submit --wait -- make test; echo "it ended with $?"
    gpusched submit -g 0.5 --gpu-mem 20G -- python serve.py
    gpusched submit -g 2 -t 4h --on-timeout requeue --signal USR1@2m -- ./train.sh
    gpusched submit --retries 3 --backoff 30s --after-ok @ -- ./evaluate.sh
    gpusched submit --begin 22:00 -p scavenger -- ./long-run.sh
    gpusched submit --array 0-199%4 -- ./fold.sh
    gpusched submit --array %2 --param lr=1e-3,1e-4 --param seed=1,2,3 -- python train.py --lr {lr} --seed {seed}

The tasks of an array are jobs of their own, named like 7_3: the array is 7, the number 3 is in GPUSCHED_ARRAY_TASK.

` + aboutMoments + `

With --wait the exit status is the job's own, 128+N if signal N ended it, 124 at its time limit, 125 if gpusched itself failed.`
}

// Run queues the job.
func (c *submitCmd) Run(ctx context.Context, a *app) error {
	req, err := c.request(ctx, a)
	if err != nil {
		return err
	}
	a.hint(req)
	a.restoreLimits()
	reply, err := a.client.Submit(ctx, req)
	if err != nil {
		return err
	}
	a.hintLimit(c, reply.Job)
	if err := c.report(a, reply); err != nil || !c.Wait || c.DryRun {
		return err
	}
	a.out.w.Flush()
	return a.follow(ctx, reply.Job.ID, c.Quiet || c.form() != "table")
}

// request makes the request from the flags and the surroundings.
func (c *submitCmd) request(ctx context.Context, a *app) (api.SubmitRequest, error) {
	argv, err := c.argv(a)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	req := api.SubmitRequest{
		Key: newKey(), Name: c.Name, Comment: c.Comment,
		GPUMilli: c.gpuMilli(), GPUIDs: c.GPUIDs, GPUsFrom: c.GPUsFrom, GPUType: c.GPUType, GPUMemBytes: int64(c.GPUMem),
		Spread: c.Spread, MaxLoadPercent: int(c.MaxLoad), MaxUsedPercent: int(c.MaxUsed),
		MemBytes: int64(c.Mem), CPUs: int(c.CPUs), TimeLimitSeconds: c.Time.seconds(),
		Argv: bytesOf(argv), EnvMode: c.Env, Umask: a.umask, DryRun: c.DryRun,
	}
	if req.Name == "" {
		req.Name = nameOf(argv)
	}
	if c.GPUVisible == "uuid" {
		req.GPUVisible = c.GPUVisible
	}
	if req.Tags, err = parseTags(c.Tag); err != nil {
		return req, err
	}
	c.treat(&req)
	if err := c.surround(a, argv, &req); err != nil {
		return req, err
	}
	if req.After, err = a.dependencies(ctx, c.After, c.AfterOK, c.AfterFail, c.AfterAny); err != nil {
		return req, err
	}
	req.Array, err = arrayWish(c.Array, c.Param)
	return req, err
}

// argv is the command as it was typed: the parser takes the words through
// JSON, which only text survives, so they are the last of the command line.
func (c *submitCmd) argv(a *app) ([]string, error) {
	argv := a.words[len(a.words)-len(c.Command):]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return nil, &api.Error{
			Code: api.CodeUsage, Message: "there is no command to run", Hint: "such as: gpusched submit -- python train.py",
		}
	}
	return argv, nil
}

// treat puts in how the job is to be treated.
func (c *submitCmd) treat(req *api.SubmitRequest) {
	req.Priority, req.Requeue, req.Preemptible = string(c.Priority), c.Requeue, c.Preemptible
	req.OnTimeout, req.WarnSignal, req.WarnBeforeSeconds = string(c.OnTimeout), c.Signal.signal, span(c.Signal.before).seconds()
	req.Retries, req.BackoffSeconds = c.Retries, c.Backoff.seconds()
	req.Begin, req.Hold = c.Begin.utc(), c.Hold
	if c.Grace > 0 {
		grace := c.Grace.seconds()
		req.GraceSeconds = &grace
	}
}

// surround puts in what the job finds around it, and the hash of the content,
// to which that belongs.
func (c *submitCmd) surround(a *app, argv []string, req *api.SubmitRequest) error {
	dir, err := a.workDir(c.Chdir)
	if err != nil {
		return err
	}
	set, err := settings(c.SetEnv, a.environ)
	if err != nil {
		return err
	}
	req.Dir, req.Env = []byte(dir), bytesOf(jobEnv(c.Env, set, a.environ))
	if c.Dedup {
		req.Dedup = contentHash(argv, dir, c.Env, set)
	}
	return nil
}

// gpuMilli is what was asked, or what follows from the rest: as many GPUs as
// are named, else one.
func (c *submitCmd) gpuMilli() int {
	switch {
	case c.GPUs.set:
		return c.GPUs.milli
	case len(c.GPUIDs) > 0:
		return len(c.GPUIDs) * job.WholeGPU
	}
	return job.WholeGPU
}

// newKey makes the request key (invariant 5).
func newKey() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func bytesOf(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}
