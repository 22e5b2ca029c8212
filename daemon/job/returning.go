package job

import (
	"slices"

	"github.com/gpusched/gpusched/units/contract"
)

// Return returns what a parked job asks for to get GPUs again: the ones that it held or, if the list
// among is not empty, as many of these. It asks for nothing else. The GPU of which it has a part comes
// last.
func (r *Request) Return(held []Allocation, among []int) *Request {
	own := *r
	own.GPUIDs, own.GPUsFrom, own.ExcludeGPUs = nil, among, nil
	own.MemBytes, own.CPUs = 0, 0
	if len(among) > 0 {
		return &own
	}
	held = slices.Clone(held)
	slices.SortStableFunc(held, func(a, b Allocation) int { return b.Share() - a.Share() })
	for _, g := range held {
		own.GPUIDs = append(own.GPUIDs, g.Index)
	}
	return &own
}

// MayMove reports whether a parked job may return to other GPUs of the same model, as far as the job
// decides that. If two processes use its GPUs, the driver could move one of them and not the other.
// CUDA_VISIBLE_DEVICES must still be true for processes that start later: it counts the GPUs that the
// job can open, unless they are named. The device nodes in a container can't change.
func (j *Job) MayMove() bool {
	r := &j.Request
	return !j.Unmovable && !j.Recovered && len(j.ParkProcs) == 1 && len(r.GPUIDs) == 0 &&
		r.GPUVisible != "uuid" && r.ContainerEngine == "" &&
		!slices.ContainsFunc(j.Attempt.GPUs, func(g Allocation) bool { return g.Milli != 0 || g.IsSlice() })
}

// At returns the same share of another GPU of the model.
func (g Allocation) At(other *Allocation) Allocation {
	g.UUID, g.Index, g.Minor = other.UUID, other.Index, other.Minor
	g.CPUs = other.CPUs
	return g
}

// ContractGPUs returns the GPUs of allocations.
func ContractGPUs(refs []Allocation) []contract.GPU {
	return Each(refs, func(g Allocation) contract.GPU { return g.GPU })
}
