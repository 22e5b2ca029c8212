package main

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// screen is a terminal of a width that keeps what it shows.
func screen(width int, colour bool) (*terminal, *bytes.Buffer) {
	var b bytes.Buffer
	return &terminal{w: bufio.NewWriterSize(&b, 1), tty: width > 0, width: width, colour: colour, now: noon}, &b
}

// A sentence of the daemon's has the reader's own time on a terminal, as all
// times there, and UTC elsewhere.
func TestTimesInSentences(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for sentence, want := range map[string]string{
		"not to begin before 2026-03-01 21:00:00 UTC":                   "not to begin before 22:00",
		"for x from 2026-03-01 23:30:00 UTC to 2026-03-09 00:00:00 UTC": "for x from 2026-03-02 00:30 to 2026-03-09 01:00",
		"at 2026-99-01 21:00:00 UTC":                                    "at 2026-99-01 21:00:00 UTC",
	} {
		term, _ := screen(80, false)
		term.now = noon.In(berlin)
		if got := term.local(sentence); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		term.tty = false
		if got := term.local(sentence); got != sentence {
			t.Errorf("%q in a pipe", got)
		}
	}
}

// A cell of CSV is no formula for the program that reads it.
func TestCellsAreNoFormulas(t *testing.T) {
	for cell, want := range map[string]string{
		"=cmd()": "'=cmd()", "+1": "'+1", "@a": "'@a", "-x": "'-x", "\tx": "'\tx", "\rx": "'\rx", "-5": "-5", "-1.5": "-1.5", "-1+2": "'-1+2", "": "", "a=b": "a=b", "7_3": "7_3",
	} {
		if got := defused(cell); got != want {
			t.Errorf("%q is %q, want %q", cell, got, want)
		}
	}
}

func queue() []api.Job {
	return []api.Job{
		{ID: 7, User: "alice", Label: job.Label{Name: "a-rather-long-name-for-a-job"}, State: "running", Request: job.Request{GPUMilli: 1000},
			GPUs: []api.GPURef{{Index: 0}}, StartedAt: noon.Add(-90 * time.Minute)},
		{ID: 123, User: "bob", Label: job.Label{Name: "größe"}, State: "queued", Request: job.Request{GPUMilli: 2000}, SubmittedAt: noon.Add(-5 * time.Second),
			Why: "needs 2 GPUs, 1 available now; GPU 0 is held by job 7"},
	}
}

func TestATableFitsItsTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0: `
 ID  USER   NAME                          STATE    GPUS  SINCE                 WHY
  7  alice  a-rather-long-name-for-a-job  running  0     2026-03-01T10:30:00Z
123  bob    größe                         queued   (2)   2026-03-01T11:59:55Z  needs 2 GPUs, 1 available now; GPU 0 is held by job 7
`,
		100: `
 ID  USER   NAME                          STATE    GPUS  SINCE  WHY
  7  alice  a-rather-long-name-for-a-job  running  0     1h30m
123  bob    größe                         queued   (2)   5s     needs 2 GPUs, 1 available now; GPU …
`,
		70: `
 ID  USER   NAME               STATE    GPUS  SINCE  WHY
  7  alice  a-rather-long-na…  running  0     1h30m
123  bob    größe              queued   (2)   5s     needs 2 GPUs, 1 …
`,
		30: `
 ID  USER   NAME      STATE    GPUS  SINCE  WHY
  7  alice  a-rathe…  running  0     1h30m
123  bob    größe     queued   (2)   5s     needs 2 GPUs, 1…
`,
	} {
		term, b := screen(width, false)
		a := &app{out: term}
		writeTable(term, a.jobColumns(), queue(), false)
		term.w.Flush()
		if got := "\n" + b.String(); got != want {
			t.Errorf("width %d:\n%s\nwant\n%s", width, got, want)
		}
		for line := range strings.Lines(b.String()) {
			if width >= 70 && columns(strings.TrimRight(line, "\n")) > width {
				t.Errorf("width %d: a line has %d columns", width, columns(line))
			}
		}
	}
}

func TestColourNeverMovesAColumn(t *testing.T) {
	plainTerm, plainText := screen(100, false)
	colourTerm, colourText := screen(100, true)
	for _, term := range []*terminal{plainTerm, colourTerm} {
		a := &app{out: term}
		writeTable(term, a.jobColumns(), queue(), false)
		term.w.Flush()
	}
	if !strings.Contains(colourText.String(), "\x1b[32mrunning") {
		t.Errorf("running is not green: %q", colourText)
	}
	stripped := colourText.String()
	for _, s := range []style{bold, dim, red, green, yellow} {
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
		Result: &api.Result{Sentence: evil}, Private: &api.Private{Command: evil, Params: []job.Param{{Name: evil, Values: []string{evil}}}, Dir: []byte(evil)}, Unit: evil,
		Request: job.Request{GPUType: evil}, HeldBy: evil, Array: &api.Array{Spec: evil}, Task: &api.Task{Name: evil}, After: []job.Dependency{{Kind: job.DependencyKind(evil)}}, GPUs: []api.GPURef{{UUID: evil}}, Reasons: []api.Reason{{Sentence: evil}}}
	g := api.GPU{Name: evil, State: job.GPUState(evil), StateDetail: evil, UUID: evil, PCI: evil, Processes: []api.GPUProcess{{Comm: evil, User: evil}}}
	term, b := screen(80, false)
	a := &app{out: term, err: term}
	writeTable(term, a.jobColumns(), []api.Job{j}, true)
	a.writeJob(j, []api.Attempt{{Result: j.Result}, {Result: j.Result}})
	a.writeWhy(j, nil)
	a.writeWhy(api.Job{ID: 2, State: "queued", Reasons: j.Reasons}, []api.Job{j, {ID: 2}})
	a.writeTopology(api.GPUsReply{GPUs: []api.GPU{g, {Index: 1, CPUs: evil}}, Links: []job.GPULink{{B: 1, Kind: evil}}}, true)
	a.writeDriver(api.GPUsReply{Driver: evil, CUDA: evil, Problem: evil, ProblemDetail: evil, GPUs: []api.GPU{g},
		Reservations: []api.Reservation{{Users: []string{evil}, Groups: []string{evil}, By: evil, Reason: evil}}}, true)
	a.writeHealth(api.HealthReply{Health: "FAILING", Checks: []job.Check{{Name: evil, Detail: evil, Next: evil}}}, true)
	a.writeStatus(api.StatusReply{Version: evil, Health: "HEALTHY"}, []api.Job{j}, true)
	a.complain(evil)
	a.note("%s", evil)
	writePlan(term, api.SubmitReply{Job: j, Unit: []api.Property{{Name: evil, Value: evil}}})
	if err := a.writeEnv(api.Job{Private: &api.Private{Env: [][]byte{[]byte("A=" + evil)}}}); err != nil {
		t.Fatal(err)
	}
	term.w.Flush()
	for i, line := range strings.Split(b.String(), "\n") {
		if !job.Printable(line) {
			t.Errorf("line %d is not printable: %q", i, line)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"größer", 5, "größ…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"},
		{"日本語", 4, "日…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"},
	} {
		if got := cut(c.in, c.n); got != c.want || columns(got) > c.n {
			t.Errorf("cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m",
		time.Hour: "1h", 3*time.Hour + 12*time.Minute: "3h12m", 24 * time.Hour: "1d", 52 * time.Hour: "2d4h",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%s) = %s, want %s", d, got, want)
		}
	}
}
