package core

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// withGPUs returns a core without units, on a machine with the given number of GPUs.
func withGPUs(p site.Policy, n int) *Core {
	c, snap := startedCore(p, job.Restored{}), gpu.Snapshot{}
	for i := range n {
		snap.Devices = append(snap.Devices, gpu.Device{Index: i, UUID: string(rune('a' + i)), Health: gpu.HealthOK})
	}
	c.Step(Sampled{Number: 1, Snap: snap}, noon)
	return c
}

// A requeued job keeps its place, goes to the end of the queue, or begins as if it were new. The
// time for which it ran never counts as waiting.
func TestRequeuedJobsKeepOrLoseTheirPlace(t *testing.T) {
	for how, want := range map[requeueAt]struct {
		since  time.Time
		served time.Duration
	}{
		samePlace: {noon.Add(-2 * time.Hour), 90 * time.Minute},
		tail:      {noon, 90 * time.Minute},
		fresh:     {noon, 0},
	} {
		j := job.Job{
			ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Ending, SubmittedAt: noon.Add(-3 * time.Hour),
			Attempt: &job.Attempt{Number: 1, BootID: "boot1", PlacedAt: noon.Add(-time.Hour), StartedAt: noon.Add(-time.Hour), EndedAt: noon}, Request: job.Request{GPUMilli: 1000},
			Life: job.Life{
				QueuedAt: noon.Add(-3 * time.Hour), Served: 30 * time.Minute, Requeues: 1,
				StopOrder: job.StopOrder{Stop: job.StopRequeue},
			},
		}
		c := New(site.Policy{}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{j}})
		l := c.jobs.Get(1)
		c.requeueAfter(l, how, noon)
		if l.State != job.Queued || l.Stop != "" || l.Requeues != 2 || !l.QueuedAt.Equal(want.since) || l.Served != want.served {
			t.Errorf("%d: %s, %d times, waits since %s, served %s", how, l.State, l.Requeues, l.QueuedAt, l.Served)
		}
	}
	if tracked.RanFor(&job.Job{}, noon) != 0 || tracked.RanFor(&job.Job{Attempt: &job.Attempt{PlacedAt: noon.Add(time.Hour)}}, noon) != 0 {
		t.Error("a job ran that had no GPUs yet")
	}
}

// A running job is expected to end at its limit at the latest.
func TestExpectedEnd(t *testing.T) {
	for _, c := range []struct{ ran, expected, limit, want time.Duration }{
		{time.Hour, 3 * time.Hour, 0, 2 * time.Hour}, {time.Hour, 3 * time.Hour, 5 * time.Hour, 2 * time.Hour},
		{time.Hour, 10 * time.Hour, 3 * time.Hour, 2 * time.Hour}, {2 * time.Hour, 10 * time.Hour, time.Hour, 0},
		{3 * time.Hour, time.Hour, 0, time.Hour},
	} {
		core := New(site.Policy{Predict: func(job.ID) time.Duration { return c.expected }}, "boot1", job.Restored{})
		r := job.Request{TimeLimit: job.Span(c.limit)}
		l := &tracked.Job{Job: &job.Job{State: job.Running, Request: r, Attempt: &job.Attempt{PlacedAt: noon.Add(-c.ran)}}}
		if got := core.endsAt(l, noon); got.Sub(noon) != c.want {
			t.Errorf("%+v: in %s", c, got.Sub(noon))
		}
		l.State = job.Queued
		if got := core.endsAt(l, noon); !got.IsZero() {
			t.Errorf("of a queued job it is said that it ends at %s", got)
		}
	}
}

// If no job of the same kind has ended, a job's end is known only if it has a limit.
func TestEndWithoutEstimateIsTheLimit(t *testing.T) {
	core := New(site.Policy{}, "boot1", job.Restored{NextID: 2})
	for limit, want := range map[time.Duration]time.Time{0: {}, time.Hour / 2: noon.Add(time.Hour / 2), 50 * time.Hour: noon.Add(50 * time.Hour)} {
		r := job.Request{GPUMilli: 1000, TimeLimit: job.Span(limit)}
		l := &tracked.Job{Job: &job.Job{State: job.Running, Request: r, Attempt: &job.Attempt{PlacedAt: noon}}, Account: &sched.Account{UID: 1001}}
		if got := core.endsAt(l, noon); !got.Equal(want) {
			t.Errorf("with a limit of %s: %s, want %s", limit, got, want)
		}
	}
}

// Peaks are kept for known jobs, and measurements of unknown jobs are ignored.
func TestMeasuredPeaks(t *testing.T) {
	j := job.Job{ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Running, Attempt: &job.Attempt{Number: 1, BootID: "boot1", InvocationID: "a"}}
	c := New(site.Policy{}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{j}})
	for _, peak := range []int64{5, 9, 7} {
		c.keepPeaks(Measured{Usage: []Usage{{Job: 8, HostUse: job.HostUse{PeakMemBytes: 99}}, {Job: 1, HostUse: job.HostUse{PeakMemBytes: peak, CPUTime: job.Span(peak)}}}}, time.Time{})
	}
	if a := c.jobs.Get(1).Attempt; a.PeakMemBytes != 9 || a.CPUTime != 9 {
		t.Errorf("%d bytes, %s", a.PeakMemBytes, a.CPUTime)
	}
	for _, want := range [][]job.ID{{1, 8}, {8}} {
		if got := c.Unknown([]job.ID{1, 8}); !slices.Equal(got, want) {
			t.Errorf("unknown are %v, want %v", got, want)
		}
		c.systemd.setListed()
	}
}

// New ids follow the highest id on record.
func TestIDsFollowTheHighestOnRecord(t *testing.T) {
	j := job.Job{ID: 5, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Queued, Life: job.Life{Held: "root"}}
	for next, want := range map[job.ID]job.ID{0: 6, 3: 6, 9: 9} {
		if c := New(site.Policy{}, "boot1", job.Restored{NextID: next, Jobs: []job.Job{j}}); c.jobs.Next() != want {
			t.Errorf("after job 5, with %d on record: %d, want %d", next, c.jobs.Next(), want)
		}
	}
}

// When the clock is set, a recorded time moves by the same amount, unless it has a monotonic
// reading.
func TestTimesMoveWithTheClock(t *testing.T) {
	steady := time.Now()
	for name, c := range map[string]struct {
		at, now, want time.Time
	}{
		"none":       {time.Time{}, noon, time.Time{}},
		"read":       {noon, steady, noon.Add(time.Hour)},
		"steady":     {steady.Add(time.Minute), steady, steady.Add(time.Minute)},
		"not steady": {steady.Add(time.Minute), steady.Round(0), steady.Add(time.Minute + time.Hour)},
	} {
		if got := job.Shifted(c.at, time.Hour, c.now); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A task is bounded by its array's present limit, not by the limit at the task's start.
func TestRestoredTasksHaveTheLimitOfTheirArray(t *testing.T) {
	asks := func(limit int) job.Request {
		return job.Request{Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}, Limit: limit}}
	}
	array := job.Job{ID: 1, State: job.Queued, Request: asks(0), Life: job.Life{Tasks: &job.Tasks{Next: 1, Live: 1}}}
	task := job.Job{
		ID: 2, State: job.Running, Request: asks(2), Attempt: &job.Attempt{Number: 1, BootID: "boot1", PlacedAt: noon},
		Life: job.Life{Task: &job.Task{Array: 1, Index: 0}},
	}
	c := New(site.Policy{}, "boot1", job.Restored{NextID: 3, Jobs: []job.Job{array, task}})
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// If the clock was set back while no daemon ran, a job's wait may begin in the future. Such a wait
// then begins now.
func TestNoWaitFromTheFuture(t *testing.T) {
	now := time.Now()
	at := now.Add(time.Hour)
	j := job.Job{ID: 1, State: job.Queued, SubmittedAt: at, ChangedAt: at, Life: job.Life{QueuedAt: at}}
	j.Request.GPUMilli = 1000 // there is no GPU
	c := New(site.Policy{}, "boot1", job.Restored{Jobs: []job.Job{j}})
	c.Step(Listed{Boot: "boot1"}, now)
	if got := c.jobs.Get(1).QueuedAt; !got.Equal(now) {
		t.Errorf("it waits from %s on, %s is now", got, now)
	}
}
