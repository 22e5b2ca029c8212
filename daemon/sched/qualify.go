package sched

import (
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// Qualifies tells whether a GPU could ever serve the request, whatever runs on
// it now: the right index, model and size.
func Qualifies(g *GPU, r *job.Request) bool {
	return indexAllowed(g.Index, r) && g.isType(r.GPUType) && g.MemTotalBytes >= r.GPUMemBytes
}

func (g *GPU) isType(want string) bool { return gpu.Device{Name: g.Model}.TypeMatches(want) }

func indexAllowed(index int, r *job.Request) bool {
	switch {
	case len(r.GPUIDs) > 0:
		return slices.Contains(r.GPUIDs, index)
	case len(r.GPUsFrom) > 0:
		return slices.Contains(r.GPUsFrom, index)
	}
	return true
}

// Never returns why this machine can never serve the request, or nil when it
// may, now or later.
func Never(s *Snapshot, r *job.Request) *job.Refusal {
	if refusal := neverGPUs(s, r); refusal != nil {
		return refusal
	}
	if s.Host.MemBytes > 0 && r.MemBytes > s.Host.MemBytes {
		return never("asks %s of host memory, this machine has %s for jobs", "use a smaller --mem",
			job.FormatSize(r.MemBytes), job.FormatSize(s.Host.MemBytes))
	}
	return nil
}

func neverGPUs(s *Snapshot, r *job.Request) *job.Refusal {
	need := r.GPUMilli / job.WholeGPU
	if need == 0 {
		return nil
	}
	if len(s.GPUs) == 0 {
		if s.Host.NoGPUs != "" {
			return never("%s asked, and none is known. %s", "see 'gpusched health'; --gpus 0 runs without a GPU", describe(r, need), s.Host.NoGPUs)
		}
		if s.Host.GPUsSeen {
			return never("asks %s, this machine has none", "--gpus 0 runs without one", describe(r, need))
		}
		return nil
	}
	for _, id := range r.GPUIDs {
		if !slices.ContainsFunc(s.GPUs, func(g GPU) bool { return g.Index == id }) {
			return never("asks GPU %d, which this machine does not have or does not offer", "see 'gpusched gpus'", id)
		}
	}
	have := 0
	for i := range s.GPUs {
		if Qualifies(&s.GPUs[i], r) {
			have++
		}
	}
	if have < need {
		return never("asks %s, this machine has %d", "see 'gpusched gpus'", describe(r, need), have)
	}
	return nil
}

func never(format, hint string, args ...any) *job.Refusal {
	return &job.Refusal{Kind: job.RefusedNever, Message: "can never start: " + fmt.Sprintf(format, args...), Hint: hint}
}

// describe says what GPUs are asked, such as "4 GPUs of type a100 with 80G".
func describe(r *job.Request, need int) string {
	text := fmt.Sprintf("%d GPUs", need)
	if need == 1 {
		text = "1 GPU"
	}
	if r.GPUType != "" {
		text += " of type " + r.GPUType
	}
	if len(r.GPUsFrom) > 0 {
		text += " among " + job.FormatGPUList(r.GPUsFrom)
	}
	if r.GPUMemBytes > 0 {
		text += " with " + job.FormatSize(r.GPUMemBytes) + " of memory"
	}
	return text
}
