package server

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// longQueue returns a listing of 10 000 waiting jobs.
func longQueue() listing {
	l := listing{names: testServer(queue(), new(bytes.Buffer)).namer()}
	for id := range job.ID(10_000) {
		l.jobs = append(l.jobs, job.JobView{Job: job.Job{
			ID: id + 1, Owner: job.Owner{UID: 1001, GID: 1001, User: "alice"}, Label: job.Label{Name: "train"}, State: job.Queued,
			SubmittedAt: noon, ChangedAt: noon, Life: job.Life{QueuedAt: noon, Expected: time.Hour},
			Request: job.Request{GPUMilli: 1000, MemBytes: 8 << 30, Grace: new(job.Span(30 * time.Second))},
		}})
	}
	return l
}

// BenchmarkListing encodes a long listing as the server does, and decodes it as a client does.
func BenchmarkListing(b *testing.B) {
	l := longQueue()
	var text bytes.Buffer
	if err := l.stream(&text); err != nil {
		b.Fatal(err)
	}
	b.Run("send", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := l.stream(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(text.Len()), "sent-B/op")
	})
	b.Run("send-names", func(b *testing.B) {
		l := l
		l.only = true
		b.ReportAllocs()
		for b.Loop() {
			if err := l.stream(io.Discard); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var reply api.ListReply
			if err := json.Unmarshal(text.Bytes(), &reply); err != nil || len(reply.Jobs) != len(l.jobs) {
				b.Fatal(len(reply.Jobs), err)
			}
		}
	})
}
