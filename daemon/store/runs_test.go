package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Runs returns all attempts that may overlap the period, and all jobs that ended in it without an
// attempt. It returns no array.
func TestRuns(t *testing.T) {
	s := openNew(t)
	pastJobs(t, s, 12)
	got := func(q job.RunQuery) (text string) {
		err := s.Runs(context.Background(), q, func(r *job.Run) error {
			text += fmt.Sprintf("%d.%d%s ", r.Job, r.Attempt.Number, map[bool]string{true: "*"}[r.End != ""])
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		return text
	}
	at := time.Date(2026, 3, 1, 12, 4, 0, 0, time.UTC)
	uid := 1001
	if all := got(job.RunQuery{}); all != "1.1* 2.1* 3.1 3.2* 4.1* 5.1* 6.1 6.2* 7.1* 8.1* 9.1 9.2* 10.1* 11.1* 12.1 12.2* " {
		t.Errorf("all: %s", all)
	}
	if late := got(job.RunQuery{From: at, UID: &uid}); late != "9.1 9.2* 11.1* " {
		t.Errorf("late ones of a user: %s", late)
	}
	stop := errors.New("enough")
	if err := s.Runs(context.Background(), job.RunQuery{}, func(*job.Run) error { return stop }); err != stop {
		t.Errorf("it goes on: %v", err)
	}
}

// A run is read as it was written, whatever the state of its job. Jobs that were removed have no
// runs. If an ended run is changed, Runs returns the change.
func TestRunsAreWhole(t *testing.T) {
	s := openNew(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	whole := *endedJob(1, job.Failed)
	whole.Owner.Groups, whole.Label = []string{"lab", "a\"b\x1f"}, job.Label{Name: "odd\x1fname", Tags: map[string]string{"k": "v\x1f\n\"ü"}}
	whole.Request.MemBytes, whole.Request.GPUMemBytes, whole.Request.CPUs = 1<<40, 2<<30, 3
	whole.Request.TimeLimit, whole.Request.Priority = job.Span(90*time.Minute), job.Priority{Class: job.High}
	whole.ChangedAt = at.Add(2 * time.Hour)
	whole.Attempt = &job.Attempt{
		Number: 3, PlacedAt: at, StartedAt: at.Add(time.Second), EndedAt: at.Add(time.Hour), EligibleAt: at.Add(-time.Hour), HostUse: job.HostUse{PeakMemBytes: 5, CPUTime: 6},
		GPUs: []job.Allocation{{GPU: contract.GPU{UUID: "GPU-a", Index: 1}, Use: job.GPUUse{PeakBytes: 7, Seen: 8}}, {GPU: contract.GPU{UUID: "odd\x1f\"}"}}},
	}
	never, live := *endedJob(2, job.Cancelled), *runningJob(3)
	never.Attempt, never.ChangedAt = nil, at
	commit(t, s, job.Record{Job: &whole, Payload: payload()}, job.Record{Job: &never, Payload: payload()}, job.Record{Job: &live, Payload: payload()})
	check := func(want ...job.Run) {
		t.Helper()
		mustCheck(t, s)
		got := []job.Run{}
		err := s.Runs(context.Background(), job.RunQuery{Tags: true}, func(r *job.Run) error {
			one := *r
			one.Attempt.GPUs = slices.Clone(r.Attempt.GPUs)
			one.Attempt.Result, one.Attempt.BootID, one.Attempt.InvocationID = nil, "", ""
			got = append(got, one)
			return nil
		})
		requireEqual(t, err, got, want)
	}
	of := func(j *job.Job, a *job.Attempt) job.Run {
		r := job.RunOf(j, a)
		r.Attempt.Result, r.Attempt.BootID, r.Attempt.InvocationID = nil, "", ""
		return r
	}
	check(of(&never, nil), of(&whole, whole.Attempt), of(&live, live.Attempt))
	whole.Attempt.PeakMemBytes, whole.Label.Name = 9, "changed"
	commit(t, s, job.Record{Job: &whole})
	check(of(&never, nil), of(&whole, whole.Attempt), of(&live, live.Attempt))
	n, err := s.Forget(context.Background(), History{Age: time.Minute}, at.Add(3*time.Hour))
	requireEqual(t, err, n, 2)
	check(of(&live, live.Attempt))
}

// gpuschedd(8) shows a query on the state file. The query works with only the functions of SQLite.
func TestManualsQuery(t *testing.T) {
	manual, err := os.ReadFile("../../packaging/man/gpuschedd.8")
	if err != nil {
		t.Fatal(err)
	}
	query := regexp.MustCompile(`(?s)\nSELECT .*?;\n`).FindString(strings.ReplaceAll(string(manual), `\-`, "-"))
	s := openNew(t)
	j := endedJob(1, job.Completed)
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	j.Owner.User, j.Request.GPUMilli = "ann", 2000
	j.Attempt.PlacedAt, j.Attempt.EndedAt = at, at.Add(3*time.Hour)
	commit(t, s, job.Record{Job: j, Payload: payload()}, job.Record{Job: runningJob(2), Payload: payload()})
	var user string
	var hours float64
	if err := s.read.QueryRow(query).Scan(&user, &hours); err != nil || user != "ann" || math.Abs(hours-6) > 0.001 {
		t.Errorf("%q, %v GPU-hours, %v, of %q", user, hours, err, query)
	}
}

// manyRuns returns a store with n jobs of one month. The benchmarks share it.
func manyRuns(b *testing.B, n int) *Store {
	s := openNew(b)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	step := 30 * 24 * time.Hour / time.Duration(n)
	var recs []job.Record
	for i := range n {
		end := at.Add(time.Duration(i) * step)
		use := job.GPUUse{PeakBytes: 40 << 30, Seen: time.Hour, Busy: time.Hour / 2, PeakBusy: 97, MemSeen: time.Hour, MemMiBMS: 1 << 40, Metered: time.Hour, MilliJ: 1 << 30}
		j := &job.Job{
			ID: job.ID(i + 1), Owner: job.Owner{UID: 1000 + i%40, User: fmt.Sprint("user", i%40)}, Label: job.Label{Name: fmt.Sprint("train", i%300)},
			Request: job.Request{GPUMilli: 1000, MemBytes: 32 << 30, CPUs: 8, TimeLimit: job.Span(2 * time.Hour)},
			State:   job.Completed, Result: &job.Result{Outcome: job.Completed}, SubmittedAt: end.Add(-2 * time.Hour), ChangedAt: end,
			Life: job.Life{QueuedAt: end.Add(-2 * time.Hour)},
			Attempt: &job.Attempt{
				Number: 1, PlacedAt: end.Add(-time.Hour), StartedAt: end.Add(-time.Hour), EndedAt: end, EligibleAt: end.Add(-2 * time.Hour),
				GPUs: []job.Allocation{{GPU: contract.GPU{UUID: fmt.Sprint("GPU-4d3a1c00-0000-4000-8000-00000000000", i%8), Index: i % 8}, Use: use}},
			},
		}
		if recs = append(recs, job.Record{Job: j, Payload: &job.Payload{}}); len(recs) == 1000 || i == n-1 {
			if err := s.Commit(context.Background(), recs); err != nil {
				b.Fatal(err)
			}
			recs = recs[:0]
		}
	}
	return s
}

// BenchmarkRuns reads 100 000 jobs of one month. For comparison, SQLite also sums one column of the
// same rows: no report can be faster than that.
func BenchmarkRuns(b *testing.B) {
	s := manyRuns(b, 100_000)
	b.Run("runs", func(b *testing.B) {
		for b.Loop() {
			n := 0
			err := s.Runs(context.Background(), job.RunQuery{From: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}, func(*job.Run) error { n++; return nil })
			if err != nil || n != 100_000 {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("sql", func(b *testing.B) {
		for b.Loop() {
			var sum float64
			err := s.reports.QueryRow(`SELECT sum(julianday(a.ended_at) - julianday(a.placed_at)) FROM jobs j JOIN attempts a ON a.job_id = j.id
				WHERE j.result IS NOT NULL AND j.changed_at >= '2026'`).Scan(&sum)
			if err != nil || sum == 0 {
				b.Fatal(sum, err)
			}
		}
	})
}
