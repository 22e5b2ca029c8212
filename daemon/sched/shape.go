package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// needs are what placement reads of a request, and nothing else of it.
type needs struct {
	milli   int
	gpuMem  int64 // per GPU
	mem     int64
	spread  bool
	maxLoad int
	maxUsed int
	limit   time.Duration // 0: none
	yields  bool          // its jobs may be stopped for others
	ids     gpuSet
	from    gpuSet
	without gpuSet
	gpuType string
}

func needsOf(r *job.Request) needs {
	return needs{
		milli: r.GPUMilli, gpuMem: r.GPUMemBytes, mem: r.MemBytes, spread: r.Spread,
		maxLoad: r.MaxLoadPercent, maxUsed: r.MaxUsedPercent, limit: r.TimeLimit.Duration(), yields: r.Preemptible,
		ids: setOf(r.GPUIDs), from: setOf(r.GPUsFrom), without: setOf(r.ExcludeGPUs), gpuType: r.GPUType,
	}
}

// gpuSet is a set of indexes of GPUs as bits; "" is no set.
type gpuSet string

func setOf(list []int) gpuSet {
	if len(list) == 0 {
		return ""
	}
	bits := make([]byte, 1, job.MaxGPUs/8)
	for _, i := range list {
		if i < 0 || i >= job.MaxGPUs {
			continue // no GPU has it
		}
		bits = append(bits, make([]byte, max(0, i/8+1-len(bits)))...)
		bits[i/8] |= 1 << (i % 8)
	}
	return gpuSet(bits)
}

func (s gpuSet) has(index int) bool { return index/8 < len(s) && s[index/8]>>(index%8)&1 == 1 }

// resourceShape is what jobs of the same needs have in common: each fits where the
// others do.
type resourceShape struct {
	needs
	refs  int
	whole int
	part  int
	alone bool // its whole GPUs must be free of processes from outside

	machine uint64 // for which qual holds
	qual    []bool // by position: could ever serve

	pass     uint64 // of which the following holds
	verdict  fitness
	refused  []uint32
	hopeless bool // nothing could be kept for it
}

// fitness caches whether a shape fits into what was free when the pass began.
type fitness uint8

const (
	untried fitness = iota
	fitting
	failing
)

func newShape(r *job.Request) *resourceShape {
	return &resourceShape{needs: needsOf(r), whole: r.Whole(), part: r.Part(), alone: r.Alone()}
}

// qualify fills in which GPUs could ever serve the shape.
func (sh *resourceShape) qualify(s *Snapshot) {
	if sh.machine == s.Machine && len(sh.qual) == len(s.GPUs) {
		return
	}
	sh.machine, sh.qual = s.Machine, slices.Grow(sh.qual[:0], len(s.GPUs))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		sh.qual = append(sh.qual, sh.allows(g.Index) && g.isType(sh.gpuType) && g.MemTotalBytes >= sh.gpuMem)
	}
}

func (sh *resourceShape) allows(index int) bool {
	switch {
	case sh.without.has(index):
		return false
	case sh.ids != "":
		return sh.ids.has(index)
	case sh.from != "":
		return sh.from.has(index)
	}
	return true
}

func (g *GPU) isType(want string) bool { return gpu.Device{Name: g.Model}.TypeMatches(want) }

// partBytes is the memory of a part of the GPU: what was asked, or the same
// part of what jobs can have.
func (sh *resourceShape) partBytes(g *GPU) int64 {
	if sh.gpuMem > 0 {
		return sh.gpuMem
	}
	return g.UsableBytes / job.WholeGPU * int64(sh.part)
}

// partFits reports whether the part's memory is there. A share that was not asked
// for in bytes may be short by what the driver takes for itself.
func (sh *resourceShape) partFits(g *GPU, free int64) bool {
	if sh.gpuMem > 0 {
		return free >= sh.gpuMem
	}
	return free+g.SlackBytes >= sh.partBytes(g)
}

// tolerates reports whether the GPU's load and memory in use are within the
// job's and the site's bounds, as far as they are known to be at that time. The
// first that is not is returned.
func (sh *resourceShape) tolerates(p *Policy, g *GPU, at horizon) (job.Reason, bool) {
	maxLoad, maxUsed := tighter(sh.maxLoad, p.MaxLoadPercent), tighter(sh.maxUsed, p.MaxUsedPercent)
	load, bytes := g.use(at)
	used, free := g.percent(bytes), g.MemTotalBytes-bytes
	switch {
	case maxLoad > 0 && load > maxLoad:
		return job.Reason{Code: job.ReasonGPULoad, Need: int64(maxLoad), Have: int64(load)}, false
	case maxUsed > 0 && used > maxUsed:
		return job.Reason{Code: job.ReasonGPUUsed, Need: int64(maxUsed), Have: int64(used)}, false
	case free < p.MinFreeBytes && !g.unified():
		return job.Reason{Code: job.ReasonGPUMemory, Need: p.MinFreeBytes, Have: free}, false
	}
	return job.Reason{}, true
}

// tighter is the lower of two bounds of which 0 is none.
func tighter(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
