package sched

import (
	"math"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Infeasible returns the reason why this machine can never serve the request. If the machine may
// serve it, Infeasible returns nil.
func Infeasible(s *Snapshot, a *Account, r *job.Request) *job.Refusal {
	if refusal := infeasibleGPUs(s, r); refusal != nil {
		return refusal
	}
	if s.Host.MemBytes > 0 && r.MemBytes > s.Host.MemBytes {
		return job.Refuse("never/host-memory", job.Size(r.MemBytes), job.Size(s.Host.MemBytes))
	}
	if s.Host.CPUs > 0 && r.CPUs > s.Host.CPUs {
		return job.Refuse("never/host-cpus", job.CPUs(r.CPUs), job.CPUs(s.Host.CPUs))
	}
	if most := s.Host.NoGPUCPUs; most > 0 && r.GPUMilli == 0 && r.CPUs > most {
		return job.Refuse("never/no-gpu-cpus", job.CPUs(r.CPUs), job.CPUs(most))
	}
	return infeasibleQuota(a, r)
}

// Never is like Infeasible, but for a waiting job. Such a job was feasible when it was submitted,
// but a quota may have been lowered since, or the machine may have lost something. While no GPU is
// visible, Never returns nil, since GPUs come back.
func (s *Snapshot) Never(a *Account, r *job.Request) *job.Refusal {
	if r.GPUMilli > 0 && len(s.GPUs) == 0 && (s.Host.NoGPUs != "" || !s.Host.GPUsSeen) {
		return nil
	}
	return Infeasible(s, a, r)
}

// infeasibleQuota refuses a request that alone exceeds a quota.
func infeasibleQuota(a *Account, r *job.Request) *job.Refusal {
	if a == nil {
		return nil
	}
	for q := range a.quotaAccounts {
		if q.MaxMilli > 0 && r.GPUMilli > q.MaxMilli {
			return job.Refuse("never/quota", r.AsksFor(), q.label(), job.GPUs(q.MaxMilli))
		}
		if q.MaxMilli > 0 && r.QuotaMilli() > q.MaxMilli {
			return job.Refuse("never/quota-part", job.GPURequest{GPUs: job.GPUs(r.QuotaMilli())}, q.label(), job.GPUs(q.MaxMilli))
		}
		if q.MaxMem > 0 && r.MemBytes > q.MaxMem {
			return job.Refuse("never/quota-mem", job.Size(r.MemBytes), q.label(), job.Size(q.MaxMem))
		}
		if q.MaxCPUs > 0 && r.CPUs > q.MaxCPUs {
			return job.Refuse("never/quota-cpus", job.CPUs(r.CPUs), q.label(), job.CPUs(q.MaxCPUs))
		}
	}
	return nil
}

func infeasibleGPUs(s *Snapshot, r *job.Request) *job.Refusal {
	if r.GPUMilli == 0 {
		return nil
	}
	if len(s.GPUs) == 0 {
		if s.Host.NoGPUs != "" {
			return job.Refuse("never/unknown", r.AsksFor(), s.Host.NoGPUs)
		}
		if s.Host.GPUsSeen {
			return job.Refuse("never/no-gpus", r.AsksFor())
		}
		return nil
	}
	for _, id := range r.GPUIDs {
		if !slices.ContainsFunc(s.GPUs, func(g GPU) bool { return g.Index == id }) {
			return job.Refuse("never/gpu", id)
		}
	}
	sh := newShape(r)
	sh.qualify(s)
	have := 0
	for i, ok := range sh.qual {
		if g := &s.GPUs[i]; ok || g.isUnread() && sh.allows(g.Index) && (g.Model == "" || sh.takes(g)) {
			have++
		}
	}
	if most := sh.mostMemory(s); have < r.Devices() && 0 < most && most < sh.gpuMem {
		return job.Refuse("never/gpu-memory", r.AsksFor(), job.Size(most))
	}
	exclusive := func(g GPU) bool { return sh.allows(g.Index) && !g.NoMPS.IsZero() }
	if i := slices.IndexFunc(s.GPUs, exclusive); have < r.Devices() && r.Mates.UID() >= 0 && i >= 0 {
		return job.Refuse("never/mps", r.AsksFor(), s.GPUs[i].Index, s.GPUs[i].NoMPS)
	}
	unified := func(g GPU) bool { return g.usesHostMemory() && sh.allows(g.Index) }
	if have < r.Devices() && r.GPUMemBytes > 0 && slices.ContainsFunc(s.GPUs, unified) {
		return job.Refuse("never/unified", r.AsksFor())
	}
	if have < r.Devices() {
		return job.Refuse("never/gpu-count", r.AsksFor(), have)
	}
	if sh.part > 0 && !sh.partsGiven(s) {
		if sh.slicesAlone(s) {
			return job.Refuse("never/slice-part", r.AsksFor())
		}
		return job.Refuse("never/parts", r.AsksFor(), s.partsOn())
	}
	return nil
}

// partsGiven reports whether jobs may get parts of any GPU that the shape allows.
func (sh *resourceShape) partsGiven(s *Snapshot) bool {
	for i := range s.GPUs {
		if g := &s.GPUs[i]; !g.WholeOnly && (sh.qual[i] || g.isUnread() && sh.allows(g.Index)) {
			return true
		}
	}
	return false
}

// slicesAlone reports whether all GPUs that could serve the shape are slices.
func (sh *resourceShape) slicesAlone(s *Snapshot) bool {
	for i := range s.GPUs {
		if sh.qual[i] && !s.GPUs[i].Slice {
			return false
		}
	}
	return true
}

// partsOn lists the GPUs of which jobs may get parts.
func (s *Snapshot) partsOn() string {
	var list []int
	for i := range s.GPUs {
		if g := &s.GPUs[i]; !g.WholeOnly {
			list = append(list, g.Index)
		}
	}
	return job.FormatGPUList(list)
}

// MostUsable returns the most memory that could be promised to a job on one empty GPU. It considers
// the GPUs that the request allows. If these GPUs have only host memory, it returns 0.
func MostUsable(s *Snapshot, r *job.Request) (most int64) {
	sh := newShape(r)
	for i := range s.GPUs {
		if g := &s.GPUs[i]; sh.allows(g.Index) && sh.takes(g) {
			most = max(most, min(g.UsableBytes, g.MemTotalBytes-g.SlackBytes))
		}
	}
	return most
}

// partStep is the unit to which parts of GPUs are rounded up.
const partStep = job.WholeGPU / 100

// MemoryPart returns the part of a GPU that a request for GPU memory amounts to. It computes the
// part for the smallest GPU that the request allows and that has enough memory. If no GPU has
// enough, the part is a whole GPU. If the request names no memory, or if a GPU that was not read
// yet could serve the request, it returns 0.
func MemoryPart(s *Snapshot, r *job.Request) int {
	if r.Part() == 0 || r.GPUMemBytes <= 0 {
		return 0
	}
	sh, least := newShape(r), int64(0)
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if !sh.allows(g.Index) || !sh.takes(g) || g.MemTotalBytes < r.GPUMemBytes {
			continue
		}
		if least == 0 || g.MemTotalBytes < least {
			least = g.MemTotalBytes
		}
	}
	if least == 0 {
		if len(s.GPUs) == 0 || slices.ContainsFunc(s.GPUs, func(g GPU) bool { return g.isUnread() && sh.allows(g.Index) }) {
			return 0
		}
		return job.WholeGPU
	}
	steps := math.Ceil(float64(r.GPUMemBytes) / float64(least) * (job.WholeGPU / partStep))
	return int(steps) * partStep
}

// mostMemory returns the memory of the largest GPU that the shape allows.
func (sh *resourceShape) mostMemory(s *Snapshot) (most int64) {
	for i := range s.GPUs {
		if g := &s.GPUs[i]; sh.allows(g.Index) && sh.takes(g) {
			most = max(most, g.MemTotalBytes)
		}
	}
	return most
}
