package gpus

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// A job may leave behind GPU memory that no process uses and that only a reset frees (a leak). It
// may also leave processes that the kernel does not end: the job is then unkillable, and keeps what
// it holds. Such memory or such a process may still go away by itself, when the driver or the
// kernel gets to it.

// residue returns what keeps a GPU from being clean. The result leak is false if that is a living
// process of a job.
func (b *inventory) residue(d *device) (what job.Message, leak bool) {
	for _, p := range d.Processes {
		if p.Dead {
			return job.Say("detail/dead-process"), true
		}
		switch id := d.jobs[p.PID]; {
		case id == 0 || b.jobs.Holds(id, d.UUID):
		case b.jobs.Keeps(id, d.UUID):
			return job.Say("detail/parked-use", p.PID, b.jobs.Called(id)), false
		case b.jobs.Active(id) != nil: // the process left its unit, or somebody gave it an open device
			return job.Say("detail/descriptor", p.PID, b.jobs.Called(id), b.jobs.Active(id).Owner.User), false
		case b.members[process{p.PID, p.Start}].unsure:
			return job.Say("detail/maybe-old", p.PID, id), false
		default:
			return job.Say("detail/old-process", p.PID, id), false
		}
	}
	return job.Say("detail/ghost", job.Size(b.unassignedMem(d)-max(0, d.baselineBytes))), true
}

// recordLeak records, once, that memory which a job left on a GPU is not freed. The GPU is out of
// service from now on, and the job's result says so.
func (b *Book) recordLeak(d *device) {
	what, leak := b.residue(d)
	g := b.controls[d.UUID]
	if !leak || (g.Fault.Boot == b.boot() && !g.Fault.Left.What.IsZero()) {
		return
	}
	dep := d.cleanup
	b.faultOfThisBoot(&g, d)
	g.Fault.Left = job.GPULeft{Job: dep.job, What: what, BaseBytes: d.baselineBytes, At: dep.since}
	b.recordControl(g)
	b.addLeftover(dep, job.Say("detail/out-of-service", d.Index, what))
}

// faultOfThisBoot drops a GPU's recorded fault if the fault is from an earlier boot, so that a new
// fault can be added.
func (b *Book) faultOfThisBoot(g *job.GPUControl, d *device) {
	g.UUID = d.UUID
	if g.Fault.Boot != b.boot() {
		g.Fault = g.Fault.Anew()
		g.Fault.Boot, g.Fault.Seq = b.boot(), b.kernelSeq
	}
}

func (b *Book) RecordUnkillable(l *tracked.Job) {
	if l.Left == "" || l.State != job.Ending {
		return
	}
	for _, ref := range l.HeldGPUs() {
		if on := b.unkillableOn[ref.UUID]; !slices.Contains(on, l.ID) {
			b.unkillableOn[ref.UUID] = append(on, l.ID)
		}
	}
}

// unkillableJob returns a job that holds the GPU and has processes that survive SIGKILL. If there
// is none, it returns 0.
func (b *inventory) unkillableJob(d *device) job.ID {
	for _, id := range b.unkillableOn[d.UUID] {
		return id
	}
	return 0
}

// leakRecovery returns what a GPU needs because of a leak, and why.
func (b *inventory) leakRecovery(d *device) (gpu.Recovery, job.Message) {
	if id := b.unkillableJob(d); id != 0 {
		return gpu.RecoverReboot, job.Say("detail/endless", b.jobs.Called(id))
	}
	f := b.controls[d.UUID].Fault
	switch {
	case f.Boot != b.boot() || f.Left.What.IsZero():
		return gpu.RecoverNothing, job.Message{}
	case f.Left.Job == 0: // the leak was there when the daemon started
		return gpu.RecoverReset, f.Left.What
	}
	return gpu.RecoverReset, job.Say("detail/since", f.Left.What, f.Left.Job)
}
