package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// An administrator may have the scheduler start no job at all, those without a GPU
// included. On record that is the control of every GPU.

// drainAll begins or ends that.
func (b *gpuBook) drainAll(e Command, now time.Time) {
	g := job.GPUControl{UUID: job.EveryGPU, At: now, By: e.Who.User, Paused: e.What.Kind == job.CommandDrain}
	if g.Paused {
		g.Drain, g.Reason, g.Until = true, e.What.Reason, e.What.Until
	}
	b.control(g)
}

// closed is the order by which no job starts at the moment; nil: there is none.
func (b *gpuBook) closed(now time.Time) *job.GPUControl {
	g, ok := b.controls[job.EveryGPU]
	if !ok || !g.Paused || !g.Until.IsZero() && !now.Before(g.Until) {
		return nil
	}
	return &g
}

// drainedFor says of a waiting job that no job starts.
func (c *Core) drainedFor() []job.Reason {
	g := c.gpus.closed(time.Time{}) // its end has a tick of its own
	if g == nil {
		return nil
	}
	return []job.Reason{{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: g.Say()}}
}
