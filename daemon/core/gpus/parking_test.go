package gpus

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// onGPUs returns a running job that holds the given GPUs, and has the book know it.
func onGPUs(b *Book, id job.ID, uuids ...string) *tracked.Job {
	a := &job.Attempt{Number: 1, PlacedAt: midday, StartedAt: midday}
	for _, uuid := range uuids {
		a.GPUs = append(a.GPUs, job.Allocation{GPU: contract.GPU{UUID: uuid}})
	}
	j := &job.Job{ID: id, Owner: job.Owner{UID: 1001}, State: job.Running, Attempt: a}
	l := &tracked.Job{Job: j}
	b.jobs.Add(l)
	b.jobs.Sort(l)
	return l
}

// twoGPUs returns a sample of two GPUs. Process 5 of job 7 uses both, and process 4 the first one.
// Process 6 is nobody's.
func twoGPUs() *Sample {
	five := gpu.Process{PID: 5, Start: 50, UsedBytes: 100, UID: 1001, Kind: gpu.KindCompute, Age: time.Second}
	four, six := five, five
	four.PID, four.Start = 4, 40
	six.PID, six.UID = 6, 0
	return &Sample{
		Jobs: map[int]job.ID{5: 7, 4: 7},
		Snap: gpu.Snapshot{Devices: []gpu.Device{
			{Index: 0, UUID: "a", Health: gpu.HealthOK, Processes: []gpu.Process{five, four, six}},
			{Index: 1, UUID: "b", Health: gpu.HealthOK, Processes: []gpu.Process{five}},
		}},
	}
}

// A job can be parked only if all of its processes on its GPUs are known, each with its memory.
func TestGPUProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Sample)
		later  time.Duration
		known  bool
	}{
		"all known":        {func(*Sample) {}, time.Minute, true},
		"too old":          {func(*Sample) {}, time.Minute + 1, false},
		"a problem":        {func(e *Sample) { e.Snap.Problem = gpu.ProblemStale }, 0, false},
		"unlisted":         {func(e *Sample) { e.Snap.Devices[1].ProcessesUnknown = true }, 0, false},
		"lost":             {func(e *Sample) { e.Snap.Devices[1].Health = gpu.HealthLost }, 0, false},
		"gone":             {func(e *Sample) { e.Snap.Devices = e.Snap.Devices[:1] }, 0, false},
		"no start":         {func(e *Sample) { e.Snap.Devices[0].Processes[1].Start = 0 }, 0, false},
		"no use":           {func(e *Sample) { e.Snap.Devices[0].Processes[1].UsedBytes = -1 }, 0, false},
		"dead":             {func(e *Sample) { e.Snap.Devices[0].Processes[1].Dead = true }, 0, false},
		"outside its unit": {func(e *Sample) { delete(e.Jobs, 4) }, 0, false},
		"client of MPS":    {func(e *Sample) { e.Snap.Devices[0].Processes[1].Kind = "compute+mps" }, 0, false},
		"serves MPS": {func(e *Sample) {
			e.Snap.Devices[0].Processes[2].Unit = contract.MPSPrefix + "1001-0.service"
		}, 0, false},
	} {
		b := bookOf(site.Policy{StaleAfter: time.Minute, Strays: site.EndStrays})
		l := onGPUs(b, 7, "a", "b")
		e, at := twoGPUs(), midday.Add(time.Minute)
		b.Sampled(twoGPUs(), at) // while it ran, process 4 was in the unit
		c.change(e)
		b.Sampled(e, at)
		procs, bytes, known := b.GPUProcesses(l, at.Add(c.later))
		if known != c.known {
			t.Errorf("%s: known %t", name, known)
		}
		if want := []job.ParkedProcess{{PID: 4, Start: 40}, {PID: 5, Start: 50}}; known && (!slices.Equal(procs, want) || bytes != 300) {
			t.Errorf("%s: %v with %d bytes", name, procs, bytes)
		}
	}
}
