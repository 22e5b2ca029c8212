package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// needs are what placement reads of a request, and nothing else of it.
type needs struct {
	amount
	gpuNeeds
	spread bool
	limit  time.Duration // 0: none
	yields bool          // its jobs may be stopped for others
}

// amount is how much a job asks. A pass reads it of each bucket: it is small.
type amount struct {
	milli     int // of GPUs
	quota     int // what of them counts in quotas
	hostShare     // of which cpus is 0 for a job that names none: see cpusFor
}

// footprintKey is what shapes have in common that ask the same of GPUs.
type footprintKey struct {
	milli int
	gpuNeeds
}

func (n *needs) footprintKey() footprintKey { return footprintKey{n.milli, n.gpuNeeds} }

// gpuNeeds say which GPUs would do.
type gpuNeeds struct {
	gpuMem  int64 // per GPU
	maxLoad int
	maxUsed int
	ids     gpuSet
	from    gpuSet
	without gpuSet
	gpuType string
}

func needsOf(r *job.Request) needs {
	return needs{
		amount: amount{r.GPUMilli, r.QuotaMilli(), hostShare{r.MemBytes, r.CPUs}},
		gpuNeeds: gpuNeeds{
			gpuMem: r.GPUMemBytes, maxLoad: r.MaxLoadPercent, maxUsed: r.MaxUsedPercent,
			ids: setOf(r.GPUIDs), from: setOf(r.GPUsFrom), without: setOf(r.ExcludeGPUs), gpuType: r.GPUType,
		},
		spread: r.Spread, limit: r.TimeLimit.Duration(), yields: r.Preemptible,
	}
}

// cpusFor is for how many CPUs a job of the account counts once it starts where so much
// is left: as many as it asked. One that names none never waits for them, and counts
// for its GPUs' part of them as far as it is left, by its quotas too.
func (s *Snapshot) cpusFor(sh *resourceShape, a *Account, l *capacity) int {
	if sh.cpus > 0 {
		return sh.cpus
	}
	part := s.Host.cpusOf(sh.milli, len(s.GPUs))
	for q := range a.quotas {
		part = min(part, q.cpusLeft())
	}
	return max(0, min(part, l.cpus))
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
	*footprint
	refs int

	hopeless uint64 // the last pass in which nothing could be kept for it
}

// footprint is what shapes of the same needs of GPUs have in common. What a pass
// finds out about the GPUs, it finds out once for all of them.
type footprint struct {
	key    footprintKey
	shapes int
	whole  int
	part   int
	alone  bool // its whole GPUs must be free of processes from outside

	machine uint64 // for which qual holds
	qual    []bool // by position: could ever serve

	pass      uint64 // of which the following holds
	inService int    // how many of the GPUs that could serve are in service
	atStart   answer // whether they do as it begins
	ever      answer // whether they would once all that is expected to end has
}

func newShape(r *job.Request) *resourceShape {
	n := needsOf(r)
	f := footprint{key: n.footprintKey(), whole: r.Whole(), part: r.Part(), alone: r.Alone()}
	return &resourceShape{needs: n, footprint: &f}
}

// like is a shape of the same needs that belongs to no queue.
func (sh *resourceShape) like() *resourceShape {
	f := footprint{key: sh.key, whole: sh.whole, part: sh.part, alone: sh.alone}
	return &resourceShape{needs: sh.needs, footprint: &f}
}

// qualify fills in which GPUs could ever serve the footprint.
func (f *footprint) qualify(s *Snapshot) {
	if f.machine == s.Machine && len(f.qual) == len(s.GPUs) {
		return
	}
	f.machine, f.qual = s.Machine, slices.Grow(f.qual[:0], len(s.GPUs))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		f.qual = append(f.qual, f.key.allows(g.Index) && g.isType(f.key.gpuType) && g.MemTotalBytes >= f.key.gpuMem)
	}
}

func (n *gpuNeeds) allows(index int) bool {
	switch {
	case n.without.has(index):
		return false
	case n.ids != "":
		return n.ids.has(index)
	case n.from != "":
		return n.from.has(index)
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
