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

// What a job lacks of its promise counts against what is free, and the one that
// lacks most is short of it.
func TestShortOfPromisedMemory(t *testing.T) {
	has := func(id job.ID, promise, uses int64, stop job.StopCause) gpuUse {
		l := &trackedJob{job: &job.Job{ID: id, State: job.Running}}
		l.job.Stop = stop
		return gpuUse{l: l, ref: &job.Allocation{GPU: contract.GPU{Milli: 500, PromiseBytes: promise}}, use: &job.GPUNow{UsedBytes: uses}}
	}
	for name, c := range map[string]struct {
		free  uint64
		parts []gpuUse
		want  job.ID
	}{
		"enough":          {5, []gpuUse{has(1, 10, 5, "")}, 0},
		"too little":      {4, []gpuUse{has(1, 10, 5, "")}, 1},
		"the most":        {4, []gpuUse{has(1, 10, 9, ""), has(2, 10, 5, ""), has(3, 10, 7, "")}, 2},
		"the first":       {4, []gpuUse{has(1, 10, 5, ""), has(2, 10, 5, "")}, 1},
		"over its own":    {0, []gpuUse{has(1, 10, 15, "")}, 0},
		"unknown":         {0, []gpuUse{has(1, 10, -1, "")}, 0},
		"soon enough":     {0, []gpuUse{has(1, 10, 5, ""), has(2, 10, 5, job.StopCancel)}, 0},
		"soon too little": {0, []gpuUse{has(1, 10, 5, ""), has(2, 10, 4, job.StopCancel)}, 1},
	} {
		d := &device{Device: gpu.Device{MemFreeBytes: c.free}}
		if got := shortestJob(d, c.parts); got != c.want {
			t.Errorf("%s: job %d is short, want %d", name, got, c.want)
		}
	}
}

// The worst is furthest over its own budget, whoever uses most.
func TestWorstOverItsBudget(t *testing.T) {
	over := func(id job.ID, promise, uses int64) gpuUse {
		use := &job.GPUNow{UsedBytes: uses, GPUUse: job.GPUUse{OverSince: noon, OverTold: noon, Over: time.Minute}}
		return gpuUse{l: &trackedJob{job: &job.Job{ID: id, State: job.Running}}, ref: &job.Allocation{GPU: contract.GPU{Milli: 500, PromiseBytes: promise}}, use: use}
	}
	b := &gpuBook{policy: &Policy{Usage: UsagePolicy{Memory: WarnAndStop, MemoryGrace: time.Minute}}}
	for name, w := range map[string]struct {
		parts []gpuUse
		want  job.ID
	}{
		"none":      {[]gpuUse{over(1, 10, 10)}, 0},
		"furthest":  {[]gpuUse{over(1, 10, 13), over(2, 20, 22)}, 1},
		"the first": {[]gpuUse{over(1, 10, 13), over(2, 20, 23)}, 1},
	} {
		got := job.ID(0)
		if p := b.worstOffender(w.parts); p != nil {
			got = p.l.job.ID
		}
		if got != w.want {
			t.Errorf("%s: job %d, want %d", name, got, w.want)
		}
	}
	if p := over(1, 10, 0); !p.bounded() {
		t.Error("a job that uses no memory at present is not known to be within its budget")
	}
}

// A warning said enough if it told about a stop that comes now or later.
func TestWarningsSaidEnough(t *testing.T) {
	for _, c := range []struct {
		r       Response
		told, d time.Duration
		want    bool
	}{
		{WarnAndStop, -1, 0, true}, {WarnAndStop, 0, 0, false}, {WarnAndStop, 0, time.Minute, false}, {WarnAndStop, time.Minute, time.Minute, false},
		{WarnAndStop, time.Hour, time.Minute, true}, {Ignore, -1, 0, false},
	} {
		if got := c.r.breaks(c.told, c.d); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// The time between two samples counts where it is known what was in between.
func TestSpanOfTwoSamples(t *testing.T) {
	for _, c := range []struct {
		stale, passed, want time.Duration
	}{
		{time.Minute, 30 * time.Second, 30 * time.Second}, {time.Minute, time.Minute, time.Minute},
		{time.Minute, time.Minute + 1, 0}, {time.Minute, -time.Second, 0}, {0, time.Hour, time.Hour},
	} {
		b := &gpuBook{policy: &Policy{StaleAfter: c.stale}}
		if got := b.span(noon, noon.Add(c.passed)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := (&gpuBook{}).span(time.Time{}, noon); got != 0 {
		t.Errorf("after no sample: %s", got)
	}
}

// The links are by position, both ways, and one to a GPU that is gone is left out.
func TestLinksBetweenGPUs(t *testing.T) {
	c := started(Policy{}, job.Restored{})
	for _, index := range []int{0, 2, 5} {
		c.gpus.devices = append(c.gpus.devices, &device{Device: gpu.Device{Index: index}})
	}
	near, far := gpu.Link{A: 0, B: 5, Kind: gpu.LinkNode}, gpu.Link{A: 2, B: 0, Kind: gpu.LinkCross}
	c.gpus.links = []gpu.Link{near, far, {A: 5, B: 7, Kind: gpu.LinkSwitch}, {A: 1, B: 2, Kind: gpu.LinkSwitch}}
	var s sched.Snapshot
	c.gpus.fillLinks(&s)
	n, f := int32(near.Weight()), int32(far.Weight())
	if want := []int32{0, f, n, f, 0, 0, n, 0, 0}; !slices.Equal(s.Links, want) {
		t.Errorf("%v, want %v", s.Links, want)
	}
	c.gpus.links = nil
	if c.gpus.fillLinks(&s); len(s.Links) != 0 {
		t.Errorf("without links: %v", s.Links)
	}
}

// A GPU is found by what it is, wherever it is now.
func TestPositionOfAGPU(t *testing.T) {
	c := &Core{gpus: gpuBook{devices: []*device{{Device: gpu.Device{UUID: "a"}}, {Device: gpu.Device{UUID: "b"}}}}}
	for _, w := range []struct {
		ref  job.Allocation
		want int
	}{
		{job.Allocation{GPU: contract.GPU{UUID: "a"}}, 0}, {job.Allocation{GPU: contract.GPU{UUID: "b", Index: 1}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "a", Index: 1}}, 0},
		{job.Allocation{GPU: contract.GPU{UUID: "b", Index: -1}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "b", Index: 7}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "c"}}, -1},
	} {
		if got := c.gpus.position(&w.ref); got != w.want {
			t.Errorf("%+v is at %d, want %d", w.ref, got, w.want)
		}
	}
}

// Of the reports that come before the GPUs are known the last of each kind on
// each GPU is kept, and no more than so many.
func TestEarlyReports(t *testing.T) {
	c := New(Policy{}, "boot1", job.Restored{})
	report := func(pci string, code int, seq uint64) {
		c.Step(Faulted{Boot: "boot1", Seq: seq, Xid: gpu.Xid{PCI: pci, Code: code}}, noon)
	}
	report("a", 31, 1)
	report("a", 48, 2)
	report("b", 31, 3)
	report("a", 31, 4)
	var seqs []uint64
	for _, e := range c.gpus.pendingFaults {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []uint64{2, 3, 4}) {
		t.Errorf("kept are those of lines %v", seqs)
	}
	for i := range 2 * maxPendingFaults {
		report("c", i, uint64(5+i))
	}
	if len(c.gpus.pendingFaults) != maxPendingFaults {
		t.Errorf("%d are kept", len(c.gpus.pendingFaults))
	}
}

// Processes that are on no GPU are remembered, also those of jobs that have ended,
// unless there are too many.
func TestForgottenMembers(t *testing.T) {
	on, off := process{1, 1}, process{2, 1}
	c := &Core{gpus: gpuBook{
		devices: []*device{{Device: gpu.Device{Processes: []gpu.Process{{PID: 1, Start: 1}}}}},
		members: map[process]membership{on: {job: 9}, off: {job: 9}},
	}}
	c.gpus.forgetMembers()
	if len(c.gpus.members) != 2 || c.gpus.members[on].job != 9 || c.gpus.members[off].job != 9 {
		t.Errorf("remembered are %v", c.gpus.members)
	}
	for pid := 10; len(c.gpus.members) < maxMembers; pid++ {
		c.gpus.members[process{pid, 1}] = membership{job: 7}
	}
	if c.gpus.forgetMembers(); len(c.gpus.members) != maxMembers {
		t.Errorf("of as many as may be %d are remembered", len(c.gpus.members))
	}
	c.gpus.members[process{3, 1}] = membership{job: 7}
	if c.gpus.forgetMembers(); len(c.gpus.members) != 1 || c.gpus.members[on].job != 9 {
		t.Errorf("of too many %d are remembered", len(c.gpus.members))
	}
}

// No process of an attempt began before it was placed, nor before its command but
// for a little.
func TestProcessesBeganWithTheirJob(t *testing.T) {
	for _, c := range []struct{ started, want time.Duration }{{5 * time.Second, 4 * time.Second}, {startSlack / 2, 0}, {-time.Hour, 0}} {
		l := &trackedJob{job: &job.Job{Attempt: &job.Attempt{PlacedAt: noon, StartedAt: noon.Add(c.started)}}}
		if got := l.began().Sub(noon); got != c.want {
			t.Errorf("started %s after its placement: not before %s", c.started, got)
		}
	}
}

// What root runs is the machine's, also where root's job left the GPU last.
func TestProcessesOfRootAreNoStrays(t *testing.T) {
	b := newGPUBook(&Policy{}, &jobBook{}, nil)
	for uid, want := range map[int]job.ID{0: 0, 1001: 7, 1002: 0} {
		owner := uid
		if uid == 1002 {
			owner = 1001
		}
		d := &device{cleanup: &cleanup{job: 7, attempt: 1, uid: owner, began: noon.Add(-time.Hour), since: noon, ended: span{noon, noon}}}
		p := &gpu.Process{PID: 5, UID: uid, Age: time.Minute}
		if got := b.jobOfStray(d, p, (&Sampled{}).began(p, noon), 0).job; got != want {
			t.Errorf("a process of %d is of job %d, want %d", uid, got, want)
		}
	}
}

// Where the clock was set back while no daemon was there, a job that left a GPU seems to have begun later. What
// its user has there then keeps the GPU back, and nothing is ended of which nobody knows when it began.
func TestStraysOfAnUnknownBeginning(t *testing.T) {
	gpuA := []job.Allocation{{GPU: contract.GPU{UUID: "a"}}}
	tracked := func(id job.ID, began time.Time) *trackedJob {
		return &trackedJob{id: id, lifetime: &lifetime{alive: noon}, job: &job.Job{ID: id, Owner: job.Owner{UID: 1001}, Attempt: &job.Attempt{Number: 1, PlacedAt: began, GPUs: gpuA}}}
	}
	p := gpu.Process{PID: 5, Start: 9, UID: 1001, Age: time.Minute}
	for _, c := range []struct {
		began time.Duration // after its end
		job   job.ID
		ended bool
	}{{-time.Second, 0, false}, {-time.Hour, 7, true}, {time.Hour, 7, false}} {
		b := &started(Policy{Strays: EndStrays}, job.Restored{}).gpus
		at := noon
		look := func(when string) {
			at = at.Add(time.Second)
			b.merge(gpu.Device{UUID: "a", Health: gpu.HealthOK, Processes: []gpu.Process{p}}, &Sampled{}, at)
			d := b.devices[0]
			if got := d.jobs[p.PID]; got != c.job || (d.cleanup == nil) != (c.job == 0) {
				t.Errorf("%+v: %s it is of job %d", c, when, got)
			}
			if d.cleanup != nil {
				b.endStrays(d, &Sampled{}, at)
			}
			b.noteStrays()
			is := func(f any) bool { _, is := f.(EndProcess); return is }
			if ended := slices.ContainsFunc(b.findings(), is); ended != c.ended {
				t.Errorf("%+v: %s it is ended: %t", c, when, ended)
			}
		}
		b.merge(gpu.Device{UUID: "a", Health: gpu.HealthOK}, &Sampled{}, noon)
		b.leave(tracked(7, noon.Add(c.began)), 1, noon)
		if c.job == 0 {
			b.devices[0].cleanup = nil // as a look without the process gives the GPU on
		}
		look("at first")
		if c.job != 0 {
			b.leave(tracked(8, noon), 2, at) // another part of the GPU
		}
		look("after a neighbour left")
		restarted := &started(Policy{Strays: EndStrays}, job.Restored{}).gpus
		for _, g := range b.controls {
			restarted.restore(g)
		}
		b = restarted
		look("after a restart")
	}
}

// What decides which GPUs serve a request makes another machine, nothing else does.
func TestAnotherMachine(t *testing.T) {
	seen := gpu.Device{Index: 1, UUID: "a", Name: "A100", MemTotalBytes: 80, Health: gpu.HealthOK}
	for name, w := range map[string]struct {
		change func(*gpu.Device)
		other  bool
	}{
		"nothing":  {func(*gpu.Device) {}, false},
		"load":     {func(g *gpu.Device) { g.UtilGPUPercent = 50 }, false},
		"index":    {func(g *gpu.Device) { g.Index = 3 }, true},
		"model":    {func(g *gpu.Device) { g.Name = "T4" }, true},
		"memory":   {func(g *gpu.Device) { g.MemTotalBytes = 40 }, true},
		"reserved": {func(g *gpu.Device) { g.MemReservedBytes = 1 }, true},
	} {
		c := started(Policy{}, job.Restored{})
		c.gpus.merge(seen, &Sampled{}, noon)
		before, now := c.gpus.inventoryVersion, seen
		w.change(&now)
		c.gpus.merge(now, &Sampled{}, noon)
		if (c.gpus.inventoryVersion != before) != w.other || len(c.gpus.devices) != 1 || c.gpus.devices[0].Index != now.Index {
			t.Errorf("%s: machine %d, then %d with %d GPUs", name, before, c.gpus.inventoryVersion, len(c.gpus.devices))
		}
	}
}

// What is in use by no process is held against a job that left where it is more than
// before, by more than a little. What nobody can tell is not.
func TestCleanGPU(t *testing.T) {
	c := started(Policy{MemSlackBytes: 5}, job.Restored{})
	for _, w := range []struct {
		base  int64
		used  uint64
		clean bool
	}{{0, 0, true}, {0, 5, true}, {0, 6, false}, {10, 15, true}, {10, 16, false}, {-1, 90, true}} {
		d := &device{Device: gpu.Device{MemTotalBytes: 100, MemUsedBytes: w.used, MemFreeBytes: 100 - w.used}, baselineBytes: w.base}
		if got := c.gpus.clean(d); got != w.clean {
			t.Errorf("%+v: %t", w, got)
		}
	}
}

// A job of which the driver says that it uses nothing has told what it uses.
func TestUntoldUse(t *testing.T) {
	for _, c := range []struct {
		of   job.ID
		used int64
		want bool
	}{{7, -1, true}, {7, 0, false}, {7, 5, false}, {0, -1, false}} {
		d := &device{Device: gpu.Device{Processes: []gpu.Process{{PID: 3, UsedBytes: c.used}}}, jobs: map[int]job.ID{3: c.of}}
		if got := d.untold(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// The start of a job that was read from disk is put where the unit's age has it by a
// steady clock, if there is one, so that setting the clock does not move it.
func TestStartBySteadyClock(t *testing.T) {
	steady := time.Now()
	for name, c := range map[string]struct {
		was, now time.Time
		want     time.Time
	}{
		"read":              {steady.Round(0).Add(-time.Minute), steady, steady.Add(-50 * time.Second)},
		"steady already":    {steady.Add(-time.Minute), steady, steady.Add(-time.Minute)},
		"no steady clock":   {steady.Round(0).Add(-time.Minute), steady.Round(0), steady.Round(0).Add(-time.Minute)},
		"the clock was set": {steady.Add(-time.Hour), steady, steady.Add(-50 * time.Second)},
	} {
		l := &trackedJob{job: &job.Job{State: job.Running, Attempt: &job.Attempt{StartedAt: c.was, PlacedAt: c.was.Add(-time.Second)}}}
		started(Policy{}, job.Restored{}).correctStart(l, 50*time.Second, c.now)
		if a := l.job.Attempt; a.StartedAt != c.want || a.StartedAt.Sub(a.PlacedAt) != time.Second {
			t.Errorf("%s: placed %s, started %s, want %s", name, a.PlacedAt, a.StartedAt, c.want)
		}
	}
}

// A job that fits, and that no plan has looked at, is being checked.
func TestReasonOfAJobThatFits(t *testing.T) {
	c := started(Policy{}, job.Restored{})
	c.plan(noon)
	l := &trackedJob{job: &job.Job{ID: 1, State: job.Queued}, account: c.accounts.of(job.Owner{UID: 1001}, nil)}
	if why := c.explain(l); len(why) != 1 || why[0].Code != job.ReasonChecking {
		t.Errorf("%+v", why)
	}
}
