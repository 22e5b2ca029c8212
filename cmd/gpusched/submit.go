package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// submitCmd queues a job.
type submitCmd struct {
	GPUs       gpuAmount `name:"gpus" short:"g" placeholder:"N" group:"needs" help:"How many GPUs, each for this job alone; 0 is none. 1 without this option."`
	GPUMem     size      `name:"gpu-mem" placeholder:"SIZE" group:"needs" help:"Memory that must really be free on each GPU at the start, such as 20G."`
	GPUIDs     indexes   `name:"gpu-ids" placeholder:"LIST" group:"needs" help:"Exactly these GPUs, such as 0,2."`
	GPUsFrom   indexes   `name:"gpus-from" placeholder:"LIST" group:"needs" help:"Any of these GPUs, such as 0-3."`
	GPUType    string    `name:"gpu-type" placeholder:"TYPE" group:"needs" help:"Only GPUs of this type, such as a100."`
	GPUVisible string    `name:"gpu-visible" placeholder:"HOW" enum:"index,uuid" default:"index" group:"needs" help:"How CUDA_VISIBLE_DEVICES names the GPUs: index (0, 1, … of the job's own) or uuid."`
	Mem        size      `name:"mem" short:"m" placeholder:"SIZE" group:"needs" help:"Host memory, such as 32G. A job that goes over it is killed. A share of the machine without this option."`
	CPUs       int       `name:"cpus" short:"c" placeholder:"N" group:"needs" help:"CPU time of at most N CPUs. No limit without this option."`
	Time       span      `name:"time" short:"t" placeholder:"TIME" group:"needs" help:"Time limit, such as 90m, 2h, 2:00:00 or 1-12 (days-hours). The site's without this option."`

	Grace    span     `name:"grace" placeholder:"TIME" group:"life" help:"Time between SIGTERM and SIGKILL when the job is ended, such as 30s."`
	Priority priority `name:"priority" short:"p" placeholder:"P" group:"life" help:"A number (higher goes first) or scavenger, low, normal, high, interactive. Above normal may be for administrators only."`
	Requeue  *bool    `name:"requeue" negatable:"" group:"life" help:"Start the job again if a reboot takes it, or not. The site's choice without this option."`

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
	return `The job waits until it fits and then runs as you, with your groups and resource limits, as the systemd unit gpujob-ID.service. It can open no other GPU than its own. Its output is in the journal ('gpusched logs').

Options for gpusched come before the command. To pass a command that starts with a dash, put -- before it.

Examples:

    gpusched submit -- python train.py --lr 1e-3
    gpusched submit -g 2 --gpu-mem 40G -t 12h -n big-run -- torchrun --nproc-per-node 2 train.py
    gpusched submit -g 0 -m 64G -c 16 -- ./preprocess.sh
    gpusched submit --gpu-ids 0,2 --env clean -e WANDB_MODE=offline -- ./run.sh
    id=$(gpusched submit -q -- ./run.sh); gpusched logs -f "$id"
    gpusched submit --wait -- make test; echo "it ended with $?"

With --wait the exit status is the job's own, 128+N if signal N ended it, 124 at its time limit, 125 if gpusched itself failed.`
}

// Run queues the job.
func (c *submitCmd) Run(ctx context.Context, a *app) error {
	req, err := c.request(a)
	if err != nil {
		return err
	}
	a.hint(req)
	a.restoreLimits()
	reply, err := a.client.Submit(ctx, req)
	if err != nil {
		return err
	}
	if err := c.report(a, reply); err != nil || !c.Wait || c.DryRun {
		return err
	}
	a.out.w.Flush()
	return a.follow(ctx, reply.Job.ID, c.Quiet || c.form() != "table")
}

// request makes the request from the flags and the surroundings.
func (c *submitCmd) request(a *app) (api.SubmitRequest, error) {
	// The parser takes the command's words through JSON, which only text
	// survives: they are the last words of the command line.
	argv := a.words[len(a.words)-len(c.Command):]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return api.SubmitRequest{}, &api.Error{
			Code: api.CodeUsage, Message: "there is no command to run", Hint: "such as: gpusched submit -- python train.py",
		}
	}
	labels, err := parseTags(c.Tag)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	dir, err := a.workDir(c.Chdir)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	env, err := jobEnv(c.Env, c.SetEnv, a.environ)
	if err != nil {
		return api.SubmitRequest{}, err
	}
	req := api.SubmitRequest{
		Key: newKey(), Name: c.Name, Comment: c.Comment, Tags: labels,
		GPUMilli: c.gpuMilli(), GPUIDs: c.GPUIDs, GPUsFrom: c.GPUsFrom, GPUType: c.GPUType, GPUMemBytes: int64(c.GPUMem),
		MemBytes: int64(c.Mem), CPUs: c.CPUs, TimeLimitSeconds: c.Time.seconds(), Priority: string(c.Priority), Requeue: c.Requeue,
		Argv: bytesOf(argv), EnvMode: c.Env, Env: bytesOf(env), Dir: []byte(dir), Umask: a.umask, DryRun: c.DryRun,
	}
	if req.Name == "" {
		req.Name = nameOf(argv)
	}
	if c.GPUVisible == "uuid" {
		req.GPUVisible = c.GPUVisible
	}
	if c.Grace > 0 {
		grace := c.Grace.seconds()
		req.GraceSeconds = &grace
	}
	return req, nil
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

// report says what became of the submission.
func (c *submitCmd) report(a *app, reply api.SubmitReply) error {
	j := reply.Job
	if c.Quiet && c.form() == "table" {
		if !c.DryRun {
			a.out.printf("%d\n", j.ID)
		}
		return nil
	}
	items, ids := jobLines([]api.Job{j})
	return a.show(c.outputFlags, report{
		doc: reply, items: items, ids: ids,
		csv: a.jobsCSV([]api.Job{j}),
		text: func(bool) {
			if c.DryRun {
				writePlan(a.out, reply)
				return
			}
			a.out.printf("job %d %s\n", j.ID, fate(reply))
		},
	})
}

// fate says in a few words where a job just submitted stands.
func fate(reply api.SubmitReply) string {
	j := reply.Job
	switch {
	case j.State == string(job.Queued) && j.Why != "":
		return "queued: " + clean(j.Why)
	case j.State == string(job.Queued):
		return "queued"
	case reply.Known:
		return j.State
	case len(j.GPUs) > 0:
		return "queued, starts on " + gpuNames(j.GPUs)
	}
	return "queued, starts now"
}

// gpuNames is "GPU 0" or "GPUs 0,2".
func gpuNames(list []api.GPURef) string {
	names := gpuIndexes(list)
	if len(list) == 1 {
		return "GPU " + names
	}
	return "GPUs " + names
}

// writePlan shows a dry run.
func writePlan(t *terminal, reply api.SubmitReply) {
	j := reply.Job
	switch {
	case j.Why != "":
		t.printf("the job would wait: %s\n", clean(j.Why))
	case len(j.GPUs) > 0:
		t.printf("the job would start now on %s\n", gpuNames(j.GPUs))
	default:
		t.printf("the job would start now\n")
	}
	var b strings.Builder
	for _, p := range reply.Unit {
		fmt.Fprintf(&b, "  %s=%s\n", clean(p.Name), clean(p.Value))
	}
	if b.Len() > 0 {
		t.printf("\nits unit:\n%s", b.String())
	}
}
