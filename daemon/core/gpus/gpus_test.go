package gpus

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

var midday = time.Date(2026, 1, 4, 12, 0, 0, 0, time.UTC)

// bookOf returns a book of GPUs that has seen no sample.
func bookOf(p site.Policy) *Book {
	jobs := tracked.NewBook(1)
	b := NewBook(&p, &jobs, func() string { return "boot1" })
	return &b
}

// An upgrade of the driver is noticed even if the driver has a problem: the upgrade may have caused
// the problem. An answer without the loaded version changes nothing.
func TestDriverDiffersWithAProblem(t *testing.T) {
	b := bookOf(site.Policy{})
	for i, c := range []struct {
		problem gpu.Problem
		driver  gpu.DriverVersions
		want    bool
	}{
		{gpu.ProblemInitFailed, gpu.DriverVersions{Loaded: "550.1", Installed: "560.1"}, true},
		{gpu.ProblemStale, gpu.DriverVersions{Installed: "560.1"}, true},
		{gpu.ProblemDriverMissing, gpu.DriverVersions{Loaded: "560.1", Installed: "560.1"}, false},
		{"", gpu.DriverVersions{Loaded: "550.1", Installed: "560.1"}, true},
		{"", gpu.DriverVersions{}, false}, // if the site wants no comparison, no versions are given
	} {
		b.Sampled(&Sample{Snap: gpu.Snapshot{Problem: c.problem}, Driver: c.driver}, midday)
		if got := b.DriverDiffers(); got != c.want {
			t.Errorf("sample %d: differs %v", i, got)
		}
	}
}

// The memory that was promised to jobs, and that they do not use yet, must be free. If too little
// is free, shortestJob returns the job that lacks the largest amount of its promised memory.
func TestShortOfPromisedMemory(t *testing.T) {
	has := func(id job.ID, promise, uses int64, stop job.StopCause) gpuUse {
		l := &tracked.Job{Job: &job.Job{ID: id, State: job.Running}}
		l.Stop = stop
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

// The worst job is the one that exceeds its own budget by the largest amount, even if another job
// uses more memory.
func TestWorstOverItsBudget(t *testing.T) {
	over := func(id job.ID, promise, uses int64) gpuUse {
		use := &job.GPUNow{UsedBytes: uses, GPUUse: job.GPUUse{OverSince: midday, OverWarned: midday, Over: time.Minute}}
		return gpuUse{l: &tracked.Job{Job: &job.Job{ID: id, State: job.Running}}, ref: &job.Allocation{GPU: contract.GPU{Milli: 500, PromiseBytes: promise}}, use: use}
	}
	b := &Book{inventory: inventory{policy: &site.Policy{Usage: site.UsagePolicy{Memory: site.WarnAndStop, MemoryGrace: time.Minute}}}}
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
			got = p.l.ID
		}
		if got != w.want {
			t.Errorf("%s: job %d, want %d", name, got, w.want)
		}
	}
	if p := over(1, 10, 0); !p.mayStop() {
		t.Error("a job that uses no memory at present is not known to be within its budget")
	}
}

// A new warning is not needed if an earlier one announced a stop after the same time or sooner.
func TestWarningsSuffice(t *testing.T) {
	for _, c := range []struct {
		r       site.Response
		told, d time.Duration
		want    bool
	}{
		{site.WarnAndStop, -1, 0, true}, {site.WarnAndStop, 0, 0, false}, {site.WarnAndStop, 0, time.Minute, false}, {site.WarnAndStop, time.Minute, time.Minute, false},
		{site.WarnAndStop, time.Hour, time.Minute, true}, {site.Ignore, -1, 0, false},
	} {
		if got := c.r.Breaks(c.told, c.d); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// The time between two samples counts only if they are close enough to show what happened in
// between.
func TestSpanOfTwoSamples(t *testing.T) {
	for _, c := range []struct {
		stale, passed, want time.Duration
	}{
		{time.Minute, 30 * time.Second, 30 * time.Second}, {time.Minute, time.Minute, time.Minute},
		{time.Minute, time.Minute + 1, 0}, {time.Minute, -time.Second, 0}, {0, time.Hour, time.Hour},
	} {
		b := &Book{inventory: inventory{policy: &site.Policy{StaleAfter: c.stale}}}
		if got := b.span(midday, midday.Add(c.passed)); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	if got := (&Book{}).span(time.Time{}, midday); got != 0 {
		t.Errorf("after no sample: %s", got)
	}
}

// Links are stored by the positions of their GPUs, in both directions. A link to a GPU that is gone
// is left out.
func TestLinksBetweenGPUs(t *testing.T) {
	b := bookOf(site.Policy{})
	for _, index := range []int{0, 2, 5} {
		b.devices = append(b.devices, &device{Device: gpu.Device{Index: index}})
	}
	near, far := gpu.Link{A: 0, B: 5, Kind: gpu.LinkNode}, gpu.Link{A: 2, B: 0, Kind: gpu.LinkCross}
	b.links = []gpu.Link{near, far, {A: 5, B: 7, Kind: gpu.LinkSwitch}, {A: 1, B: 2, Kind: gpu.LinkSwitch}}
	var s sched.Snapshot
	b.fillLinks(&s)
	n, f := int32(near.Weight()), int32(far.Weight())
	if want := []int32{0, f, n, f, 0, 0, n, 0, 0}; !slices.Equal(s.Links, want) {
		t.Errorf("%v, want %v", s.Links, want)
	}
	b.links = nil
	if b.fillLinks(&s); len(s.Links) != 0 {
		t.Errorf("without links: %v", s.Links)
	}
}

// A GPU is found by its UUID, whatever its position is now.
func TestPositionOfAGPU(t *testing.T) {
	b := &Book{inventory: inventory{devices: []*device{{Device: gpu.Device{UUID: "a"}}, {Device: gpu.Device{UUID: "b"}}}}}
	for _, w := range []struct {
		ref  job.Allocation
		want int
	}{
		{job.Allocation{GPU: contract.GPU{UUID: "a"}}, 0}, {job.Allocation{GPU: contract.GPU{UUID: "b", Index: 1}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "a", Index: 1}}, 0},
		{job.Allocation{GPU: contract.GPU{UUID: "b", Index: -1}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "b", Index: 7}}, 1}, {job.Allocation{GPU: contract.GPU{UUID: "c"}}, -1},
	} {
		if got := b.Position(&w.ref); got != w.want {
			t.Errorf("%+v is at %d, want %d", w.ref, got, w.want)
		}
	}
}

// Error reports may arrive before the GPUs are known. Then the last report of each kind is kept for
// each GPU, up to a bound.
func TestEarlyReports(t *testing.T) {
	b := bookOf(site.Policy{})
	report := func(pci string, code int, seq uint64) {
		b.Faulted(ErrorReport{Boot: "boot1", Seq: seq, Xid: gpu.Xid{PCI: pci, Code: code}})
	}
	report("a", 31, 1)
	report("a", 48, 2)
	report("b", 31, 3)
	report("a", 31, 4)
	var seqs []uint64
	for _, e := range b.pendingFaults {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []uint64{2, 3, 4}) {
		t.Errorf("kept are those of lines %v", seqs)
	}
	for i := range 2 * maxPendingFaults {
		report("c", i, uint64(5+i))
	}
	if len(b.pendingFaults) != maxPendingFaults {
		t.Errorf("%d are kept", len(b.pendingFaults))
	}
}

// Processes that are no longer on a GPU are remembered until there are too many, even those of
// ended jobs.
func TestForgottenMembers(t *testing.T) {
	on, off := process{1, 1}, process{2, 1}
	b := &Book{inventory: inventory{
		devices: []*device{{Device: gpu.Device{Processes: []gpu.Process{{PID: 1, Start: 1}}}}},
		members: map[process]membership{on: {job: 9}, off: {job: 9}},
	}}
	b.forgetMembers()
	if len(b.members) != 2 || b.members[on].job != 9 || b.members[off].job != 9 {
		t.Errorf("remembered are %v", b.members)
	}
	for pid := 10; len(b.members) < maxMembers; pid++ {
		b.members[process{pid, 1}] = membership{job: 7}
	}
	if b.forgetMembers(); len(b.members) != maxMembers {
		t.Errorf("of as many as may be %d are remembered", len(b.members))
	}
	b.members[process{3, 1}] = membership{job: 7}
	if b.forgetMembers(); len(b.members) != 1 || b.members[on].job != 9 {
		t.Errorf("of too many %d are remembered", len(b.members))
	}
}

// Root's processes belong to the machine, even if the last job that left the GPU was root's.
func TestRootsProcessesAreNotStrays(t *testing.T) {
	b := bookOf(site.Policy{})
	for uid, want := range map[int]job.ID{0: 0, 1001: 7, 1002: 0} {
		owner := uid
		if uid == 1002 {
			owner = 1001
		}
		d := &device{cleanup: &cleanup{job: 7, attempt: 1, uid: owner, began: midday.Add(-time.Hour), since: midday, ended: tracked.Interval{From: midday, To: midday}}}
		p := &gpu.Process{PID: 5, UID: uid, Age: time.Minute}
		if got := b.jobOfStray(d, p, (&Sample{}).beginSpan(p, midday), 0).job; got != want {
			t.Errorf("a process of %d is of job %d, want %d", uid, got, want)
		}
	}
}

// If the clock was set back while no daemon ran, a job that has left its GPU seems to have begun
// later than it did. Processes of the job's user on that GPU then keep the GPU out of service. A
// process is not killed if nobody knows when it began.
func TestStraysOfUnknownAge(t *testing.T) {
	gpuA := []job.Allocation{{GPU: contract.GPU{UUID: "a"}}}
	tracked := func(id job.ID, began time.Time) *tracked.Job {
		l := &tracked.Job{Job: &job.Job{ID: id, Owner: job.Owner{UID: 1001}, Attempt: &job.Attempt{Number: 1, PlacedAt: began, GPUs: gpuA}}}
		l.Lifetime().Alive = midday
		return l
	}
	p := gpu.Process{PID: 5, Start: 9, UID: 1001, Age: time.Minute}
	for _, c := range []struct {
		began time.Duration // the time from the job's end to the beginning of the process; it may be negative
		job   job.ID
		ended bool
	}{{-time.Second, 0, false}, {-time.Hour, 7, true}, {time.Hour, 7, false}} {
		b := bookOf(site.Policy{Strays: site.EndStrays})
		at := midday
		look := func(when string) {
			at = at.Add(time.Second)
			b.merge(gpu.Device{UUID: "a", Health: gpu.HealthOK, Processes: []gpu.Process{p}}, &Sample{}, at)
			d := b.devices[0]
			if got := d.jobs[p.PID]; got != c.job || (d.cleanup == nil) != (c.job == 0) {
				t.Errorf("%+v: %s it is of job %d", c, when, got)
			}
			if d.cleanup != nil {
				b.endStrays(d, &Sample{}, at)
			}
			b.NoteStrays()
			is := func(f any) bool { _, is := f.(StrayEnd); return is }
			if ended := slices.ContainsFunc(b.Findings(), is); ended != c.ended {
				t.Errorf("%+v: %s it is ended: %t", c, when, ended)
			}
		}
		b.merge(gpu.Device{UUID: "a", Health: gpu.HealthOK}, &Sample{}, midday)
		b.Leave(tracked(7, midday.Add(c.began)), 1, midday)
		if c.job == 0 {
			b.devices[0].cleanup = nil // as if a sample without the process had freed the GPU
		}
		look("at first")
		if c.job != 0 {
			b.Leave(tracked(8, midday), 2, at) // another job that shared the GPU leaves it
		}
		look("after a neighbour left")
		restarted := bookOf(site.Policy{Strays: site.EndStrays})
		for _, g := range b.controls {
			restarted.Restore(g)
		}
		b = restarted
		look("after a restart")
	}
}

// The version of the inventory changes if, and only if, there is a change in a fact that determines
// which GPUs suit a request.
func TestVersionChangesWithTheGPUs(t *testing.T) {
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
		b := bookOf(site.Policy{})
		b.merge(seen, &Sample{}, midday)
		before, now := b.inventoryVersion, seen
		w.change(&now)
		b.merge(now, &Sample{}, midday)
		if (b.inventoryVersion != before) != w.other || len(b.devices) != 1 || b.devices[0].Index != now.Index {
			t.Errorf("%s: machine %d, then %d with %d GPUs", name, before, b.inventoryVersion, len(b.devices))
		}
	}
}

// After a job has left a GPU, memory that no process uses counts against the job if it exceeds the
// memory in use before the job by more than the slack. If the use before the job is unknown,
// nothing counts.
func TestCleanGPU(t *testing.T) {
	b := bookOf(site.Policy{MemSlackBytes: 5})
	for _, w := range []struct {
		base  int64
		used  uint64
		clean bool
	}{{0, 0, true}, {0, 5, true}, {0, 6, false}, {10, 15, true}, {10, 16, false}, {-1, 90, true}} {
		d := &device{Device: gpu.Device{MemTotalBytes: 100, MemUsedBytes: w.used, MemFreeBytes: 100 - w.used}, baselineBytes: w.base}
		if got := b.isClean(d); got != w.clean {
			t.Errorf("%+v: %t", w, got)
		}
	}
}

// If the driver reports that a job uses no memory, the use counts as known.
func TestUnknownUse(t *testing.T) {
	for _, c := range []struct {
		of   job.ID
		used int64
		want bool
	}{{7, -1, true}, {7, 0, false}, {7, 5, false}, {0, -1, false}} {
		d := &device{Device: gpu.Device{Processes: []gpu.Process{{PID: 3, UsedBytes: c.used}}}, jobs: map[int]job.ID{3: c.of}}
		if got := d.useUnknown(); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// Fair share charges a job for its share of a GPU, or for its part of the GPU's memory if that is
// larger. Frameworks are told nine tenths of its budget.
func TestChargeOfAPart(t *testing.T) {
	b := &Book{inventory: inventory{policy: &site.Policy{Hints: true}, devices: []*device{{Device: gpu.Device{MemTotalBytes: 1000}}}}}
	for _, w := range []struct {
		grant               sched.Grant
		milli, charge, hint int
	}{
		{sched.Grant{Milli: 250, Bytes: 100}, 250, 250, 90}, {sched.Grant{Milli: 250, Bytes: 600}, 250, 600, 540},
		{sched.Grant{Milli: 10, Bytes: 1}, 10, 10, 1}, {sched.Grant{Milli: 1000, Bytes: 600}, 0, 0, 0},
	} {
		if got := b.Refs([]sched.Grant{w.grant})[0]; got.Milli != w.milli || got.ChargeMilli != w.charge || got.HintMilli != w.hint {
			t.Errorf("%+v: %d of it, charged as %d, frameworks are told %d", w.grant, got.Milli, got.ChargeMilli, got.HintMilli)
		}
	}
}

// The next sample of a GPU and the end of a pause are deadlines.
func TestDeadlinesOfGPUs(t *testing.T) {
	in := func(n int) time.Time { return midday.Add(time.Duration(n) * time.Minute) }
	b := bookOf(site.Policy{})
	b.devices = []*device{{Device: gpu.Device{UUID: "a"}}, {cleanup: &cleanup{next: in(1)}}}
	b.controls["a"] = job.GPUControl{UUID: "a", Paused: true, Until: in(8)}
	var list []time.Time
	b.Deadlines(func(at time.Time) {
		if !at.IsZero() {
			list = append(list, at)
		}
	})
	if want := []time.Time{in(8), in(1)}; !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

// A user with a thousand strangers gets one message, and the record of the GPU stays bounded. A
// user who starts further processes all the time gets one message a minute, and gains no time.
func TestManyStrangers(t *testing.T) {
	b := bookOf(site.Policy{Strangers: site.EndStrangers, StrangersAfter: 5 * time.Minute, FirstUID: 1000, DefaultGrace: 10 * time.Second})
	l := &tracked.Job{Job: &job.Job{ID: 7, State: job.Running, Owner: job.Owner{UID: 1001, User: "alice"}, Attempt: &job.Attempt{
		Number: 1, PlacedAt: midday, StartedAt: midday, GPUs: []job.Allocation{{GPU: contract.GPU{UUID: "a"}}},
	}}}
	b.jobs.Add(l)
	b.jobs.Sort(l)
	told, ended, now := 0, 0, midday
	look := func(first, n int) {
		now = now.Add(15 * time.Second)
		d := gpu.Device{UUID: "a", Health: gpu.HealthOK}
		for i := range n {
			d.Processes = append(d.Processes, gpu.Process{PID: first + i, Start: uint64(first + i), UID: 1002, Age: time.Second, Kind: gpu.KindCompute, UsedBytes: 1 << 30})
		}
		b.Sampled(&Sample{Snap: gpu.Snapshot{Devices: []gpu.Device{d}}}, now)
		b.MeetStrangers(now)
		b.StrangersTold(1002, now)
		for _, f := range b.Findings() {
			switch f := f.(type) {
			case StrangersFound:
				if told++; len(f.Processes) > 3 || f.Count < n {
					t.Errorf("the message is about %d processes and names %d", f.Count, len(f.Processes))
				}
			case StrayEnd:
				ended++
			}
		}
	}
	for range 4 {
		look(1000, 1000)
	}
	if told != 1 || len(b.controls["a"].Fault.Strangers) != maxStrangers {
		t.Errorf("told %d times, %d are on record", told, len(b.controls["a"].Fault.Strangers))
	}
	for i := range 40 { // for ten minutes, another process in each sample
		look(2000+i, 1)
	}
	if told < 10 || told > 12 || len(b.strangers.of) > 1100 {
		t.Errorf("told %d times in ten minutes, %d are remembered", told, len(b.strangers.of))
	}
	for range 5 { // this one stays, and is ended a minute after its message: the user's five minutes began long ago
		look(3000, 1)
	}
	look(3000, 1)
	if ended == 0 {
		t.Error("a program that starts again and again is never ended")
	}
	for range 45 {
		look(0, 0)
	}
	if len(b.strangers.of) != 0 || len(b.strangers.pace) != 0 {
		t.Errorf("%d are remembered after ten minutes", len(b.strangers.of))
	}
}

// A lost GPU whose memory nobody has read says nothing about the memory of the others: parked jobs
// return to these only if their copies fit.
func TestMemoryBesideALostGPU(t *testing.T) {
	own, lost := gpu.Device{UUID: "a", MemTotalBytes: 80 << 30}, gpu.Device{Index: 1, Health: gpu.HealthLost}
	onHost, node := gpu.Device{UUID: "a"}, own
	node.MemIsNode = true
	for i, c := range []struct {
		first gpu.Device
		want  bool
	}{{own, true}, {onHost, false}, {node, false}} {
		b := bookOf(site.Policy{})
		c.first.Health = gpu.HealthOK
		b.Sampled(&Sample{Snap: gpu.Snapshot{Devices: []gpu.Device{c.first, lost}}}, midday)
		if HaveMemory(b) != c.want {
			t.Errorf("machine %d: %v", i, !c.want)
		}
	}
}
