package sched

import (
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Infeasible returns why this machine can never serve the request of the account, or
// nil when it may, now or later.
func Infeasible(s *Snapshot, a *Account, r *job.Request) *job.Refusal {
	if refusal := infeasibleGPUs(s, r); refusal != nil {
		return refusal
	}
	if s.Host.MemBytes > 0 && r.MemBytes > s.Host.MemBytes {
		return never("asks %s of host memory, this machine has %s for jobs", "use a smaller --mem",
			job.FormatSize(r.MemBytes), job.FormatSize(s.Host.MemBytes))
	}
	return infeasibleQuota(a, r)
}

// infeasibleQuota refuses what is above the account's own quota by itself.
func infeasibleQuota(a *Account, r *job.Request) *job.Refusal {
	if a == nil {
		return nil
	}
	for _, q := range append([]*Account{a}, a.Groups...) {
		if q.MaxMilli > 0 && r.GPUMilli > q.MaxMilli {
			whose := q.Name
			if q != a {
				whose = "group " + whose
			}
			return never("asks %s, the quota of %s is %s", "ask for fewer, or an administrator for a larger quota",
				describe(r), whose, job.FormatGPUs(q.MaxMilli))
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
			return never("%s asked, and none is known. %s", "see 'gpusched health'; --gpus 0 runs without a GPU", describe(r), s.Host.NoGPUs)
		}
		if s.Host.GPUsSeen {
			return never("asks %s, this machine has none", "--gpus 0 runs without one", describe(r))
		}
		return nil
	}
	for _, id := range r.GPUIDs {
		if !s.has(id) {
			return never("asks GPU %d, which this machine does not have or does not offer", "see 'gpusched gpus'", id)
		}
	}
	sh := newShape(r)
	sh.qualify(s)
	have := 0
	for i, ok := range sh.qual {
		if g := &s.GPUs[i]; ok || g.unread() && sh.allows(g.Index) && (g.Model == "" || g.isType(sh.gpuType)) {
			have++
		}
	}
	if most := sh.mostMemory(s); have < r.Devices() && 0 < most && most < sh.gpuMem {
		return never("asks %s, the most that one has for jobs is %s", "use a smaller --gpu-mem", describe(r), job.FormatSize(most))
	}
	if have < r.Devices() && r.GPUMemBytes > 0 && slices.ContainsFunc(s.GPUs, func(g GPU) bool { return g.unified() && sh.allows(g.Index) }) {
		return never("asks %s, and these GPUs use the host's memory, of which nothing can be kept for a GPU", "use --mem instead of --gpu-mem", describe(r))
	}
	if have < r.Devices() {
		return never("asks %s, this machine has %d", "see 'gpusched gpus'", describe(r), have)
	}
	return nil
}

// mostMemory is the memory of the largest GPU that would do otherwise.
func (sh *resourceShape) mostMemory(s *Snapshot) (most int64) {
	for i := range s.GPUs {
		if g := &s.GPUs[i]; sh.allows(g.Index) && g.isType(sh.gpuType) {
			most = max(most, g.MemTotalBytes)
		}
	}
	return most
}

func (s *Snapshot) has(index int) bool {
	for i := range s.GPUs {
		if s.GPUs[i].Index == index {
			return true
		}
	}
	return false
}

func never(format, hint string, args ...any) *job.Refusal {
	return &job.Refusal{Kind: job.RefusedNever, Message: "can never start: " + fmt.Sprintf(format, args...), Hint: hint}
}

// describe says what GPUs are asked, such as "4 GPUs of type a100 with 80G".
func describe(r *job.Request) string {
	text := job.FormatGPUs(r.GPUMilli) + " GPUs"
	switch {
	case r.GPUMilli == job.WholeGPU:
		text = "1 GPU"
	case r.GPUMilli < job.WholeGPU:
		text = job.FormatGPUs(r.GPUMilli) + " of a GPU"
	}
	if r.GPUType != "" {
		text += " of type " + r.GPUType
	}
	if len(r.GPUsFrom) > 0 {
		text += " among " + job.FormatGPUList(r.GPUsFrom)
	}
	if len(r.ExcludeGPUs) > 0 {
		text += " other than " + job.FormatGPUList(r.ExcludeGPUs)
	}
	if r.GPUMemBytes > 0 {
		text += " with " + job.FormatSize(r.GPUMemBytes) + " of memory"
	}
	return text
}
