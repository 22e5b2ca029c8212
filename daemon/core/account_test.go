package core

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// Root is a user like others, and no group has its account.
func TestAccountsOfUsersAndGroups(t *testing.T) {
	q := job.Quotas{Default: job.Quota{GPUHours: 2}, Groups: map[string]job.Quota{"root": {Running: 1}}}
	l := newAccountBook(&Policy{Quotas: q}, []job.Usage{{Account: "u0", Micro: time.Hour.Microseconds(), At: noon}})
	root, group := l.of(job.Owner{User: "root"}, nil), l.group("root")
	if accountKey(root) != "u0" || accountKey(group) != "groot" {
		t.Errorf("they are recorded as %s and %s", accountKey(root), accountKey(group))
	}
	if root.MaxJobs != 0 || root.MaxUsage != 2*time.Hour || group.MaxJobs != 1 || group.MaxUsage != 0 {
		t.Errorf("their quotas are %+v and %+v", root, group)
	}
	if used := root.Used(sched.At(noon), 0); used != time.Hour {
		t.Errorf("root has used %s", used)
	}
	gids := job.GIDs{5, 7}
	if got := l.join(1001, gids); !slices.Equal(got, gids) || l.join(1001, nil) != nil || !slices.Equal(l.members(7), []int{1001}) {
		t.Errorf("%v, and then the members are %v", got, l.members(7))
	}
}

// The lane earns its part of the machine and pays for what guarded jobs hold.
func TestLaneEarnsAndPays(t *testing.T) {
	for name, c := range map[string]struct {
		gpus, milli  int
		credit, pass time.Duration
		want         time.Duration
	}{
		"nothing held":       {4, 0, -3 * time.Hour, time.Hour, -time.Hour},
		"no more than owed":  {4, 0, -time.Hour, time.Hour, 0},
		"less than its part": {4, 1000, -3 * time.Hour, time.Hour, -2 * time.Hour},
		"its part":           {4, 2000, -time.Hour, time.Hour, -time.Hour},
		"more than its part": {4, 3500, 0, 2 * time.Hour, -3 * time.Hour},
		"clock set back":     {4, 3500, -time.Hour, -time.Hour, -time.Hour},
		"no GPU known":       {0, 3500, -time.Hour, time.Hour, -time.Hour},
	} {
		l := starvationGuard{credit: c.credit, at: noon, milli: c.milli}
		l.advance(c.gpus, &sched.Policy{GuardPercent: 50}, noon.Add(c.pass))
		if l.credit != c.want || l.open() != (c.want == 0) || !l.at.Equal(noon.Add(max(0, c.pass))) {
			t.Errorf("%s: it owes %s, want %s, up to %s", name, -l.credit, -c.want, l.at)
		}
	}
}

// A guarded job that ends holds nothing of the lane any more.
func TestLaneIsGivenBack(t *testing.T) {
	c := started(Policy{}, job.Restored{})
	l := &trackedJob{job: &job.Job{Request: job.Request{GPUMilli: 2000}, Life: job.Life{Guarded: true}, Attempt: &job.Attempt{}}, account: &sched.Account{}}
	c.charge(l, noon)
	held := c.starvation.milli
	c.settle(l, noon)
	if held != 2000 || c.starvation.milli != 0 {
		t.Errorf("%d milli, at the end %d", held, c.starvation.milli)
	}
}

// What fair share counts of a part is its share, or the part of the memory where
// that is more.
func TestChargeOfAPart(t *testing.T) {
	c := &Core{gpus: gpuBook{policy: &Policy{}, devices: []*device{{Device: gpu.Device{MemTotalBytes: 1000}}}}}
	for _, w := range []struct {
		grant         sched.Grant
		milli, charge int
	}{
		{sched.Grant{Milli: 250, Bytes: 100}, 250, 250}, {sched.Grant{Milli: 250, Bytes: 600}, 250, 600},
		{sched.Grant{Milli: 1000, Bytes: 600}, 0, 0},
	} {
		if got := c.gpus.refs([]sched.Grant{w.grant})[0]; got.Milli != w.milli || got.ChargeMilli != w.charge {
			t.Errorf("%+v: %d of it, charged as %d", w.grant, got.Milli, got.ChargeMilli)
		}
	}
}

// A job is charged for the largest of its shares of GPUs, CPUs and host memory: who has
// all of one of them keeps all GPUs from others.
func TestChargeIsTheLargestShare(t *testing.T) {
	whole := func(n int) []job.Allocation { return make([]job.Allocation, n) }
	part := []job.Allocation{{GPU: contract.GPU{Milli: 250}, ChargeMilli: 600}}
	for name, w := range map[string]struct {
		devices int
		r       job.Request
		gpus    []job.Allocation
		want    int
	}{
		"GPUs":                     {8, job.Request{MemBytes: 125, CPUs: 8}, whole(2), 2000},
		"memory of a GPU":          {8, job.Request{}, part, 600},
		"all memory, no GPU":       {8, job.Request{MemBytes: 1000}, nil, 8000},
		"all CPUs, no GPU":         {8, job.Request{CPUs: 64}, nil, 8000},
		"more CPUs than there are": {8, job.Request{CPUs: 999}, nil, 8000},
		"a GPU and half the CPUs":  {8, job.Request{CPUs: 32, MemBytes: 100}, whole(1), 4000},
		"a little, rounded up":     {8, job.Request{MemBytes: 1}, nil, 8},
		"no GPU in the machine":    {0, job.Request{MemBytes: 500, CPUs: 16}, nil, 500},
		"nothing":                  {8, job.Request{}, nil, 0},
	} {
		c := &Core{policy: Policy{HostMemBytes: 1000, HostCPUs: 64}}
		c.gpus.devices = make([]*device, w.devices)
		if got := c.largestShare(&job.Job{Request: w.r, Attempt: &job.Attempt{GPUs: w.gpus}}); got != w.want {
			t.Errorf("%s: %d, want %d", name, got, w.want)
		}
		c.policy.HostMemBytes, c.policy.HostCPUs = 0, 0
		if got := c.largestShare(&job.Job{Request: w.r, Attempt: &job.Attempt{GPUs: w.gpus}}); got != gpuRate(w.gpus) {
			t.Errorf("%s, with a host that is not counted: %d", name, got)
		}
	}
	old := job.Job{Attempt: &job.Attempt{GPUs: part}}
	if got := rateOf(&old); got != (sched.Rate{GPU: 600, Charge: 600}) {
		t.Errorf("what is on record without a charge counts %v", got)
	}
}

// A job keeps its place, or goes to the end, or begins anew. What it ran counts as
// served, and not as waited for.
func TestSentBack(t *testing.T) {
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
		c := New(Policy{}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{j}})
		l := c.jobs.get(1)
		c.requeueAfter(l, how, noon)
		if l.job.State != job.Queued || l.job.Stop != "" || l.job.Requeues != 2 || !l.job.QueuedAt.Equal(want.since) || l.job.Served != want.served {
			t.Errorf("%d: %s, %d times, waits since %s, served %s", how, l.job.State, l.job.Requeues, l.job.QueuedAt, l.job.Served)
		}
	}
	if ranFor(&job.Job{}, noon) != 0 || ranFor(&job.Job{Attempt: &job.Attempt{PlacedAt: noon.Add(time.Hour)}}, noon) != 0 {
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
		core := &Core{policy: Policy{Predict: func(job.ID) time.Duration { return c.expected }}}
		r := job.Request{TimeLimit: job.Span(c.limit)}
		l := &trackedJob{job: &job.Job{State: job.Running, Request: r, Attempt: &job.Attempt{PlacedAt: noon.Add(-c.ran)}}}
		if got := core.endsAt(l, noon); got.Sub(noon) != c.want {
			t.Errorf("%+v: in %s", c, got.Sub(noon))
		}
		l.job.State = job.Queued
		if got := core.endsAt(l, noon); !got.IsZero() {
			t.Errorf("of a queued job it is said that it ends at %s", got)
		}
	}
}

// TestUnknownEnd: of a job like which none has ended only the limit is known.
func TestUnknownEnd(t *testing.T) {
	core := New(Policy{}, "boot1", job.Restored{NextID: 2})
	for limit, want := range map[time.Duration]time.Time{0: {}, time.Hour / 2: noon.Add(time.Hour / 2), 50 * time.Hour: noon.Add(50 * time.Hour)} {
		r := job.Request{GPUMilli: 1000, TimeLimit: job.Span(limit)}
		l := &trackedJob{job: &job.Job{State: job.Running, Request: r, Attempt: &job.Attempt{PlacedAt: noon}}, account: &sched.Account{UID: 1001}}
		if got := core.endsAt(l, noon); !got.Equal(want) {
			t.Errorf("with a limit of %s: %s, want %s", limit, got, want)
		}
	}
}

// A job that nobody knows is measured in vain; of others the peaks are kept.
func TestMeasuredPeaks(t *testing.T) {
	j := job.Job{ID: 1, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Running, Attempt: &job.Attempt{Number: 1, BootID: "boot1", InvocationID: "a"}}
	c := New(Policy{}, "boot1", job.Restored{NextID: 2, Jobs: []job.Job{j}})
	for _, peak := range []int64{5, 9, 7} {
		c.measured(Measured{Usage: []Usage{{Job: 8, HostUse: job.HostUse{PeakMemBytes: 99}}, {Job: 1, HostUse: job.HostUse{PeakMemBytes: peak, CPUTime: time.Duration(peak)}}}})
	}
	if a := c.jobs.get(1).job.Attempt; a.PeakMemBytes != 9 || a.CPUTime != 9 {
		t.Errorf("%d bytes, %s", a.PeakMemBytes, a.CPUTime)
	}
	for invocation, want := range map[string][]job.ID{"a": {8}, "b": {1, 8}} {
		if got := c.Unknown([]Unit{{Job: 1, Invocation: invocation}, {Job: 8}}); !slices.Equal(got, want) {
			t.Errorf("in invocation %s unknown are %v", invocation, got)
		}
	}
}

// Ids go on behind the highest that is on record.
func TestIDsGoOn(t *testing.T) {
	j := job.Job{ID: 5, Owner: job.Owner{UID: 1001, User: "alice"}, State: job.Queued, Life: job.Life{Held: "root"}}
	for next, want := range map[job.ID]job.ID{0: 6, 3: 6, 9: 9} {
		if c := New(Policy{}, "boot1", job.Restored{NextID: next, Jobs: []job.Job{j}}); c.jobs.nextID != want {
			t.Errorf("after job 5, with %d on record: %d, want %d", next, c.jobs.nextID, want)
		}
	}
}

// A moment is moved with the clock, unless the steady clock says where it is.
func TestMovedMoments(t *testing.T) {
	steady := time.Now()
	for name, c := range map[string]struct {
		at, now, want time.Time
	}{
		"none":       {time.Time{}, noon, time.Time{}},
		"read":       {noon, steady, noon.Add(time.Hour)},
		"steady":     {steady.Add(time.Minute), steady, steady.Add(time.Minute)},
		"not steady": {steady.Add(time.Minute), steady.Round(0), steady.Add(time.Minute + time.Hour)},
	} {
		if got := moved(c.at, time.Hour, c.now); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A task is bounded by what its array says now, not by what it said at the task's start.
func TestRestoredTasksHaveTheLimitOfTheirArray(t *testing.T) {
	asks := func(limit int) job.Request {
		return job.Request{Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}, Limit: limit}}
	}
	array := job.Job{ID: 1, State: job.Queued, Request: asks(0), Life: job.Life{Tasks: &job.Tasks{Next: 1, Live: 1}}}
	task := job.Job{
		ID: 2, State: job.Running, Request: asks(2), Attempt: &job.Attempt{Number: 1, BootID: "boot1", PlacedAt: noon},
		Life: job.Life{Task: &job.Task{Array: 1, Index: 0}},
	}
	c := New(Policy{}, "boot1", job.Restored{NextID: 3, Jobs: []job.Job{array, task}})
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// A job that waited from a moment to come, since the clock was set back while the daemon was away, waits from now on.
func TestNoWaitFromATimeToCome(t *testing.T) {
	now := time.Now()
	at := now.Add(time.Hour)
	j := job.Job{ID: 1, State: job.Queued, SubmittedAt: at, ChangedAt: at, Life: job.Life{QueuedAt: at}}
	j.Request.GPUMilli = 1000 // there is no GPU
	c := New(Policy{}, "boot1", job.Restored{Jobs: []job.Job{j}})
	c.Step(Listed{Boot: "boot1"}, now)
	if got := c.jobs.get(1).job.QueuedAt; !got.Equal(now) {
		t.Errorf("it waits from %s on, %s is now", got, now)
	}
}
