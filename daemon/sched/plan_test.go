package sched_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"pgregory.net/rapid"
)

const gib = int64(1) << 30

// drawSnapshot draws a machine and a queue.
func drawSnapshot(t *rapid.T) sched.Snapshot {
	var s sched.Snapshot
	models := []string{"NVIDIA A100-SXM4-80GB", "NVIDIA H100"}
	for i := range rapid.IntRange(0, 6).Draw(t, "gpus") {
		g := sched.GPU{
			Index: i, Model: rapid.SampledFrom(models).Draw(t, "model"),
			State:         rapid.SampledFrom([]sched.GPUState{sched.OK, sched.OK, sched.OK, sched.Paused, sched.Unknown, sched.Lost, sched.Cleaning, sched.Suspect}).Draw(t, "state"),
			MemTotalBytes: 80 * gib, MemFreeBytes: int64(rapid.IntRange(0, 80).Draw(t, "free")) * gib,
			Foreign: rapid.Bool().Draw(t, "foreign"),
		}
		if rapid.IntRange(0, 2).Draw(t, "held") == 0 {
			g.Held = []sched.Hold{{Job: job.ID(1000 + i), Milli: job.WholeGPU}}
		}
		s.GPUs = append(s.GPUs, g)
	}
	s.Host = sched.Host{
		MemBytes: 64 * gib, PromisedMem: int64(rapid.IntRange(0, 64).Draw(t, "promised")) * gib, GPUsSeen: true,
		Running: rapid.IntRange(0, 5).Draw(t, "running"), MaxRunning: rapid.IntRange(0, 8).Draw(t, "max"),
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "waiting") {
		r := &job.Request{
			GPUMilli: rapid.IntRange(0, 4).Draw(t, "asked") * job.WholeGPU,
			MemBytes: int64(rapid.IntRange(0, 30).Draw(t, "mem")) * gib,
		}
		if r.GPUMilli > 0 {
			r.GPUMemBytes = int64(rapid.IntRange(0, 80).Draw(t, "gpu-mem")) * gib
			r.GPUType = rapid.SampledFrom([]string{"", "a100", "h100"}).Draw(t, "type")
			if rapid.Bool().Draw(t, "from") {
				r.GPUsFrom = []int{0, 1, 2, 3}
			}
		}
		s.Waiting = append(s.Waiting, sched.Waiting{ID: job.ID(i + 1), Request: r})
	}
	return s
}

// apply carries a plan out on a copy of the snapshot and checks invariants 1
// to 4 on the way.
func apply(t *rapid.T, s sched.Snapshot, plan []sched.Placement) sched.Snapshot {
	s.GPUs = slices.Clone(s.GPUs)
	placed := map[job.ID]bool{}
	for _, p := range plan {
		at := slices.IndexFunc(s.Waiting, func(w sched.Waiting) bool { return w.ID == p.Job })
		r := s.Waiting[at].Request
		if placed[p.Job] || len(p.GPUs) != r.GPUMilli/job.WholeGPU || !slices.IsSorted(p.GPUs) || len(slices.Compact(slices.Clone(p.GPUs))) != len(p.GPUs) {
			t.Fatalf("job %d asks %d milli and gets %v", p.Job, r.GPUMilli, p.GPUs)
		}
		placed[p.Job] = true
		for _, pos := range p.GPUs {
			g := &s.GPUs[pos]
			if g.State != sched.OK || len(g.Held) > 0 || g.MemFreeBytes < r.GPUMemBytes || !sched.Qualifies(g, r) {
				t.Fatalf("job %d (%+v) is placed on %+v", p.Job, r, g)
			}
			g.Held = []sched.Hold{{Job: p.Job, Milli: job.WholeGPU}}
		}
		s.Host.Running++
		s.Host.PromisedMem += r.MemBytes
	}
	if s.Host.MaxRunning > 0 && s.Host.Running > max(s.Host.MaxRunning, 5) || (len(plan) > 0 && s.Host.PromisedMem > s.Host.MemBytes && memAsked(s, placed) > 0) {
		t.Fatalf("the host is over-promised: %+v", s.Host)
	}
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(w sched.Waiting) bool { return placed[w.ID] })
	return s
}

func memAsked(s sched.Snapshot, placed map[job.ID]bool) (sum int64) {
	for _, w := range s.Waiting {
		if placed[w.ID] {
			sum += w.Request.MemBytes
		}
	}
	return sum
}

// TestPlan holds capacity, gang, state and memory (invariants 1 to 4), work
// conservation (6), determinism, and that every job left over has a reason.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		plan := sched.Plan(&s)
		if again := sched.Plan(&s); !reflect.DeepEqual(plan, again) {
			t.Fatalf("the same snapshot gave %v and %v", plan, again)
		}
		after := apply(t, s, plan)
		if more := sched.Plan(&after); len(more) > 0 {
			t.Fatalf("a second pass places %v", more)
		}
		for _, w := range after.Waiting {
			if !blocked(sched.Explain(&after, w.Request), w.Request) {
				t.Fatalf("job %d waits for no reason: %+v", w.ID, w.Request)
			}
		}
	})
}

// blocked tells whether the reasons amount to not starting now.
func blocked(reasons []job.Reason, r *job.Request) bool {
	free := 0
	for _, why := range reasons {
		if why.GPU == job.NoGPU {
			return true
		}
		if why.Code == job.ReasonGPUFree {
			free++
		}
	}
	return free < r.GPUMilli/job.WholeGPU
}

// TestOrder holds invariant 5: with one GPU free the first that fits gets it.
func TestOrder(t *testing.T) {
	s := sched.Snapshot{
		GPUs: []sched.GPU{{Index: 0, State: sched.OK, MemTotalBytes: 80 * gib, MemFreeBytes: 80 * gib}},
		Waiting: []sched.Waiting{
			{ID: 7, Request: &job.Request{GPUMilli: 2000}},
			{ID: 3, Request: &job.Request{GPUMilli: 1000}},
			{ID: 4, Request: &job.Request{GPUMilli: 1000}},
		},
	}
	if got, want := fmt.Sprint(sched.Plan(&s)), "[{3 [0]}]"; got != want {
		t.Errorf("planned %s, want %s", got, want)
	}
}

// TestReasons has each reason that a GPU can give at least once.
func TestReasons(t *testing.T) {
	ask := func(change func(*job.Request)) *job.Request {
		r := &job.Request{GPUMilli: 1000}
		change(r)
		return r
	}
	plain := ask(func(*job.Request) {})
	for want, c := range map[job.ReasonCode]struct {
		gpu sched.GPU
		req *job.Request
	}{
		job.ReasonGPUBusy:     {sched.GPU{State: sched.OK, Held: []sched.Hold{{Job: 9}}}, plain},
		job.ReasonGPUPaused:   {sched.GPU{State: sched.Paused}, plain},
		job.ReasonGPUUnknown:  {sched.GPU{State: sched.Unknown}, plain},
		job.ReasonGPULost:     {sched.GPU{State: sched.Lost}, plain},
		job.ReasonGPUCleaning: {sched.GPU{State: sched.Cleaning, After: 9}, plain},
		job.ReasonGPUSuspect:  {sched.GPU{State: sched.Suspect, After: 9}, plain},
		job.ReasonGPUMemory:   {sched.GPU{State: sched.OK, MemTotalBytes: 80 * gib, MemFreeBytes: gib}, ask(func(r *job.Request) { r.GPUMemBytes = 2 * gib })},
		job.ReasonGPUExcluded: {sched.GPU{State: sched.OK}, ask(func(r *job.Request) { r.GPUIDs = []int{3} })},
		job.ReasonGPUType:     {sched.GPU{State: sched.OK, Model: "NVIDIA H100"}, ask(func(r *job.Request) { r.GPUType = "a100" })},
		job.ReasonGPUFree:     {sched.GPU{State: sched.OK}, plain},
	} {
		s := sched.Snapshot{GPUs: []sched.GPU{c.gpu}}
		got := sched.Explain(&s, c.req)
		if len(got) != 1 || got[0].Code != want {
			t.Errorf("want %s, got %+v", want, got)
		}
	}
	two := &job.Request{GPUMilli: 2000, MemBytes: 2}
	s := sched.Snapshot{GPUs: []sched.GPU{{State: sched.OK}}, Host: sched.Host{MemBytes: 1, MaxRunning: 1, Running: 1}}
	var codes []job.ReasonCode
	for _, r := range sched.Explain(&s, two) {
		codes = append(codes, r.Code)
	}
	want := []job.ReasonCode{job.ReasonMaxRunning, job.ReasonHostMemory, job.ReasonGPUCount, job.ReasonGPUFree}
	if !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
	none := sched.Explain(&sched.Snapshot{}, plain)
	if len(none) != 1 || none[0].Code != job.ReasonNoSample {
		t.Errorf("without a sample: %+v", none)
	}
}
