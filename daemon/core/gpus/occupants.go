package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Denied says why a job can't have the GPUs alone that it was given; nothing if it can.
func (b *inventory) Denied(refs []job.Allocation, now time.Time) job.Message {
	for i := range refs {
		ref := &refs[i]
		at := b.Position(ref)
		if at < 0 {
			return job.Say("detail/gpu-gone", ref.Index)
		}
		d := b.devices[at]
		switch state, _ := b.state(d, now); state {
		case sched.OK, sched.Paused, sched.Drained:
		default:
			return job.Say("detail/gpu-is", d.Index, state)
		}
		if r := b.occupants(d); ref.Share() == job.WholeGPU && (len(r.Foreign) > 0 || r.Have > 0) {
			return job.Say("detail/gpu-is", d.Index, r)
		}
	}
	return job.Message{}
}

// occupants are those who have a GPU on which nothing of a job has begun yet.
func (b *inventory) occupants(d *device) job.Reason {
	r := job.Reason{Code: job.ReasonGPUForeign, GPU: d.Index, Foreign: d.without(b.occupies)}
	if rest := b.unaccounted(d); rest > b.policy.MaxForeignBytes {
		r.Have = rest
	}
	return r
}

// TakenOutside reports whether a process from outside has an otherwise free GPU.
func (b *inventory) TakenOutside(at int, now time.Time) bool {
	g := b.schedGPU(b.devices[at], now)
	return g.Occupied && !b.jobs.Held(b.devices[at].UUID)
}
