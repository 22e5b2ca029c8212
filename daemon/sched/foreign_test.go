package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// takenBy puts a foreign process on a GPU. The process uses the given memory and computes.
func (sc *scene) takenBy(bytes int64, gpu int) {
	g := &sc.s.GPUs[gpu]
	g.Foreign, g.ForeignComputes, g.Occupied = true, true, true
	g.ForeignBytes = bytes
	g.MemFreeBytes -= bytes
}

// If a job asks for whole GPUs and names no memory, it gets no GPU with a foreign process. Other
// jobs get such a GPU if the GPU has room.
func TestTakenGPU(t *testing.T) {
	for name, c := range map[string]struct {
		milli int
		ask   func(*job.Request)
		want  string
	}{
		"another is free":   {1000, func(*job.Request) {}, "start 1 on 1"},
		"that one":          {1000, func(r *job.Request) { r.GPUIDs = []int{0} }, "wait"},
		"both":              {2000, func(*job.Request) {}, "wait"},
		"memory":            {1000, func(r *job.Request) { r.GPUIDs, r.GPUMemBytes = []int{0}, 30*gib }, "start 1 on 0"},
		"more memory":       {1000, func(r *job.Request) { r.GPUIDs, r.GPUMemBytes = []int{0}, 50*gib }, "wait"},
		"a bound of use":    {1000, func(r *job.Request) { r.GPUIDs, r.MaxUsedPercent = []int{0}, 50 }, "start 1 on 0"},
		"a part":            {400, func(r *job.Request) { r.GPUIDs = []int{0} }, "start 1 on 400m of 0"},
		"a whole and a bit": {1400, func(*job.Request) {}, "start 1 on 400m of 0+1"},
		"a bound of load":   {1000, func(r *job.Request) { r.GPUIDs, r.MaxLoadPercent = []int{0}, 90 }, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 2)
			sc.takenBy(40*gib, 0)
			sc.queueJob(1, c.milli, asks(c.ask))
			sc.expect(c.want)
		})
	}
}

// If a foreign process keeps a GPU from a job, that GPU is not reserved for the job, since nobody
// knows when the process ends. Other jobs need not wait for that GPU.
func TestNothingKeptOnATakenGPU(t *testing.T) {
	sc := newScene(t, 2)
	sc.takenBy(10*gib, 0)
	sc.runJob(101, time.Hour, onGPUs(1)...)
	sc.queueJob(1, 2000)
	sc.queueJob(2, 1000, expected(5*time.Hour))
	sc.queueJob(3, 500, expected(5*time.Hour))
	sc.expect("start 3 on 500m of 0, keep 1 for 2 at +1h0m0s")
	if got := startsOf(sc.p.Forecast(&sc.s, sc.q, nil)); len(got) != 2 || got[3] != noon || got[2] != noon.Add(time.Hour) {
		t.Errorf("foretold: %v", got)
	}
	if got := sc.printReasons(sc.lastJob(2000)); got != "gpu-count, need 2 have 0; gpu-kept on 0, job 3; gpu-busy on 1, job 101" {
		t.Errorf("why: %s", got)
	}
	if got := Infeasible(&sc.s, nil, &job.Request{GPUMilli: 2000}); got != nil {
		t.Errorf("refused: %v", got)
	}
}

// No job is stopped for a waiting job that would not get the GPU anyway: a foreign process may use
// too much memory, occupy the GPU, or cause too much load. The load counts as foreign if no job is
// on the GPU, or if a foreign process computes there.
func TestPreemptionInVain(t *testing.T) {
	taken := func(sc *scene) { sc.takenBy(16*gib, 0) } // a fifth of the GPU's memory
	idle := func(sc *scene) { taken(sc); sc.s.GPUs[0].ForeignComputes, sc.s.GPUs[0].Occupied = false, false }
	for name, c := range map[string]struct {
		set   func(*scene)
		ask   func(*job.Request)
		stops bool
	}{
		"nobody there":               {func(*scene) {}, func(r *job.Request) { r.MaxUsedPercent, r.MaxLoadPercent = 10, 10 }, true},
		"taken":                      {taken, func(*job.Request) {}, false},
		"taken, memory asked":        {taken, func(r *job.Request) { r.GPUMemBytes = 60 * gib }, true},
		"more memory asked":          {taken, func(r *job.Request) { r.GPUMemBytes = 65 * gib }, false},
		"its memory is within":       {taken, func(r *job.Request) { r.MaxUsedPercent = 20 }, true},
		"its memory is not":          {taken, func(r *job.Request) { r.MaxUsedPercent = 19 }, false},
		"not within the site's":      {func(sc *scene) { idle(sc); sc.s.Policy.MaxUsedPercent = 19 }, func(*job.Request) {}, false},
		"less than the site's free":  {func(sc *scene) { idle(sc); sc.s.Policy.MinFreeBytes = 65 * gib }, func(*job.Request) {}, false},
		"as much as the site's free": {func(sc *scene) { idle(sc); sc.s.Policy.MinFreeBytes = 64 * gib }, func(*job.Request) {}, true},
		"loaded by the victim":       {idle, func(r *job.Request) { r.MaxLoadPercent = 10 }, true},
		"loaded by whom?":            {taken, func(r *job.Request) { r.MaxUsedPercent, r.MaxLoadPercent = 90, 10 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy.Slice, sc.s.Policy.ReservationDepth = 30*time.Minute, 0
			sc.s.GPUs[0].LoadPercent = 60
			sc.runPreemptible(101, class(job.Scavenger), Grant{GPU: 0, Milli: 1000, Bytes: 40 * gib})
			sc.s.GPUs[0].MemFreeBytes -= 40 * gib
			sc.s.GPUs[0].Held[0].SeenBytes = 40 * gib
			c.set(sc)
			sc.queueJob(1, 1000, asks(c.ask))
			want := "wait"
			if c.stops {
				want = "stop 101 for 1"
			}
			sc.expect(want)
		})
	}
}

// If no job is on a GPU, nothing is gained by stopping a job on another GPU: the load and the used
// memory of the first GPU remain.
func TestPreemptionInVainElsewhere(t *testing.T) {
	for name, set := range map[string]func(*GPU){
		"load":   func(g *GPU) { g.LoadPercent = 60 },
		"memory": func(g *GPU) { g.MemFreeBytes = 20 * gib },
	} {
		sc := newScene(t, 2)
		sc.s.Policy.Slice, sc.s.Policy.ReservationDepth = 30*time.Minute, 0
		sc.runPreemptible(101, class(job.Scavenger), onGPUs(1)...)
		set(&sc.s.GPUs[0])
		sc.queueJob(1, 2000, asks(func(r *job.Request) { r.MaxLoadPercent, r.MaxUsedPercent = 50, 50 }))
		if got := sc.plan(); got != "wait" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Limits of used memory do not apply to a GPU that has only host memory.
func TestUnifiedMemory(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.Slice, sc.s.Policy.MinFreeBytes, sc.s.Policy.MaxUsedPercent = 30*time.Minute, gib, 10
	g := &sc.s.GPUs[0]
	g.MemTotalBytes, g.MemFreeBytes, g.UsableBytes = 0, 0, 0
	g.Foreign, g.ForeignBytes = true, gib
	sc.queueJob(1, 500)
	sc.queueJob(2, 500)
	sc.expect("start 1 on 500m of 0, start 2 on 500m of 0")
	checkNever(t, Infeasible(&sc.s, nil, &job.Request{GPUMilli: 500, GPUMemBytes: 1}), "asks for 0.5 of a GPU with 1B of memory, and these GPUs use the host's memory, which can't be kept for a GPU")

	sc.q = NewQueue()
	sc.runPreemptible(101, class(job.Scavenger), onGPUs(0)...)
	sc.queueJob(3, 1000)
	sc.expect("keep 0 for 3 at +5h0m0s, stop 101 for 3")
}
