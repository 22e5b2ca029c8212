package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

// Fill adds the GPUs to a snapshot.
func (b *Book) Fill(s *sched.Snapshot, now time.Time) {
	s.Machine, s.Host.GPUsSeen = b.inventoryVersion, b.seen && b.last.problem == ""
	switch b.last.problem {
	case gpu.ProblemLibraryMissing, gpu.ProblemDriverMissing, gpu.ProblemUnsupported:
		s.Host.NoGPUs = b.last.problem.Sentence()
	}
	whole := slices.ContainsFunc(b.devices, func(d *device) bool { return d.Slice.IsZero() && !d.MIG })
	for _, d := range b.devices {
		g := b.schedGPU(d, now)
		g.OnlyNamed = g.Slice && whole
		if n := len(s.GPUs); n < cap(s.GPUs) {
			g.Held = s.GPUs[:n+1][n].Held[:0] // reuse the memory of an earlier pass
		}
		s.GPUs = append(s.GPUs, g)
	}
	b.fillLinks(s)
}

func (b *inventory) schedGPU(d *device, now time.Time) sched.GPU {
	g := sched.GPU{
		Index: d.Index, Model: d.Name, LoadPercent: d.load(),
		MemTotalBytes: d.usableMem(), MemFreeBytes: int64(d.MemFreeBytes),
		UsableBytes: d.usableMem() - max(0, b.unassignedMem(d)), SlackBytes: b.policy.MemSlackBytes,
		WholeOnly: len(b.policy.PartsOn) > 0 && !slices.Contains(b.policy.PartsOn, d.Index),
	}
	if g.Slice = !d.Slice.IsZero(); g.Slice {
		g.WholeOnly = true
	}
	if d.ComputeMode != "" && d.ComputeMode != "default" {
		g.NoMPS = job.Say("detail/mps-mode", d.ComputeMode)
	}
	b.foreignUse(d, &g)
	g.State, g.Detail = b.state(d, now)
	if g.CleaningAfter = d.failing.last; d.cleanup != nil {
		g.CleaningAfter = d.cleanup.job
	}
	switch g.State {
	case sched.Cleaning:
		g.ReadyAt = sched.At(now.Add(time.Second))
	case sched.Suspect:
		if !d.failing.until.IsZero() {
			g.ReadyAt = sched.At(d.failing.until)
		}
	case sched.Paused, sched.Drained:
		if until := b.controls[d.UUID].Until; !until.IsZero() {
			g.ReadyAt = sched.At(until)
		}
	}
	return g
}

// usableMem returns the memory that jobs could have on an idle GPU: the driver's figure minus the
// memory that the driver keeps for itself (0.3 to 2.3 GiB, depending on model and driver). Version
// 2 of the driver's answer counts that memory neither as used nor as free.
func (d *device) usableMem() int64 { return int64(d.MemTotalBytes) - int64(d.MemReservedBytes) }

// SeenBytes returns the memory that a job used on a GPU in the last sample.
func (b *inventory) SeenBytes(at int, id job.ID) int64 {
	d, sum := b.devices[at], int64(0)
	for _, p := range d.Processes {
		if d.jobs[p.PID] == id {
			sum += max(0, p.UsedBytes)
		}
	}
	return sum
}

// fillLinks adds the links between the GPUs.
func (b *inventory) fillLinks(s *sched.Snapshot) {
	s.Links = s.Links[:0]
	if len(b.links) == 0 {
		return
	}
	n := len(b.devices)
	s.Links = append(s.Links, make([]int32, n*n)...)
	for _, link := range b.links {
		i, j := slices.Index(b.devices, b.byIndex(link.A)), slices.Index(b.devices, b.byIndex(link.B))
		if i >= 0 && j >= 0 {
			s.Links[i*n+j], s.Links[j*n+i] = int32(link.Weight()), int32(link.Weight())
		}
	}
}

// RecordBaseline notes the memory that is in use on each GPU before its first job comes.
func (b *Book) RecordBaseline(grants []sched.Grant) {
	for _, g := range grants {
		if d := b.devices[g.GPU]; !b.jobs.Held(d.UUID) {
			d.baselineBytes = b.unassignedMem(d)
		}
	}
}

// Refs turns grants into allocations, in the same order.
func (b *inventory) Refs(grants []sched.Grant) []job.Allocation {
	refs := make([]job.Allocation, 0, len(grants))
	for _, g := range grants {
		d := b.devices[g.GPU]
		ref := job.Allocation{GPU: d.contract()}
		ref.PromiseBytes = g.Bytes
		if g.Milli != job.WholeGPU {
			ref.Milli = g.Milli
			budget := g.Milli
			if total := int64(d.MemTotalBytes); total > 0 {
				budget = int(g.Bytes * job.WholeGPU / total)
				ref.ChargeMilli = max(g.Milli, budget)
			}
			if b.policy.Hints { // what the CUDA context of each process needs is not the frameworks'
				ref.HintMilli = max(1, budget*9/10)
			}
		}
		if b.policy.CPUAffinity {
			ref.CPUs = d.CPUs
		}
		refs = append(refs, ref)
	}
	return refs
}

// Position returns the position of a GPU among the devices, or -1 if it is gone.
func (b *inventory) Position(ref *job.Allocation) int {
	if i := ref.Index; i >= 0 && i < len(b.devices) && b.devices[i].UUID == ref.UUID {
		return i
	}
	return slices.IndexFunc(b.devices, func(d *device) bool { return d.UUID == ref.UUID })
}

// byIndex returns the GPU that has the index now. If there is none, it returns nil.
func (b *inventory) byIndex(index int) *device {
	for _, d := range b.devices {
		if d.Index == index {
			return d
		}
	}
	return nil
}

// Ref returns the GPU that has the index now. If there is none, the result has no UUID.
func (b *inventory) Ref(index int) (r job.Allocation) {
	if d := b.byIndex(index); d != nil {
		r = job.Allocation{GPU: d.contract()}
	}
	return r
}

func (d *device) contract() contract.GPU {
	return contract.GPU{UUID: d.UUID, Index: d.Index, Minor: d.Minor, GICap: d.Slice.Caps[0], CICap: d.Slice.Caps[1]}
}

// Count returns the number of GPUs.
func (b *inventory) Count() int { return len(b.devices) }

// Among reports, for each GPU of the machine, whether it is among the given ones.
func (b *inventory) Among(refs []job.Allocation) []bool {
	list := make([]bool, len(b.devices))
	for i, d := range b.devices {
		list[i] = slices.ContainsFunc(refs, func(r job.Allocation) bool { return r.UUID == d.UUID })
	}
	return list
}
