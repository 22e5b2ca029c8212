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
	"github.com/gpusched/gpusched/units/contract"
)

// After an array has ended, no tasks are shown as waiting.
func TestAnEndedArrayHasNoWaitingTasks(t *testing.T) {
	for _, c := range []struct {
		state job.State
		array api.Array
		want  string
	}{
		{"queued", api.Array{Spec: "0-9%2", Size: 10, Limit: 2, Next: 4, Live: 2}, "0-9%2: 10 tasks, 2 at a time; 6 waiting, 2 running, 2 ended"},
		{"spawned", api.Array{Spec: "0-3", Size: 4, Next: 4, Live: 3, Waiting: 2}, "0-3: 4 tasks; 0 waiting, 2 waiting again, 1 running, 1 ended"},
		{"cancelled", api.Array{Spec: "0-9", Size: 10, Next: 4, Failed: 4, Cancelled: 1}, "0-9: 10 tasks; 4 have run, 4 of these did not complete; 5 never started; 1 cancelled before the start"},
	} {
		if got := arrayLine(api.Job{State: c.state, Array: &c.array}); got != c.want {
			t.Errorf("%s: %q, want %q", c.state, got, c.want)
		}
	}
}

// For a job that is in the queue again, 'gpusched show' says how its only attempt ended.
func TestShowOfARequeuedJob(t *testing.T) {
	var text bytes.Buffer
	a := &cli.App{Env: cli.Env{Out: &term.Terminal{W: bufio.NewWriter(&text)}}}
	writeJob(a, api.Job{ID: 7, State: "queued"}, []api.Attempt{{Attempt: job.Attempt{Number: 1}, Result: &api.Result{Said: job.Text("stopped for job 9")}}}, nil, false)
	a.Out.W.Flush()
	if !strings.Contains(text.String(), "attempt 1   stopped for job 9") {
		t.Errorf("show says:\n%s", text.String())
	}
}

// If a job did not request CPUs, 'gpusched show' says how many CPUs the scheduler counts for the
// job.
func TestShowSaysThePromisedCPUs(t *testing.T) {
	for want, j := range map[string]api.Job{
		"1 GPU, 3 CPUs counted for its GPUs (no limit), priority normal": {Request: job.Request{GPUMilli: 1000}, PromisedCPUs: 3},
		"1 GPU, 1 CPU, priority normal":                                  {Request: job.Request{GPUMilli: 1000, CPUs: 1}, PromisedCPUs: 1},
		"1 GPU, priority normal":                                         {Request: job.Request{GPUMilli: 1000}},
	} {
		if got := Asks(j); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// 'gpusched show -o wide' lists what frameworks are told, without what the submitter has set.
func TestShowOfHints(t *testing.T) {
	j := api.Job{State: job.Running, GPUs: []api.Allocation{{GPU: contract.GPU{HintMilli: 450}}}}
	const fraction, growth = "GPUSCHED_GPU_FRACTION=0.45", "TF_FORCE_GPU_ALLOW_GROWTH=true"
	const jax = "XLA_PYTHON_CLIENT_MEM_FRACTION=0.45"
	if got, want := hintsLine(j), fraction+", "+jax+", "+growth+" (unless its own environment sets them)"; got != want {
		t.Errorf("to others: %s, want %s", got, want)
	}
	j.Private = &api.Private{}
	j.Private.Env = api.Words{"XLA_CLIENT_MEM_FRACTION=.3"}
	if got, want := hintsLine(j), fraction+", "+growth; got != want {
		t.Errorf("to its owner: %s, want %s", got, want)
	}
	if got := hintsLine(api.Job{GPUs: make([]api.Allocation, 2)}); got != "" {
		t.Errorf("whole GPUs: %s", got)
	}
}
