package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/contract"
)

// The daemon restarts while a guarded job runs, and has not seen the GPUs yet. The account of
// guarded jobs (the lane) owes nothing for the time before the restart.
func TestLaneAfterARestart(t *testing.T) {
	now := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)
	began := now.Add(-72 * time.Hour)
	j := job.Job{
		ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, Request: job.Request{GPUMilli: 4000}, SubmittedAt: began, ChangedAt: began, State: job.Running,
		Attempt: &job.Attempt{Number: 1, BootID: "boot1", InvocationID: "inv1", PlacedAt: began, StartedAt: began},
		Life:    job.Life{QueuedAt: began, Guarded: true, Expected: time.Hour},
	}
	for i := range 4 {
		j.Attempt.GPUs = append(j.Attempt.GPUs, job.Allocation{GPU: contract.GPU{UUID: string(rune('a' + i)), Index: i}})
	}
	c := New(site.Policy{Sched: sched.Policy{GuardAfter: time.Hour, GuardPercent: 50}}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{j}})
	c.Step(Listed{Boot: "boot1", Units: []Unit{{Job: 1, Phase: Active, Invocation: "inv1", Age: 72 * time.Hour}}}, now)
	for range 3 {
		now = now.Add(time.Minute)
		if s := c.queue.Snapshot(now); !s.GuardOpen {
			t.Fatal("the lane is closed")
		}
		if err := c.Check(); err != nil { // also checks the sums over the lane's jobs
			t.Fatal(err)
		}
	}
}
