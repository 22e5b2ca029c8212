package sched

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// crowded returns a machine whose 64 GPUs are all in use, and a queue of n jobs. The jobs are of 50
// users, in five sizes, with expected run times from a minute to a day.
func crowded(n int) (*Snapshot, *Queue) {
	s := &Snapshot{
		Now: At(time.Unix(1_700_000_000, 0)), Machine: 1, GuardOpen: true,
		Policy: Policy{HalfLife: 7 * 24 * time.Hour, GuardAfter: 7 * 24 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Slice: 30 * time.Minute},
	}
	users := make([]*Account, 50)
	for i := range users {
		users[i] = &Account{UID: 1000 + i, Name: fmt.Sprint("u", i)}
	}
	for i := range 64 {
		id := job.ID(1_000_000 + i)
		s.GPUs = append(s.GPUs, GPU{
			Index: i, Model: "NVIDIA H100", State: OK, MemTotalBytes: 80 << 30, MemFreeBytes: 80 << 30, UsableBytes: 80 << 30,
			Held: []Hold{{Job: id, Milli: job.WholeGPU}},
		})
		s.Running = append(s.Running, Running{
			ID: id, Grants: []Grant{{GPU: i, Milli: job.WholeGPU}}, End: s.Now.Add(time.Duration(i*37%64+1) * time.Minute),
			Account: users[i%50], Start: s.Now - Instant(time.Hour), Since: s.Now - Instant(2*time.Hour), Expected: 3 * time.Hour,
		})
	}
	q := NewQueue()
	for i := range n {
		q.Push(Waiting{
			ID: job.ID(i + 1), Request: &job.Request{GPUMilli: []int{500, 1000, 2000, 4000, 8000}[i/50%5]}, Account: users[i%50],
			Since: s.Now - Instant(48*time.Hour) + Instant(i), Expected: time.Minute << (i / 250 % 11), Count: 1,
		})
	}
	return s, q
}

// TestNoAllocation checks invariant 8. Once the planner's memory has grown, a pass that places no
// job allocates nothing, even if it makes several reservations and preempts jobs.
func TestNoAllocation(t *testing.T) {
	for _, depth := range []int{0, 1, 4} {
		s, q := crowded(2000)
		s.Policy.ReservationDepth = depth
		for i := range s.Running {
			s.Running[i].Preemptible = i%8 == 0
		}
		p := NewPlanner()
		if n := testing.AllocsPerRun(20, func() { p.Plan(s, q) }); n > 0 || len(p.out.Backfill) != depth || len(p.out.Place) > 0 || len(p.out.Preempt) == 0 {
			t.Errorf("depth %d: %g allocations for %+v", depth, n, p.out)
		}
	}
}

// BenchmarkPass measures a pass over n jobs, none of which it can place.
func BenchmarkPass(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			s, q := crowded(n)
			p := NewPlanner()
			b.ReportAllocs()
			for b.Loop() {
				if plan := p.Plan(s, q); len(plan.Place) > 0 || len(plan.Backfill) != 1 {
					b.Fatalf("placed %v, kept %v", plan.Place, plan.Backfill)
				}
			}
		})
	}
}

// BenchmarkPushRemove measures the time in which one job enters and leaves the queue.
func BenchmarkPushRemove(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint("jobs=", n), func(b *testing.B) {
			s, q := crowded(n)
			w := Waiting{ID: 999_999, Request: &job.Request{GPUMilli: job.WholeGPU}, Account: &Account{UID: 1}, Since: s.Now, Expected: time.Hour, Count: 1}
			b.ReportAllocs()
			for b.Loop() {
				q.Push(w)
				q.Remove(w.ID)
			}
		})
	}
}
