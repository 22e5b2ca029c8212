package core_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Each bound is a measured value plus a fifth of it.
const (
	bytesPerJob  = 2160
	allocsPerJob = 7
)

// A waiting job in a long queue takes little of the daemon's memory. Restoring it when the daemon
// starts takes few allocations.
func TestWaitingJobsAreSmall(t *testing.T) {
	const n = 10_000
	r := job.Restored{NextID: n + 1}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		s := nth(i % 500)
		r.Jobs = append(r.Jobs, job.Job{
			ID: job.ID(i + 1), Key: fmt.Sprintf("%032x", i), Owner: s.Owner, Label: job.Label{Name: fmt.Sprint("train-", i)},
			Request: s.Request, SubmittedAt: at, State: job.Queued, ChangedAt: at,
			Life: job.Life{QueuedAt: at, Bytes: 4096, GIDs: s.GIDs, Expected: time.Hour},
		})
	}
	policy := newWorld(1, t.Logf).policy
	before, asked := heap(), mallocs()
	c := core.New(policy, "boot", r)
	allocs, bytes := float64(mallocs()-asked)/n, float64(heap()-before)/n
	if c.Counts()[job.Queued] != n {
		t.Fatal(c.Counts())
	}
	t.Logf("%.0f bytes and %.1f allocations for a job", bytes, allocs)
	if bytes > bytesPerJob || allocs > allocsPerJob {
		t.Errorf("a waiting job takes %.0f bytes and %.1f allocations, more than %d and %d", bytes, allocs, bytesPerJob, allocsPerJob)
	}
	runtime.KeepAlive(r)
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}
