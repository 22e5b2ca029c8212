package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// screen returns a terminal of the given width, and a buffer with its output.
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
		a := &App{Env: Env{Out: out}}
		term.WriteTable(out, a.JobColumns(), queue(), false)
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
		a := &App{Env: Env{Out: out}}
		term.WriteTable(out, a.JobColumns(), queue(), false)
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

// BenchmarkTable measures a table of 300 jobs, most of them waiting: how long it takes to read the
// answer and to format it for people.
func BenchmarkTable(b *testing.B) {
	reply := api.ListReply{Schema: api.Schema}
	for i := range 300 {
		j := api.Job{ID: job.ID(i + 1), User: "alice", UID: 1001, Label: job.Label{Name: "train"}, State: job.Running, SubmittedAt: noon,
			StartedAt: noon, Request: job.Request{GPUMilli: 1000, MemBytes: 8 << 30, Grace: new(job.Span(30 * time.Second))}}
		if i >= 8 {
			j.State, j.StartedAt = job.Queued, time.Time{}
			j.QueuedAt, j.ExpectedStart = noon, noon.Add(time.Hour)
			j.Why = "needs 1 GPU, 0 available now; GPUs 0-7 are held by jobs 1,2,3,…"
			for gpu := range 8 {
				j.Reasons = append(j.Reasons, api.Reason{Reason: job.Reason{Code: "gpu-busy", GPU: gpu, Job: job.ID(gpu + 1)}})
			}
		}
		reply.Jobs = append(reply.Jobs, j)
	}
	text, err := json.Marshal(reply)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			var reply api.ListReply
			if err := json.Unmarshal(text, &reply); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			out, _ := screen(120, false)
			term.WriteTable(out, (&App{Env: Env{Out: out}}).JobColumns(), api.ByState(reply.Jobs, 0), false)
		}
	})
}
