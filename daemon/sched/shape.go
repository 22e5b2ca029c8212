package sched

import (
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// shape is what placement reads of a request. Jobs of one shape fit where the
// others do.
type shape struct {
	key     string
	refs    int
	milli   int
	whole   int
	part    int
	gpuMem  int64 // per GPU
	mem     int64
	spread  bool
	maxLoad int
	maxUsed int
	alone   bool          // its whole GPUs must be free of processes from outside
	limit   time.Duration // 0: none
	yields  bool          // its jobs may be stopped for others
	ids     []int
	from    []int
	gpuType string

	machine uint64 // for which qual holds
	qual    []bool // by position: could ever serve

	pass    uint64 // of which the following holds
	verdict fitness
	refused []uint32
	vain    bool // nothing could be kept for it
}

// fitness caches whether a shape fits into what was free when the pass began.
type fitness uint8

const (
	untried fitness = iota
	fitting
	failing
)

func newShape(r *job.Request) *shape {
	return &shape{
		milli: r.GPUMilli, whole: r.Whole(), part: r.Part(), gpuMem: r.GPUMemBytes, mem: r.MemBytes, spread: r.Spread,
		maxLoad: r.MaxLoadPercent, maxUsed: r.MaxUsedPercent, alone: r.Alone(), limit: r.TimeLimit.Duration(), yields: r.Preemptible,
		ids: r.GPUIDs, from: r.GPUsFrom, gpuType: r.GPUType,
	}
}

// shapeKey is the same for requests of one shape.
func shapeKey(r *job.Request) string {
	return fmt.Sprint(r.GPUMilli, r.GPUMemBytes, r.MemBytes, r.Spread, r.MaxLoadPercent, r.MaxUsedPercent, int64(r.TimeLimit), r.Preemptible, r.GPUIDs, r.GPUsFrom, r.GPUType)
}

// qualify fills in which GPUs could ever serve the shape.
func (sh *shape) qualify(s *Snapshot) {
	if sh.machine == s.Machine && len(sh.qual) == len(s.GPUs) {
		return
	}
	sh.machine, sh.qual = s.Machine, slices.Grow(sh.qual[:0], len(s.GPUs))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		sh.qual = append(sh.qual, sh.allows(g.Index) && g.isType(sh.gpuType) && g.MemTotalBytes >= sh.gpuMem)
	}
}

func (sh *shape) allows(index int) bool {
	switch {
	case len(sh.ids) > 0:
		return slices.Contains(sh.ids, index)
	case len(sh.from) > 0:
		return slices.Contains(sh.from, index)
	}
	return true
}

func (g *GPU) isType(want string) bool { return gpu.Device{Name: g.Model}.TypeMatches(want) }

// partBytes is the memory of a part of the GPU: what was asked, or the same
// part of what jobs can have.
func (sh *shape) partBytes(g *GPU) int64 {
	if sh.gpuMem > 0 {
		return sh.gpuMem
	}
	return g.UsableBytes / job.WholeGPU * int64(sh.part)
}

// partFits tells whether the part's memory is there. A share that nobody asked
// for in bytes may be short by what the driver takes for itself.
func (sh *shape) partFits(g *GPU, free int64) bool {
	if sh.gpuMem > 0 {
		return free >= sh.gpuMem
	}
	return free+g.SlackBytes >= sh.partBytes(g)
}

// tolerates tells whether the GPU's load and memory in use are within the
// job's and the site's bounds, as far as they are known to be at that time. The
// first that is not is returned.
func (sh *shape) tolerates(p *Policy, g *GPU, at horizon) (job.Reason, bool) {
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
