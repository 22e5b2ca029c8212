package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

func (b *inventory) OutOfService(now time.Time) map[string]int {
	out := map[string]int{}
	for _, d := range b.devices {
		switch state, _ := b.state(d, now); state {
		case sched.Lost, sched.Sick, sched.Suspect:
			out[d.UUID] = d.Index
		}
	}
	return out
}

// Show fills in those parts of a view that concern GPUs.
func (b *inventory) Show(v *job.View, now time.Time) {
	v.Driver, v.CUDA, v.SampledAt = b.last.driver, b.last.cuda, b.lastGoodSample
	if b.DriverDiffers() {
		v.Driver, v.DriverInstalled = b.last.versions.Loaded, b.last.versions.Installed
	}
	v.GPUs = b.Views(now)
	for _, l := range b.links {
		v.Links = append(v.Links, job.GPULink{A: l.A, B: l.B, Kind: string(l.Kind), Lanes: l.Lanes})
	}
	if v.Problem = string(b.last.problem); b.last.problem != "" {
		v.ProblemDetail, v.ProblemCause = b.last.problem.Sentence(), b.last.detail
	}
}

func (b *inventory) Views(now time.Time) []job.GPUView {
	views, shares := make([]job.GPUView, 0, len(b.devices)), b.sharesByGPU()
	for _, d := range b.devices {
		v := job.GPUView{
			GPU: job.GPU{
				Index: d.Index, UUID: d.UUID, Minor: d.Minor, Name: d.Name, PCI: d.PCI,
				MemTotalBytes: d.MemTotalBytes, MemUsedBytes: d.MemUsedBytes, MemFreeBytes: d.MemFreeBytes,
				UtilPercent: d.UtilGPUPercent, TempC: d.TempC, PowerMilliW: d.PowerMilliW,
			}, Control: b.controls[d.UUID],
		}
		if s := d.Slice; !s.IsZero() {
			v.Slice = &job.GPUSlice{Card: s.Card, GPUInstance: s.GPUInstance, ComputeInstance: s.ComputeInstance}
		}
		v.NUMANode, v.CPUs, v.FreeMilli = d.NUMANode, d.CPUs, job.WholeGPU
		v.Shares = shares[d.UUID]
		for _, s := range v.Shares {
			v.Jobs = append(v.Jobs, s.Job)
			v.FreeMilli -= s.Milli
		}
		state, detail := b.state(d, now)
		if state == sched.OK && detail.IsZero() {
			detail = b.Reservations.messageFor(d.UUID, v.FreeMilli, now)
		}
		v.State, v.StateDetail = gpuWord(state, v.FreeMilli), detail
		v.EnergyMilliJ, v.Doubt, v.Untested = d.energy, b.remarkOn(d, now), d.proof.untested(b)
		needs, _ := b.neededRecovery(d)
		v.ComputeMode, v.UnlistedBytes = d.ComputeMode, b.unlistedMem(d)
		v.RowsPending, v.RowsFailed = d.RowsPending, d.RowsFailed
		v.Needs, v.Stuck = string(needs), b.unkillableJob(d)
		for _, p := range d.Processes {
			if p.ServesMPS() {
				continue
			}
			shown := job.GPUProcess{
				PID: p.PID, UID: p.UID, Comm: p.Comm, UsedBytes: p.UsedBytes, Job: d.jobs[p.PID], Stray: d.strays[p.PID],
			}
			if s := b.strangers.of[process{p.PID, p.Start}]; s != nil {
				shown.ToldAt, shown.EndsAt = s.told, s.ends
			}
			v.Processes = append(v.Processes, shown)
		}
		views = append(views, v)
	}
	return views
}

// sharesByGPU returns the jobs on each GPU, by the GPU's UUID. The jobs of a GPU are sorted by id.
func (b *inventory) sharesByGPU() map[string][]job.GPUShare {
	on := make(map[string][]job.GPUShare, len(b.devices))
	for l := range b.jobs.Live() {
		uses, called := l.UsesNow(), l.Called()
		for i, ref := range l.HeldGPUs() {
			on[ref.UUID] = append(on[ref.UUID], job.GPUShare{
				Job: l.ID, Called: called, Milli: ref.Share(), PromiseBytes: ref.PromiseBytes,
				UsedBytes: uses[i].UsedBytes, PeakBytes: uses[i].PeakBytes,
			})
		}
	}
	return on
}

// gpuWord returns the word that people see for a GPU's state.
func gpuWord(state sched.GPUState, free int) job.GPUState {
	switch {
	case state == sched.Drained && free < job.WholeGPU:
		return job.GPUDraining
	case state != sched.OK:
		return job.GPUState(state)
	case free == job.WholeGPU:
		return job.GPUFree
	case free > 0:
		return job.GPUShared
	}
	return job.GPUBusy
}
