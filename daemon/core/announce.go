package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// announceGPUs announces which GPUs have come into service or gone out of it. That jobs
// take them and leave them is announced with the jobs.
func (c *Core) announceGPUs(ev Event, now time.Time) {
	switch ev.(type) {
	case Sampled, Faulted, Command, Configured, Tick:
	default:
		return
	}
	b := &c.gpus
	for _, d := range b.devices {
		state, why := b.state(d, now)
		n := job.GPUNews{Index: d.Index, UUID: d.UUID, State: job.GPUState(state)}
		if state == sched.OK || state == sched.Cleaning {
			n.State, n.InService, why = "", true, job.Message{}
		}
		if n == b.announced[d.UUID] || d.UUID == "" {
			continue
		}
		b.announced[d.UUID] = n
		c.step.announce(job.Event{Kind: job.EventGPU, GPU: &n, By: b.controlledBy(d), Why: why})
	}
}

// controlledBy is who keeps jobs off a GPU.
func (b *gpuBook) controlledBy(d *device) string {
	if g := b.controls[d.UUID]; g.Paused {
		return g.By
	}
	return ""
}
