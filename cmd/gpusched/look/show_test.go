package look

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Text that another user chose is sanitised before it reaches a terminal (invariant 4 of package
// cli).
func TestNothingReachesTheTerminalUnsanitised(t *testing.T) {
	evil := "\x1b]0;owned\x07\x1b[2J\n\u202eab\u200b"
	j := api.Job{ID: 1, Label: job.Label{Name: evil, Comment: evil, Tags: map[string]string{evil: evil}}, User: evil, State: "queued", Why: evil,
		Result: &api.Result{Said: job.Text(evil)}, Private: &api.Private{Command: evil, Params: []job.Param{{Name: evil, Values: []string{evil}}}, Program: api.Program{Dir: api.Bytes(evil)}}, Unit: evil,
		Request: job.Request{GPUType: evil}, HeldBy: evil, Array: &api.Array{Spec: evil}, Task: &api.Task{Name: evil}, After: []job.Dependency{{Kind: job.DependencyKind(evil)}}, GPUs: []api.Allocation{{GPU: contract.GPU{UUID: evil}}}, Reasons: []api.Reason{{Said: job.Text(evil)}}}
	g := api.GPU{StateDetail: evil, GPU: job.GPU{Name: evil, State: job.GPUState(evil), UUID: evil, PCI: evil, Processes: []job.GPUProcess{{Comm: evil, User: evil}}}}
	out, b := screen(80, false)
	a := &cli.App{Env: cli.Env{Out: out, Err: out, Getenv: func(string) string { return "" }}}
	term.WriteTable(out, a.JobColumns(), []api.Job{j}, true)
	writeJob(a, j, []api.Attempt{{Result: j.Result}, {Result: j.Result}}, nil, false)
	writeWhy(a, j)
	writeWhy(a, api.Job{ID: 2, State: "queued", Reasons: j.Reasons})
	writeQueue(a, j, &api.Queue{Ahead: []api.Ahead{{Ahead: job.Ahead{Called: evil, User: evil, Name: evil}, Sentence: evil}}})
	writePlan(a, &api.PlanReply{Course: job.Course{At: out.Now.Add(-2 * time.Hour), Until: out.Now, GPUs: []job.GPUCourse{{Stays: []job.Stay{
		{Job: 1, Called: evil, User: evil, Name: evil, Sentence: evil, From: out.Now.Add(-time.Hour)},
	}}}}}, j, time.Hour, true)
	writeTopology(a, api.GPUsReply{GPUs: []api.GPU{g, {GPU: job.GPU{Index: 1, CPUs: evil}}}, Links: []job.GPULink{{B: 1, Kind: evil}}}, true)
	writeDriver(a, api.GPUsReply{GPUSource: job.GPUSource{Driver: evil, CUDA: evil, Problem: evil, ProblemDetail: evil}, GPUs: []api.GPU{g},
		Reservations: []api.Reservation{{Users: []string{evil}, Groups: []string{evil}, Reservation: job.Reservation{By: evil, Reason: evil}}}}, true)
	writeHealth(a, api.HealthReply{Health: "FAILING", Checks: []job.Check{{Name: evil, Detail: evil, Next: evil}}}, true)
	writeStatus(a, api.StatusReply{Version: evil, Health: "DEGRADED", Problem: &job.Check{Name: evil, Detail: evil}}, []api.Job{j}, true, true)
	a.Complain(evil)
	a.Note("%s", evil)
	if err := writeEnv(a, api.Job{Private: &api.Private{Program: api.Program{Env: api.Words{"A=" + evil}}}}); err != nil {
		t.Fatal(err)
	}
	out.W.Flush()
	for i, line := range strings.Split(b.String(), "\n") {
		if !job.Printable(line) {
			t.Errorf("line %d is not printable: %q", i, line)
		}
	}
}
