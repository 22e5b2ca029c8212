package client

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// screen is a terminal of a width that keeps what it shows.
func screen(width int, colour bool) (*term.Terminal, *bytes.Buffer) {
	var b bytes.Buffer
	return &term.Terminal{W: bufio.NewWriterSize(&b, 1), TTY: width > 0, Width: width, Colour: colour, Now: noon}, &b
}

func queue() []api.Job {
	return []api.Job{
		{ID: 7, User: "alice", Label: job.Label{Name: "a-rather-long-name-for-a-job"}, State: "running", Request: job.Request{GPUMilli: 1000, TimeLimit: job.Span(4 * time.Hour)},
			GPUs: []api.Allocation{{GPU: contract.GPU{Index: 0}}}, StartedAt: noon.Add(-90 * time.Minute)},
		{ID: 9, User: "bob", Label: job.Label{Name: "日本語の名前"}, State: "queued", Request: job.Request{GPUMilli: 2000}, HeldBy: "bob",
			Array: &api.Array{Spec: "0-499%4", Size: 500, Next: 26, Live: 4, Failed: 2}, Reasons: []api.Reason{{Reason: job.Reason{Code: "held", GPU: -1}, Why: job.Text("bob")}}, Why: "held by bob"},
		{ID: 123, User: "bob", Label: job.Label{Name: "größe"}, State: "queued", Request: job.Request{GPUMilli: 2000}, SubmittedAt: noon.Add(-5 * time.Second),
			Reasons: []api.Reason{{Reason: job.Reason{Code: "gpu-count", GPU: -1, Need: 2, Have: 1}}, {Reason: job.Reason{Code: "gpu-busy", GPU: 0, Job: 12, Names: []string{"9_3"}}}}, ExpectedStart: noon.Add(2 * time.Hour),
			Why: "needs 2 GPUs, 1 available now; GPU 0 is held by job 9_3"},
		{ID: 124, User: "bob", Label: job.Label{Name: "größe"}, State: "running", Request: job.Request{GPUMilli: 1000},
			GPUs: []api.Allocation{{GPU: contract.GPU{Index: 2}}}, SuspendedAt: noon, SuspendedBy: "bob"},
	}
}

func TestATableFitsItsTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0: `
         ID  USER   NAME                          STATE                                            GPUS  ELAPSED   LEFT  LIMIT  START             WHY
          7  alice  a-rather-long-name-for-a-job  running                                          0       1h30m  2h30m     4h
9_[0-499%4]  bob    日本語の名前                  474 held, 4 running, 22 of 500 ended (2 failed)  (2)                                            held by bob
        123  bob    größe                         queued                                           (2)                          2026-03-01 14:00  needs 2 GPUs, 1 available now; GPU 0 is held by job 9_3
        124  bob    größe                         running (suspended)                              2                                              suspended by bob since 2026-03-01 12:00
`,
		100: `
         ID  USER   NAME           STATE          GPUS  ELAPSED   LEFT  LIMIT  START  WHY
          7  alice  a-rather-lon…  running        0       1h30m  2h30m     4h
9_[0-499%4]  bob    日本語の名前   474 held       (2)                                 held by bob
        123  bob    größe          queued         (2)                          14:00  GPU busy (9_3)
        124  bob    größe          suspended      2                                   suspended by …
`,
		80: `
    ID  USER   NAME      STATE         GPUS  ELAPSED   LEFT  START  WHY
     7  alice  a-rathe…  running       0       1h30m  2h30m
     9  bob    日本語…   474 held      (2)                          held by bob
   123  bob    größe     queued        (2)                   14:00  GPU busy
   124  bob    größe     suspended     2                            suspended b…
`,
		60: `
    ID  USER   NAME      STATE         GPUS  ELAPSED  WHY
     7  alice  a-rathe…  running       0       1h30m
     9  bob    日本語…   474 held      (2)            held by bob
   123  bob    größe     queued        (2)            GPU busy
   124  bob    größe     suspended     2              suspended b…
`,
	} {
		out, b := screen(width, false)
		a := &app{startedWith: startedWith{out: out}}
		term.WriteTable(out, a.jobColumns(), queue(), false)
		out.W.Flush()
		if got := "\n" + b.String(); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
		}
		for line := range strings.Lines(b.String()) {
			if width >= 80 && term.Columns(strings.TrimRight(line, "\n")) > width {
				t.Errorf("width %d: a line has %d columns", width, term.Columns(line))
			}
		}
	}
}

func TestColourNeverMovesAColumn(t *testing.T) {
	plainTerm, plainText := screen(100, false)
	colourTerm, colourText := screen(100, true)
	for _, out := range []*term.Terminal{plainTerm, colourTerm} {
		a := &app{startedWith: startedWith{out: out}}
		term.WriteTable(out, a.jobColumns(), queue(), false)
		out.W.Flush()
	}
	if !strings.Contains(colourText.String(), "\x1b[32mrunning") {
		t.Errorf("running is not green: %q", colourText)
	}
	stripped := colourText.String()
	for _, s := range []term.Style{term.Bold, term.Dim, term.Red, term.Green, term.Yellow} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+string(s)+"m", "")
	}
	stripped = strings.ReplaceAll(stripped, "\x1b[0m", "")
	for i, line := range strings.Split(plainText.String(), "\n") {
		if got := strings.TrimRight(strings.Split(stripped, "\n")[i], " "); got != line {
			t.Errorf("line %d without colour is %q, want %q", i, got, line)
		}
	}
}

// Invariant 4.
func TestNothingReachesTheTerminalUnsanitised(t *testing.T) {
	evil := "\x1b]0;owned\x07\x1b[2J\n\u202eab\u200b"
	j := api.Job{ID: 1, Label: job.Label{Name: evil, Comment: evil, Tags: map[string]string{evil: evil}}, User: evil, State: "queued", Why: evil,
		Result: &api.Result{Said: job.Text(evil)}, Private: &api.Private{Command: evil, Params: []job.Param{{Name: evil, Values: []string{evil}}}, Program: api.Program{Dir: api.Bytes(evil)}}, Unit: evil,
		Request: job.Request{GPUType: evil}, HeldBy: evil, Array: &api.Array{Spec: evil}, Task: &api.Task{Name: evil}, After: []job.Dependency{{Kind: job.DependencyKind(evil)}}, GPUs: []api.Allocation{{GPU: contract.GPU{UUID: evil}}}, Reasons: []api.Reason{{Said: job.Text(evil)}}}
	g := api.GPU{StateDetail: evil, GPU: job.GPU{Name: evil, State: job.GPUState(evil), UUID: evil, PCI: evil, Processes: []job.GPUProcess{{Comm: evil, User: evil}}}}
	out, b := screen(80, false)
	a := &app{startedWith: startedWith{out: out, err: out, getenv: func(string) string { return "" }}}
	term.WriteTable(out, a.jobColumns(), []api.Job{j}, true)
	a.writeJob(j, []api.Attempt{{Result: j.Result}, {Result: j.Result}}, nil)
	a.writeWhy(j)
	a.writeWhy(api.Job{ID: 2, State: "queued", Reasons: j.Reasons})
	a.writeQueue(j, &api.Queue{Ahead: []api.Ahead{{Ahead: job.Ahead{Called: evil, User: evil, Name: evil}, Sentence: evil}}})
	a.writePlan(&api.PlanReply{Course: job.Course{At: out.Now.Add(-2 * time.Hour), Until: out.Now, GPUs: []job.GPUCourse{{Stays: []job.Stay{
		{Job: 1, Called: evil, User: evil, Name: evil, Sentence: evil, From: out.Now.Add(-time.Hour)},
	}}}}}, j, time.Hour, true)
	a.writeTopology(api.GPUsReply{GPUs: []api.GPU{g, {GPU: job.GPU{Index: 1, CPUs: evil}}}, Links: []job.GPULink{{B: 1, Kind: evil}}}, true)
	a.writeDriver(api.GPUsReply{GPUSource: job.GPUSource{Driver: evil, CUDA: evil, Problem: evil, ProblemDetail: evil}, GPUs: []api.GPU{g},
		Reservations: []api.Reservation{{Users: []string{evil}, Groups: []string{evil}, Reservation: job.Reservation{By: evil, Reason: evil}}}}, true)
	a.writeHealth(api.HealthReply{Health: "FAILING", Checks: []job.Check{{Name: evil, Detail: evil, Next: evil}}}, true)
	a.writeStatus(api.StatusReply{Version: evil, Health: "DEGRADED", Problem: &job.Check{Name: evil, Detail: evil}}, []api.Job{j}, true, true)
	a.complain(evil)
	a.note("%s", evil)
	if err := a.writeEnv(api.Job{Private: &api.Private{Program: api.Program{Env: api.Words{"A=" + evil}}}}); err != nil {
		t.Fatal(err)
	}
	out.W.Flush()
	for i, line := range strings.Split(b.String(), "\n") {
		if !job.Printable(line) {
			t.Errorf("line %d is not printable: %q", i, line)
		}
	}
}
