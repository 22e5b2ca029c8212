package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// foreignUse fills in the use of a GPU by foreign processes.
func (b *inventory) foreignUse(d *device, g *sched.GPU) {
	for i := range d.Processes {
		p := &d.Processes[i]
		if d.jobs[p.PID] != 0 {
			continue
		}
		g.Foreign = true
		g.ForeignBytes += max(0, p.UsedBytes)
		g.ForeignComputes = g.ForeignComputes || p.Computes()
		g.Occupied = g.Occupied || b.occupies(p)
	}
	if b.unlisted(d) > 0 {
		g.Foreign, g.Occupied = true, true
	}
}

// unlisted returns the memory of a GPU that is used by processes the driver does not list, if that
// is more than a foreign process may use; otherwise 0. While a job has the GPU, or its cleanup goes
// on, only memory that was in use before the job counts: the rest may be the job's.
func (b *inventory) unlisted(d *device) int64 {
	most := b.policy.MaxForeignBytes
	rest := b.unaccounted(d)
	if rest > most && (d.cleanup != nil || b.jobs.Held(d.UUID)) {
		rest = min(rest, d.baselineBytes)
	}
	if most == 0 || rest <= most {
		return 0
	}
	return rest
}

// occupies reports whether a foreign process uses enough of a GPU to keep jobs for a whole one
// away.
func (b *inventory) occupies(p *gpu.Process) bool {
	return b.policy.MaxForeignBytes > 0 && p.Occupies(b.policy.MaxForeignBytes)
}

// NameForeign adds the foreign processes to reasons that lie with the use of a GPU.
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
				why[i].Foreign, why[i].Have = d.foreignProcesses(b.occupies), b.unlisted(d)
			}
		}
	}
	return why
}

// useUnknown reports whether the driver does not say how much memory a job on the GPU uses. Then
// none of its promised memory is known to be in use.
func (d *device) useUnknown() bool {
	return slices.ContainsFunc(d.Processes, func(p gpu.Process) bool { return d.jobs[p.PID] != 0 && p.UsedBytes < 0 })
}

// foreigners returns the foreign processes on the GPU with the most memory. They are searched once
// per sample; callers must not change the list.
func (d *device) foreigners() []job.Foreign {
	if d.outside != nil {
		return d.outside
	}
	d.outside = d.foreignProcesses(func(*gpu.Process) bool { return true })
	return d.outside
}

// foreignProcesses returns the foreign processes on the GPU with the most memory that meet a
// condition.
func (d *device) foreignProcesses(meant func(*gpu.Process) bool) []job.Foreign {
	list := []job.Foreign{}
	for i := range d.Processes {
		if p := &d.Processes[i]; d.jobs[p.PID] == 0 && meant(p) {
			list = append(list, job.Foreign{PID: p.PID, UID: p.UID, Bytes: p.UsedBytes})
		}
	}
	slices.SortStableFunc(list, func(a, b job.Foreign) int { return int(max(-1, min(1, b.Bytes-a.Bytes))) })
	return list[:min(len(list), job.MaxForeign)]
}

// Denied returns the reason why a job can't have its GPUs without foreign processes; zero if it
// can.
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

// occupants returns the foreign users of a GPU on which its job has not begun yet.
func (b *inventory) occupants(d *device) job.Reason {
	r := job.Reason{Code: job.ReasonGPUForeign, GPU: d.Index, Foreign: d.foreignProcesses(b.occupies)}
	if rest := b.unaccounted(d); rest > b.policy.MaxForeignBytes {
		r.Have = rest
	}
	return r
}

// TakenOutside reports whether a foreign process occupies an otherwise free GPU.
func (b *inventory) TakenOutside(at int, now time.Time) bool {
	g := b.schedGPU(b.devices[at], now)
	return g.Occupied && !b.jobs.Held(b.devices[at].UUID)
}
