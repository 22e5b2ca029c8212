package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// typicalPayload returns a payload with an environment of a usual size, 4 KiB.
func typicalPayload() *job.Payload {
	p := payload()
	for i := range 60 {
		p.Env = append(p.Env, fmt.Sprintf("SOME_VARIABLE_%02d=/a/value/of/the/usual/length/of/a/search/path", i))
	}
	return p
}

func benchmarkCommit(b *testing.B, batch int, next func(id job.ID) job.Record) {
	s := openNew(b)
	ctx := context.Background()
	id := job.ID(0)
	records := make([]job.Record, batch)
	for b.Loop() {
		for i := range records {
			id++
			records[i] = next(id)
		}
		if err := s.Commit(ctx, records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkCommit(b *testing.B) {
	p := typicalPayload()
	submit := func(id job.ID) job.Record { return job.Record{Job: queuedJob(id), Payload: p} }
	start := func(id job.ID) job.Record { return job.Record{Job: runningJob(id%100 + 1)} }
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("submit/batch=%d", n), func(b *testing.B) { benchmarkCommit(b, n, submit) })
		b.Run(fmt.Sprintf("change/batch=%d", n), func(b *testing.B) { benchmarkCommit(b, n, start) })
	}
}

// fill writes n queued jobs with the payload.
func fill(tb testing.TB, s *Store, n int, p *job.Payload) {
	const batch = 500
	for id := 0; id < n; id += batch {
		var records []job.Record
		for i := range min(batch, n-id) {
			j := queuedJob(job.ID(id + i + 1))
			j.QueuedAt, j.Expected = j.SubmittedAt, time.Hour
			j.Request.Shape, j.Request.Script, j.Request.Grace = fmt.Sprintf("%016x", j.ID), fmt.Sprintf("%016x", -j.ID), new(job.Span(time.Minute))
			records = append(records, job.Record{Job: j, Payload: p})
		}
		commit(tb, s, records...)
	}
}

// BenchmarkLoad measures the time of the daemon's start (open and load) with queues of several
// lengths.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "state.db")
			s := openAt(b, path)
			fill(b, s, n, typicalPayload())
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := Open(context.Background(), path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				st, err := s.Load(context.Background())
				if err != nil || len(st.Jobs) != n {
					b.Fatal(len(st.Jobs), err)
				}
				s.Close()
			}
		})
	}
}

func BenchmarkOpenLoad100k(b *testing.B) {
	path := filepath.Join(b.TempDir(), "state.db")
	s := openAt(b, path)
	fill(b, s, 100_000, typicalPayload())
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(context.Background(), path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("load", func(b *testing.B) {
		s := openAt(b, path)
		for b.Loop() {
			st, err := s.Load(context.Background())
			if err != nil || len(st.Jobs) != 100_000 {
				b.Fatal(len(st.Jobs), err)
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		s := openAt(b, path)
		for b.Loop() {
			mustCheck(b, s)
		}
	})
}
