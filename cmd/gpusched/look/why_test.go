package look

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Slurm says when a job is expected to start, but not which jobs are ahead of it.
func TestWhyWithoutAQueue(t *testing.T) {
	out, b := screen(80, false)
	lines := writeQueue(&cli.App{Env: cli.Env{Out: out}}, api.Job{ID: 7, State: job.Queued, ExpectedStart: noon}, nil)
	out.W.Flush()
	if got := b.String(); lines != 1 || !strings.HasPrefix(got, "job 7 is expected to start") || strings.Contains(got, "ahead") {
		t.Errorf("%d lines: %q", lines, got)
	}
}

// The explanation of an unknown start comes from the job's machine, so it is sanitised.
func TestWhyIsHarmlessOnATerminal(t *testing.T) {
	out, b := screen(80, false)
	writeQueue(&cli.App{Env: cli.Env{Out: out}}, api.Job{ID: 7, State: job.Queued, StartUnknown: true, StartUnknownWhy: "\x1b]0;title\a"}, nil)
	out.W.Flush()
	if got := b.String(); strings.ContainsAny(got, "\x1b\a") || !strings.Contains(got, "title") {
		t.Errorf("%q", got)
	}
}

// If tasks of an array wait again, 'gpusched why' gives the reason of the first such task.
func TestWhyOfAnArrayWhoseTasksWaitAgain(t *testing.T) {
	reasons := []api.Reason{{Reason: job.Reason{Code: "gpu-paused", GPU: 0}, Said: job.Text("paused by root")}}
	say := func(j api.Job) string {
		var text bytes.Buffer
		a := &cli.App{Env: cli.Env{Out: &term.Terminal{W: bufio.NewWriter(&text)}}}
		writeWhy(a, j)
		a.Out.W.Flush()
		return text.String()
	}
	array := &api.Array{Spec: "0-1", Size: 2, Next: 2, Live: 2, Waiting: 2, WaitingTasks: "0-1"}
	got := say(api.Job{ID: 7, State: job.Spawned, Reasons: reasons, Array: array})
	if !strings.Contains(got, "job 7: 2 waiting again. The first of tasks 0-1 waits for this:\n  GPU 0    paused by root") {
		t.Errorf("why says:\n%s", got)
	}
	one := &api.Array{Spec: "0-1", Size: 2, Next: 2, Live: 2, Waiting: 1, WaitingTasks: "1", RunningTasks: "0"}
	got = say(api.Job{ID: 7, State: job.Spawned, Reasons: reasons, Array: one})
	if !strings.Contains(got, "job 7: 1 waiting again, 1 running. Task 1 waits for this:\n") {
		t.Errorf("why says of one:\n%s", got)
	}
	if got := say(api.Job{ID: 7, State: job.Queued, Reasons: reasons, Array: array}); !strings.Contains(got, "'gpusched why 7_N'") {
		t.Errorf("of an array that waits itself, why says:\n%s", got)
	}
}
