package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// checkJustified checks invariant 10: a job is stopped for its use of GPUs only if the last sample
// shows the reason, and only after a warning. If the reason is GPU memory, there must also be
// another job that lacks a part of the memory that it was promised.
func (w *world) checkJustified(j *job.Job) {
	switch j.Stop {
	case job.StopGPUMem:
		if why := w.noBreach(j); why != "" {
			w.fault("job %d is stopped for its GPU memory: %s", j.ID, why)
		}
	case job.StopIdle:
		if why := w.notIdle(j); why != "" {
			w.fault("job %d is stopped for idling: %s", j.ID, why)
		}
	}
}

func (w *world) shown(uuid string) *gpu.Device {
	i := slices.IndexFunc(w.sampled.Devices, func(d gpu.Device) bool { return d.UUID == uuid })
	if w.sampled.Problem != "" || i < 0 || w.sampled.Devices[i].Health != gpu.HealthOK {
		return nil
	}
	return &w.sampled.Devices[i]
}

// useOf returns what a job uses of a GPU by the last sample. If the memory is unknown, the result
// bytes is -1.
func useOf(d *gpu.Device, id job.ID) (bytes int64, processes int) {
	for _, p := range d.Processes {
		if p.Unit == fmt.Sprintf("gpujob-%d.service", id) {
			if p.UsedBytes < 0 {
				return -1, processes + 1
			}
			bytes, processes = bytes+p.UsedBytes, processes+1
		}
	}
	return bytes, processes
}

// noteSample notes the last sample. It counts the samples in a row that show a GPU short of memory,
// or a job over its budget.
func (w *world) noteSample(s gpu.Snapshot) {
	w.sampled = s
	for _, g := range w.gpus {
		if d := w.shown(g.UUID); d != nil && w.owedMemory(d) > int64(d.MemFreeBytes) {
			w.shorts[g.UUID]++
		} else {
			w.shorts[g.UUID] = 0
		}
	}
	for id, j := range w.jobs {
		if !j.State.Live() {
			continue
		}
		for _, r := range j.Attempt.GPUs {
			key := fmt.Sprint(id, r.UUID)
			if d := w.shown(r.UUID); d == nil {
				continue
			} else if used, _ := useOf(d, id); used > r.PromiseBytes {
				w.overs[key]++
			} else if used >= 0 {
				w.overs[key] = 0
			}
		}
	}
}

func (w *world) noBreach(j *job.Job) string {
	at := slices.IndexFunc(j.Attempt.GPUs, func(r job.Allocation) bool { return r.Index == j.Breach.GPU })
	if w.policy.Usage.Memory != site.WarnAndStop || at < 0 {
		return "nobody wants that"
	}
	ref := &j.Attempt.GPUs[at]
	d := w.shown(ref.UUID)
	if d == nil {
		return "the GPU is not in the last sample"
	}
	if used, _ := useOf(d, j.ID); ref.Milli == 0 || used <= ref.PromiseBytes {
		return fmt.Sprintf("it uses %d of %d", used, ref.PromiseBytes)
	}
	if n := w.overs[fmt.Sprint(j.ID, ref.UUID)]; n < 2 {
		return fmt.Sprintf("%d samples showed that", n)
	}
	if ref.Use.OverWarned.IsZero() || ref.Use.Over < w.policy.Usage.MemoryGrace {
		return "it was not warned, or not long ago"
	}
	if owed := w.owedMemory(d); owed <= int64(d.MemFreeBytes) {
		return fmt.Sprintf("the others lack %d, and %d is free", owed, d.MemFreeBytes)
	}
	if n := w.shorts[ref.UUID]; n < 2 {
		return fmt.Sprintf("%d samples showed that others are short", n)
	}
	return ""
}

// owedMemory returns the memory that was promised to the jobs on a GPU and that they do not use.
func (w *world) owedMemory(d *gpu.Device) (owed int64) {
	for id, j := range w.jobs {
		if !j.State.Live() {
			continue
		}
		for _, r := range j.Attempt.GPUs {
			if used, _ := useOf(d, id); r.UUID == d.UUID && r.Milli != 0 && used >= 0 {
				owed += max(0, r.PromiseBytes-used)
			}
		}
	}
	return owed
}

func (w *world) notIdle(j *job.Job) string {
	p := w.policy.Usage
	if p.Idle != site.WarnAndStop {
		return "nobody wants that"
	}
	for _, r := range j.Attempt.GPUs {
		d := w.shown(r.UUID)
		if d == nil {
			return "a GPU is not in the last sample"
		}
		if used, n := useOf(d, j.ID); n > 0 && (used < 0 || d.UtilGPUPercent != 0) {
			return fmt.Sprintf("GPU %d is used", r.Index)
		}
		if u := r.Use; u.IdleWarned < p.IdleAfter || u.Idle < u.IdleWarned+p.IdleGrace {
			return fmt.Sprintf("GPU %d was idle for %s, warned at %s", r.Index, u.Idle, u.IdleWarned)
		}
	}
	return ""
}

// jumps are the times by which the clock may move between two samples.
var jumps = []time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second, 15 * time.Second, 0, 10 * time.Minute, -30 * time.Second}

// occupy makes a job or a foreign process use memory of a GPU, or compute on a GPU.
func (c *chaos) occupy() {
	if len(c.gpus) == 0 {
		return
	}
	index := c.draw("gpu", 0, len(c.gpus)-1)
	c.gpus[index].UtilGPUPercent = rapid.SampledFrom([]int{0, 0, 0, 50, -1}).Draw(c.t, "util")
	bytes := rapid.SampledFrom([]int64{-2, -1, 0, 5 * gib, 12 * gib, 30 * gib, 60 * gib, 80 * gib}).Draw(c.t, "takes")
	id := job.ID(c.draw("who", 0, len(c.jobs)))
	if u := c.units[id]; u != nil && slices.Contains(u.gpus, index) && u.Phase != core.Exited {
		c.hold(index, 1000+int(id), fmt.Sprintf("gpujob-%d.service", id), bytes)
	} else if id == 0 {
		c.hold(index, 77, "", bytes)
	}
	for range c.draw("looks", 1, 4) {
		c.now = c.now.Add(rapid.SampledFrom(jumps).Draw(c.t, "later"))
		c.feed(c.sample(0))
	}
}

// TestStopsAreJustified runs jobs that share GPUs, and foreign processes. They use random amounts
// of memory, and faults happen meanwhile. checkJustified checks each stop.
func TestStopsAreJustified(t *testing.T) {
	stops := map[job.StopCause]int{}
	rapid.Check(t, func(t *rapid.T) {
		c := newChaos(t, rapid.IntRange(1, 2).Draw(t, "machine"))
		c.policy.Usage = site.UsagePolicy{Memory: site.WarnAndStop, Tolerance: gib, MemoryGrace: 5 * time.Second, Idle: site.WarnAndStop, IdleAfter: 15 * time.Second, IdleGrace: 5 * time.Second}
		c.policy.Quotas = job.Quotas{}
		c.restart()
		for i := range rapid.IntRange(2, 5).Draw(t, "jobs") {
			r := job.Request{GPUMilli: rapid.SampledFrom([]int{250, 250, 500, 1500}).Draw(t, "gpus"), GPUMemBytes: int64(rapid.IntRange(1, 4).Draw(t, "promise")) * 10 * gib}
			r.GPUMilli = min(r.GPUMilli, len(c.gpus)*job.WholeGPU)
			c.step(core.Submit{Token: core.Token(1000 + i), Submission: job.Submission{Owner: job.Owner{UID: 1001}, Label: job.Label{Name: "j"}, Request: r}}, -1)
			c.settle()
		}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			c.misuse()
			c.check()
		}
		for _, j := range c.jobs {
			stops[j.Stop]++
		}
	})
	t.Log(stops)
	if !testing.Short() && (stops[job.StopGPUMem] == 0 || stops[job.StopIdle] == 0) {
		t.Errorf("the test has no grip: %v", stops)
	}
}

// misuse is one step of TestStopsAreJustified.
func (c *chaos) misuse() {
	switch c.draw("step", 0, 12) {
	case 0:
		c.changeReport()
	case 1:
		c.restart()
	case 2:
		c.answerOne()
	case 3:
		c.gpus[c.draw("gpu", 0, len(c.gpus)-1)].Processes = nil
	default:
		c.occupy()
	}
}
