package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// logsCmd prints a job's output.
type logsCmd struct {
	Follow  bool `name:"follow" short:"f" help:"Wait for the job to start, go on while it prints, and stop when it has ended."`
	Lines   int  `name:"lines" short:"n" placeholder:"N" help:"Only the last N lines."`
	Attempt int  `name:"attempt" placeholder:"N" help:"The output of this start of the job. Default: the last."`
	Times   bool `name:"timestamps" short:"T" help:"Put the time before each line."`

	ID string `arg:"" name:"id" help:"The job."`
}

// startPoll is how often a job that waits is looked at by logs -f.
const startPoll = time.Second

// Run runs journalctl to its end, or with -f until the job has ended.
func (c *logsCmd) Run(ctx context.Context, a *app) error {
	reply, err := a.job(ctx, c.ID)
	if err != nil {
		return err
	}
	if reply.Job.Array != nil {
		return errArrayOutput(reply.Job)
	}
	if err := a.journalReadable(reply.Job); err != nil {
		return err
	}
	if c.Follow {
		if reply, err = a.started(ctx, reply); err != nil {
			return err
		}
	}
	attempt, err := c.attempt(reply)
	if err != nil {
		return err
	}
	path, err := exec.LookPath("journalctl")
	if err != nil {
		return fmt.Errorf("find journalctl, which reads the output of jobs: %w", err)
	}
	live := c.Follow && !reply.Job.State.Terminal()
	argv := c.journalArgs(reply.Job.ID, attempt, live)
	if live {
		return a.followJournal(ctx, path, argv, reply.Job)
	}
	return a.copyJournal(ctx, path, argv, reply.Job, attempt.EndedAt)
}

// errArrayOutput is for arrays, whose tasks have the output.
func errArrayOutput(j api.Job) error {
	first, _, _ := strings.Cut(strings.Split(j.Array.Spec, ",")[0], "-")
	return usagef("job %d is an array, and each task has its own output: name one, such as 'gpusched logs %d_%s'",
		j.ID, j.ID, first)
}

// journalArgs selects one run of the unit: by its name, which journald takes from
// the kernel and no process can forge, and by the fields that systemd gives all
// lines of the run. Those of a release without the fields have the name that
// systemd gave the run; a process of milliseconds is gone before journald could
// ask for that one. live is whether more is to come.
func (c *logsCmd) journalArgs(id job.ID, at api.Attempt, live bool) []string {
	argv := []string{"--no-pager", "--quiet", "--output=cat"}
	if c.Times {
		argv[2] = "--output=short-iso-precise"
	}
	if c.Lines > 0 {
		argv = append(argv, "--lines="+strconv.Itoa(c.Lines))
	}
	if live {
		if argv = append(argv, "--follow"); c.Lines == 0 {
			argv = append(argv, "--no-tail")
		}
	}
	unit := "_SYSTEMD_UNIT=" + id.Unit()
	return append(argv,
		unit, fmt.Sprintf("GPUSCHED_ATTEMPT=%d", at.Number), fmt.Sprintf("GPUSCHED_PLACED=%d", at.PlacedAt.UnixMicro()),
		"+", unit, "_SYSTEMD_INVOCATION_ID="+at.InvocationID)
}

// attempt finds the start of the job that was asked for.
func (c *logsCmd) attempt(reply api.JobReply) (found api.Attempt, err error) {
	j := reply.Job
	current := api.Attempt{Attempt: job.Attempt{
		Number: j.Attempt, InvocationID: j.InvocationID, PlacedAt: j.PlacedAt, EndedAt: j.EndedAt,
	}}
	for _, at := range append([]api.Attempt{current}, reply.Attempts...) {
		if at.InvocationID != "" && (c.Attempt == 0 || c.Attempt == at.Number) {
			found = at
		}
	}
	switch {
	case found.InvocationID != "":
		return found, nil
	case c.Attempt != 0:
		return found, notFoundf("job %s has no attempt %d that started", nameOfJob(j), c.Attempt)
	case j.Result != nil:
		return found, refuse(api.CodeConflict, "",
			"job %s has no output, it never started: %s", nameOfJob(j), j.Result.Sentence)
	}
	return found, refuse(api.CodeConflict, fmt.Sprintf("wait for it with 'gpusched logs -f %s'", nameOfJob(j)),
		"job %s has no output yet: it is %s%s", nameOfJob(j), j.State, colon(j.Why))
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// started returns once the job has started or ended.
func (a *app) started(ctx context.Context, reply api.JobReply) (api.JobReply, error) {
	said := false
	for reply.Job.InvocationID == "" && !reply.Job.State.Terminal() {
		if !said && reply.Job.State == job.Queued {
			a.note("job %s is queued%s", nameOfJob(reply.Job), colon(a.err.Local(reply.Job.Why)))
			a.err.W.Flush()
			said = true
		}
		if pause(ctx, startPoll); ctx.Err() != nil {
			return reply, ctx.Err()
		}
		var err error
		if reply, err = a.client.Job(ctx, nameOfJob(reply.Job)); err != nil {
			return reply, err
		}
	}
	return reply, nil
}
