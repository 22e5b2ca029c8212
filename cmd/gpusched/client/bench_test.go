package client

import (
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// What a short command pays for its command line, and what it would pay for
// all of the grammar.
func BenchmarkNewParser(b *testing.B) {
	for name, args := range map[string][]string{"list": {"list"}, "submit": {"submit"}, "all": {"--help"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := newParser(grammarFor(args), io.Discard, func(int) {}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What the table of 300 jobs costs, of which most wait: to read the answer, and to write it for people.
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
			term.WriteTable(out, (&app{startedWith: startedWith{out: out}}).jobColumns(), api.ByState(reply.Jobs, 0), false)
		}
	})
}
