package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// snapshot is the core as placement sees it. Waiting shares the queue.
func (c *Core) snapshot(now time.Time) sched.Snapshot {
	s := sched.Snapshot{Waiting: c.queue, Host: sched.Host{
		MemBytes: c.policy.HostMemBytes, MaxRunning: c.policy.MaxRunning,
		GPUsSeen: c.seen && c.problem == "",
	}}
	switch c.problem {
	case gpu.ProblemLibraryMissing, gpu.ProblemDriverMissing, gpu.ProblemUnsupported:
		s.Host.NoGPUs = c.problem.Sentence()
	}
	held := map[string]sched.Hold{}
	for _, l := range c.active {
		s.Host.Running++
		s.Host.PromisedMem += l.job.Request.MemBytes
		for _, r := range l.job.Attempt.GPUs {
			held[r.UUID] = sched.Hold{Job: l.job.ID, Milli: job.WholeGPU, PromiseBytes: l.job.Request.GPUMemBytes}
		}
	}
	for _, d := range c.devices {
		s.GPUs = append(s.GPUs, c.schedGPU(d, held, now))
	}
	return s
}

func (c *Core) schedGPU(d *device, held map[string]sched.Hold, now time.Time) sched.GPU {
	g := sched.GPU{
		Index: d.Index, Model: d.Name,
		MemTotalBytes: int64(d.MemTotalBytes), MemFreeBytes: int64(d.MemFreeBytes),
		Foreign: d.foreign(),
	}
	g.State, g.Detail = c.state(d, now)
	if d.after != nil {
		g.After = d.after.job
	}
	if h, ok := held[d.UUID]; ok {
		h.SeenBytes = d.seen(h.Job)
		g.Held = []sched.Hold{h}
	}
	return g
}

// foreign tells whether a process that belongs to no job is on the GPU.
func (d *device) foreign() bool {
	for _, p := range d.Processes {
		if d.jobs[p.PID] == 0 {
			return true
		}
	}
	return false
}

// seen is the GPU memory that a job was last seen to use on the GPU.
func (d *device) seen(id job.ID) int64 {
	sum := int64(0)
	for _, p := range d.Processes {
		if d.jobs[p.PID] == id {
			sum += max(0, p.UsedBytes)
		}
	}
	return sum
}

// pass plans and carries out the plan. A placement that rests on free GPU
// memory waits for a fresh look at it, and so does everything behind it.
func (c *Core) pass(now time.Time) {
	if !c.listed || len(c.queue) == 0 {
		return
	}
	snap := c.snapshot(now)
	for _, p := range sched.Plan(&snap) {
		l := c.jobs[p.Job]
		if l.job.Request.GPUMemBytes > 0 && now.Sub(c.taken) > c.policy.FreshFor {
			c.look()
			return
		}
		c.place(l, p.GPUs, now)
	}
}

func (c *Core) place(l *live, positions []int, now time.Time) {
	number := 1
	if l.job.Attempt != nil {
		number = l.job.Attempt.Number + 1
	}
	c.move(l, job.Starting, now)
	c.replan = false
	l.job.Stop, l.job.StopBy = "", ""
	l.job.Attempt = &job.Attempt{Number: number, GPUs: c.refs(positions), BootID: c.boot, PlacedAt: now}
	for _, at := range positions {
		c.devices[at].base = c.devices[at].unaccounted()
	}
	c.start(l)
}

func (c *Core) refs(positions []int) []job.GPURef {
	refs := make([]job.GPURef, 0, len(positions))
	for _, at := range slices.Sorted(slices.Values(positions)) {
		d := c.devices[at]
		refs = append(refs, job.GPURef{UUID: d.UUID, Index: d.Index, Minor: d.Minor})
	}
	return refs
}
