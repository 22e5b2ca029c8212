package accounts

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

var sunday = time.Date(2026, 1, 4, 12, 0, 0, 0, time.UTC)

// bookWith returns a book of accounts with one record, on a machine with n GPUs.
func bookWith(p site.Policy, n int) *Book {
	jobs, sample := tracked.NewBook(1), gpus.Sample{Number: 1}
	for i := range n {
		sample.Snap.Devices = append(sample.Snap.Devices, gpu.Device{Index: i, UUID: string(rune('a' + i)), Health: gpu.HealthOK})
	}
	devices := gpus.NewBook(&p, &jobs, func() string { return "boot1" })
	devices.Sampled(&sample, sunday)
	b := NewBook(&p, &jobs, &devices, Shell{
		Listed: func() bool { return true }, Record: func(job.Record) {}, Mark: func(*tracked.Job) {},
		RanUntil: func(_ *tracked.Job, now time.Time) time.Time { return now },
	}, []job.Usage{{Account: "u0", Micro: time.Hour.Microseconds(), At: sunday}})
	return &b
}

// Root has an account like other users, and no group has the account of a user with the same name.
func TestAccountsOfUsersAndGroups(t *testing.T) {
	q := job.Quotas{Default: job.Quota{GPUHours: 2}, Groups: map[string]job.Quota{"root": {Running: 1}}}
	l := bookWith(site.Policy{Quotas: q}, 0)
	root, group := l.Of(job.Owner{User: "root"}, nil), l.group("root")
	if keyOf(root) != "u0" || keyOf(group) != "groot" {
		t.Errorf("they are recorded as %s and %s", keyOf(root), keyOf(group))
	}
	if root.MaxJobs != 0 || root.MaxUsage != 2*time.Hour || group.MaxJobs != 1 || group.MaxUsage != 0 {
		t.Errorf("their quotas are %+v and %+v", root, group)
	}
	if used := root.Used(sched.At(sunday), 0); used != time.Hour {
		t.Errorf("root has used %s", used)
	}
	gids := job.GIDs{5, 7}
	if got := l.Join(1001, gids); !slices.Equal(got, gids) || l.Join(1001, nil) != nil || !slices.Equal(l.Members(7), []int{1001}) {
		t.Errorf("%v, and then the members are %v", got, l.Members(7))
	}
}

// The lane earns its part of the machine's time, and pays for what guarded jobs hold.
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
		b := bookWith(site.Policy{Sched: sched.Policy{GuardPercent: 50}}, c.gpus)
		b.lane = bucket{credit: c.credit, at: sunday, milli: c.milli}
		b.advance(sunday.Add(c.pass))
		if l := b.lane; l.credit != c.want || !l.at.Equal(sunday.Add(max(0, c.pass))) {
			t.Errorf("%s: it owes %s, want %s, up to %s", name, -l.credit, -c.want, l.at)
		}
	}
}

// Stops may cost 3 % of the GPU time that jobs have, up to what a day can bring. At first it is half
// of that.
func TestWhatStopsMayCost(t *testing.T) {
	b := bookWith(site.Policy{}, 4)
	l := &tracked.Job{Job: &job.Job{Request: job.Request{GPUMilli: 2000}, Attempt: &job.Attempt{}}, Account: &sched.Account{}}
	b.StartCharging(sunday)
	half, at := b.ForStops(sunday), sunday
	if half != 12*4*time.Hour*3/100 {
		t.Errorf("at first they may cost %s", half)
	}
	b.Charge(l, at)
	for _, c := range []struct{ passes, cost, want time.Duration }{
		{10 * time.Hour, 0, half + 36*time.Minute}, {0, 2 * time.Hour, half - 84*time.Minute}, {1000 * time.Hour, 0, 2 * half}, {-time.Hour, 0, 2 * half},
	} {
		at = at.Add(c.passes)
		b.PayStop(c.cost)
		if got := b.ForStops(at); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("after %s and %s of stops they may cost %s, want %s", c.passes, c.cost, got, c.want)
		}
	}
	if b.Settle(l, at); b.stops.milli != 0 {
		t.Errorf("the jobs hold %d milli in the end", b.stops.milli)
	}
	b = bookWith(site.Policy{MaxGrace: 10 * time.Hour, Sched: sched.Policy{RestartCost: time.Hour}}, 1)
	b.StartCharging(sunday)
	if half := b.ForStops(sunday); half != 21*time.Hour/2 {
		t.Errorf("where one stop can take 20 hours, stops may cost %s at first", half)
	}
}

// When a guarded job ends, the lane no longer pays for that job.
func TestEndedJobLeavesTheLane(t *testing.T) {
	b := bookWith(site.Policy{}, 0)
	l := &tracked.Job{Job: &job.Job{Request: job.Request{GPUMilli: 2000}, Life: job.Life{Guarded: true}, Attempt: &job.Attempt{}}, Account: &sched.Account{}}
	b.Charge(l, sunday)
	held := b.lane.milli
	b.Settle(l, sunday)
	if held != 2000 || b.lane.milli != 0 {
		t.Errorf("%d milli, at the end %d", held, b.lane.milli)
	}
}

// A job is charged for the largest of its shares of GPUs, CPUs and host memory. A job that has all
// of the CPUs, or all of the memory, keeps other jobs from all GPUs.
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
		b := bookWith(site.Policy{HostMemBytes: 1000, HostCPUs: 64}, w.devices)
		if got := b.LargestShare(&job.Job{Request: w.r, Attempt: &job.Attempt{GPUs: w.gpus}}); got != w.want {
			t.Errorf("%s: %d, want %d", name, got, w.want)
		}
		b.policy.HostMemBytes, b.policy.HostCPUs = 0, 0
		if got := b.LargestShare(&job.Job{Request: w.r, Attempt: &job.Attempt{GPUs: w.gpus}}); got != gpuRate(w.gpus) {
			t.Errorf("%s, with a host that is not counted: %d", name, got)
		}
	}
	old := job.Job{Attempt: &job.Attempt{GPUs: part}}
	if got := RateOf(&old); got != (sched.Rate{GPU: 600, Charge: 600}) {
		t.Errorf("what is on record without a charge counts %v", got)
	}
}

// While a job is parked, it is charged for its host memory, and for no GPU. It counts in quotas as
// before. With its GPUs, it is charged as before.
func TestParkedJobIsChargedForNoGPU(t *testing.T) {
	b := bookWith(site.Policy{HostMemBytes: 1000, HostCPUs: 64}, 8)
	recorded := 0
	b.shell.Record = func(job.Record) { recorded++ }
	j := &job.Job{ID: 7, Owner: job.Owner{UID: 1001}, State: job.Running, Request: job.Request{GPUMilli: 2000, MemBytes: 100}, Attempt: &job.Attempt{
		PlacedAt: sunday, GPUs: make([]job.Allocation, 2),
	}}
	l, at := &tracked.Job{Job: j, Account: b.Of(j.Owner, nil)}, sunday
	b.StartCharging(at)
	j.Guarded, j.Charge, j.Shared = true, b.LargestShare(j), 2500
	b.jobs.Add(l)
	b.jobs.Sort(l)
	b.Charge(l, at)
	for _, c := range []struct {
		park          job.ParkState
		bytes         int64
		want          sched.Rate
		held, records int
	}{
		{job.ParkTakes, 100, sched.Rate{GPU: 2000, Charge: 2500}, 2000, 0},
		{job.IsParked, 100, sched.Rate{Charge: 1600}, 0, 1},
		{job.ParkGives, 100, sched.Rate{GPU: 2000, Charge: 2000}, 2000, 1},
		{job.NotParked, 0, sched.Rate{GPU: 2000, Charge: 2000}, 2000, 0},
	} {
		gpu, charged := l.Account.GPUTime(sched.At(at), 0), l.Account.Used(sched.At(at), 0)
		recorded = 0
		b.ChangeHolding(l, func() { l.Park, l.ParkBytes = c.park, c.bytes }, at)
		if got := l.Account.Rate(); got != c.want || b.lane.milli != c.held || b.stops.milli != c.held || recorded != c.records {
			t.Errorf("%q: rate %+v, held %d, %d records", c.park, got, b.stops.milli, recorded)
		}
		mem, _ := l.Account.Promised()
		if mem != 100+c.bytes || l.Account.Milli != 2000 || l.Account.Jobs != 1 {
			t.Errorf("%q: %d bytes, %d milli, %d jobs count in quotas", c.park, mem, l.Account.Milli, l.Account.Jobs)
		}
		l.Weighed = l.Weight()
		b.Check(func(_ int, format string, args ...any) { t.Errorf("%q: "+format, append([]any{c.park}, args...)...) })
		at = at.Add(time.Hour)
		if got := l.Account.GPUTime(sched.At(at), 0) - gpu; got != time.Duration(c.want.GPU)*time.Hour/1000 {
			t.Errorf("%q: an hour takes %s of GPU time", c.park, got)
		}
		if got := l.Account.Used(sched.At(at), 0) - charged; got != time.Duration(c.want.Charge)*time.Hour/1000 {
			t.Errorf("%q: an hour is charged %s", c.park, got)
		}
	}
	if b.Settle(l, at); l.Account.Rate() != (sched.Rate{}) || b.stops.milli != 0 || b.lane.milli != 0 {
		t.Errorf("in the end the rate is %+v, and %d milli are held", l.Account.Rate(), b.stops.milli)
	}
}
