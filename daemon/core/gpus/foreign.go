package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// foreignUse fills in what foreign processes use of a GPU.
func (b *inventory) foreignUse(d *device, g *sched.GPU) {
	for i := range d.Processes {
		p := &d.Processes[i]
		if d.jobs[p.PID] != 0 || p.ServesMPS() {
			continue
		}
		g.Foreign = true
		g.ForeignBytes += max(0, p.UsedBytes)
		g.ForeignComputes = g.ForeignComputes || p.Computes()
		g.Occupied = g.Occupied || b.occupiesGPU(p)
	}
	if b.unlistedMem(d) > 0 {
		g.Foreign, g.Occupied = true, true
	}
}

// unlistedMem returns the memory of a GPU that is used by processes which the driver does not list.
// If a foreign process may use that much, it returns 0. While a job has the GPU, or while the GPU
// is cleaned after a job, only the memory that was in use before the job counts: the rest may
// belong to the job.
func (b *inventory) unlistedMem(d *device) int64 {
	most := b.policy.MaxForeignBytes
	rest := b.unassignedMem(d)
	if rest > most && (d.cleanup != nil || b.jobs.Held(d.UUID)) {
		rest = min(rest, d.baselineBytes)
	}
	if most == 0 || rest <= most {
		return 0
	}
	return rest
}

// occupiesGPU reports whether a foreign process uses so much of a GPU that no job gets the GPU as a
// whole.
func (b *inventory) occupiesGPU(p *gpu.Process) bool {
	return b.policy.MaxForeignBytes > 0 && p.Occupies(b.policy.MaxForeignBytes)
}

// NameForeign adds the foreign processes on a GPU to reasons that concern the use of that GPU.
func (b *inventory) NameForeign(why []job.Reason) []job.Reason {
	for i := range why {
		switch why[i].Code {
		case job.ReasonGPUMemory, job.ReasonGPUUsed, job.ReasonGPULoad:
			if d := b.byIndex(why[i].GPU); d != nil {
				why[i].Foreign = d.foreigners()
				if why[i].Code == job.ReasonGPUMemory && d.useUnknown() {
					why[i].Detail = job.Say("detail/use-unknown")
				}
			}
		case job.ReasonGPUForeign:
			if d := b.byIndex(why[i].GPU); d != nil {
				why[i].Foreign, why[i].Have = d.foreignProcesses(b.occupiesGPU), b.unlistedMem(d)
			}
		}
	}
	return why
}

// useUnknown reports whether the driver fails to say how much memory some job on the GPU uses.
// Nobody then knows how much of the promised memory is in use.
func (d *device) useUnknown() bool {
	return slices.ContainsFunc(d.Processes, func(p gpu.Process) bool { return d.jobs[p.PID] != 0 && p.UsedBytes < 0 })
}

// foreigners returns the foreign processes that use the most memory of the GPU, at most MaxForeign.
// The list is made once for each sample. Callers must not change it.
func (d *device) foreigners() []job.Foreign {
	if d.outside != nil {
		return d.outside
	}
	d.outside = d.foreignProcesses(func(*gpu.Process) bool { return true })
	return d.outside
}

// foreignProcesses is like foreigners, but considers only processes for which the function keep
// returns true.
func (d *device) foreignProcesses(keep func(*gpu.Process) bool) []job.Foreign {
	list := []job.Foreign{}
	for i := range d.Processes {
		if p := &d.Processes[i]; d.jobs[p.PID] == 0 && !p.ServesMPS() && keep(p) {
			list = append(list, job.Foreign{PID: p.PID, UID: p.UID, Bytes: p.UsedBytes})
		}
	}
	slices.SortStableFunc(list, func(a, b job.Foreign) int { return int(max(-1, min(1, b.Bytes-a.Bytes))) })
	return list[:min(len(list), job.MaxForeign)]
}

// Denied returns the reason why a placed job can't start on its GPUs, such as foreign processes. If
// it can, the reason is zero.
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

// occupants returns the foreign processes on a GPU that was assigned to a job, before the job
// begins.
func (b *inventory) occupants(d *device) job.Reason {
	r := job.Reason{Code: job.ReasonGPUForeign, GPU: d.Index, Foreign: d.foreignProcesses(b.occupiesGPU)}
	if rest := b.unassignedMem(d); rest > b.policy.MaxForeignBytes {
		r.Have = rest
	}
	return r
}

// TakenOutside reports whether a foreign process occupies a GPU that no job holds.
func (b *inventory) TakenOutside(at int, now time.Time) bool {
	g := b.schedGPU(b.devices[at], now)
	return g.Occupied && !b.jobs.Held(b.devices[at].UUID)
}
