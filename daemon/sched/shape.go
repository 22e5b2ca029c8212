package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// needs are the parts of a request that placement reads.
type needs struct {
	amount
	gpuNeeds
	spread  bool
	limit   time.Duration // 0: none
	yields  bool          // the job counts as preemptible
	returns bool          // the job is preemptible, and starts again after a reboot
}

// amount is how much a job asks for. It is a small struct, since a pass reads one for each bucket.
type amount struct {
	milli     int // GPUs, in thousandths
	quota     int // GPUs as quotas count them, in thousandths
	hostShare     // cpus is 0 if the job names no number of CPUs: see cpusFor
}

// Shapes with the same GPU needs have the same footprintKey.
type footprintKey struct {
	milli int
	gpuNeeds
}

func (n *needs) footprintKey() footprintKey { return footprintKey{n.milli, n.gpuNeeds} }

// gpuNeeds is what a GPU must have so that a job can use it.
type gpuNeeds struct {
	gpuMem  int64 // the memory of each GPU
	mates   job.Mates
	maxLoad int
	maxUsed int
	ids     job.GPUSet
	from    job.GPUSet
	without job.GPUSet
	gpuType string
	partOn  int // the index plus 1 of the GPU that must give the part; 0: any
}

func needsOf(r *job.Request) needs {
	slot := gpuSlot
	if r.GPUMilli == 0 {
		slot = noGPUSlot
	}
	return needs{
		amount: amount{r.GPUMilli, r.QuotaMilli(), hostShare{r.MemBytes, r.CPUs, slot}},
		gpuNeeds: gpuNeeds{
			gpuMem: r.GPUMemBytes, mates: r.Mates, maxLoad: r.MaxLoadPercent, maxUsed: r.MaxUsedPercent,
			ids: job.GPUSetOf(r.GPUIDs), from: job.GPUSetOf(r.GPUsFrom), without: job.GPUSetOf(r.ExcludeGPUs),
			gpuType: r.GPUType,
		},
		spread: r.Spread, limit: r.TimeLimit.Duration(), yields: r.Preemptible, returns: r.Preemptible && r.MayRequeue(),
	}
}

// needsOf returns what the job needs. A parked job needs only its GPUs. It has a part of the last
// one that its request names.
func (w *Waiting) needsOf() needs {
	n := needsOf(w.Request)
	if n.yields = n.yields || w.Parks; !w.Returns {
		return n
	}
	n.hostShare = hostShare{slot: noSlot}
	if ids := w.Request.GPUIDs; w.Request.Part() > 0 && len(ids) > 0 {
		n.partOn = ids[len(ids)-1] + 1
	}
	return n
}

// cpusFor returns how many CPUs a job occupies if it starts within this capacity. A job that names
// a number occupies that many. A job that names no number never waits for CPUs. It occupies its
// GPUs' part of the CPUs, or fewer if the capacity or the quotas have fewer left.
func (s *Snapshot) cpusFor(sh *resourceShape, a *Account, l *capacity) int {
	if sh.cpus > 0 || sh.slot == noSlot {
		return sh.cpus
	}
	part := s.Host.cpusOf(sh.milli, len(s.GPUs))
	for q := range a.quotaAccounts {
		part = min(part, q.cpusLeft())
	}
	return max(0, min(part, l.cpus))
}

// resourceShape is shared by jobs with the same needs. If one of these jobs fits, all of them do.
type resourceShape struct {
	needs
	*footprint
	refs int

	hopeless uint64 // the number of the last pass in which no reservation was possible for this shape
}

// footprint is shared by the shapes that have the same GPU needs. A pass examines the GPUs only
// once for all these shapes.
type footprint struct {
	key    footprintKey
	shapes int
	whole  int
	part   int
	alone  bool // no foreign process may be on the job's whole GPUs

	machine uint64 // the value of Snapshot.Machine for which the field qual is valid
	qual    []bool // by position, whether each GPU could ever serve these jobs

	pass      uint64 // the number of the pass for which the fields below are valid
	inService int    // the number of GPUs that are in service and could serve these jobs
	atStart   answer // whether the GPUs were free when the pass began
	ever      answer // whether the GPUs are free once all running jobs have ended
}

func newShape(r *job.Request) *resourceShape { return shapeOf(r, needsOf(r)) }

func shapeOf(r *job.Request, n needs) *resourceShape {
	f := footprint{key: n.footprintKey(), whole: r.Whole(), part: r.Part(), alone: r.Alone()}
	return &resourceShape{needs: n, footprint: &f}
}

// detach returns a shape with the same needs that belongs to no queue.
func (sh *resourceShape) detach() *resourceShape {
	f := footprint{key: sh.key, whole: sh.whole, part: sh.part, alone: sh.alone}
	return &resourceShape{needs: sh.needs, footprint: &f}
}

// qualify computes which GPUs could ever serve jobs of the footprint.
func (f *footprint) qualify(s *Snapshot) {
	if f.machine == s.Machine && len(f.qual) == len(s.GPUs) {
		return
	}
	f.machine, f.qual = s.Machine, slices.Grow(f.qual[:0], len(s.GPUs))
	for i := range s.GPUs {
		g := &s.GPUs[i]
		f.qual = append(f.qual, f.key.allows(g.Index) && f.key.takes(g) && g.MemTotalBytes >= f.key.gpuMem)
	}
}

func (n *gpuNeeds) allows(index int) bool {
	switch {
	case n.without.Has(index):
		return false
	case n.ids != "":
		return n.ids.Has(index)
	case n.from != "":
		return n.from.Has(index)
	}
	return true
}

// takes reports whether a GPU is of the type that the job asks for, and serves MPS if the job uses
// it. If the machine has whole GPUs
// too, a job gets a slice only if the job names slices, by their type or by their indexes.
func (n *gpuNeeds) takes(g *GPU) bool {
	if g.OnlyNamed && n.ids == "" && n.from == "" && !gpu.NamesSlice(n.gpuType) {
		return false
	}
	return g.isType(n.gpuType) && (n.mates.UID() < 0 || g.NoMPS.IsZero())
}

func (g *GPU) isType(want string) bool { return gpu.Device{Name: g.Model}.TypeMatches(want) }

// partBytes returns the memory that comes with the part of the GPU: the requested amount or, if
// none was requested, the same part of the usable memory.
func (sh *resourceShape) partBytes(g *GPU) int64 {
	if sh.gpuMem > 0 {
		return sh.gpuMem
	}
	return g.UsableBytes / job.WholeGPU * int64(sh.part)
}

// partOf grants the part of the GPU at a position.
func (sh *resourceShape) partOf(s *Snapshot, i int) Grant {
	return Grant{GPU: i, Milli: sh.part, Bytes: sh.partBytes(&s.GPUs[i]), Mates: sh.mates}
}

// partFits reports whether the GPU has enough memory for the part. If the job did not ask for a
// number of bytes, the part may be smaller by the slack.
func (sh *resourceShape) partFits(g *GPU, free int64) bool {
	if sh.gpuMem > 0 {
		return free >= sh.gpuMem
	}
	return free+g.SlackBytes >= sh.partBytes(g)
}

// withinLimits reports whether the GPU's load and its used memory are within the limits of the job
// and the site. It considers what is known of them at the horizon. If a limit is exceeded, it
// returns the first reason.
func (sh *resourceShape) withinLimits(p *Policy, g *GPU, at horizon) (job.Reason, bool) {
	maxLoad, maxUsed := job.Tighter(sh.maxLoad, p.MaxLoadPercent), job.Tighter(sh.maxUsed, p.MaxUsedPercent)
	load, bytes := g.knownUse(at)
	used, free := g.percent(bytes), g.MemTotalBytes-bytes
	switch {
	case maxLoad > 0 && load > maxLoad:
		return job.Reason{Code: job.ReasonGPULoad, Need: int64(maxLoad), Have: int64(load)}, false
	case maxUsed > 0 && used > maxUsed:
		return job.Reason{Code: job.ReasonGPUUsed, Need: int64(maxUsed), Have: int64(used)}, false
	case free < p.MinFreeBytes && !g.usesHostMemory():
		return job.Reason{Code: job.ReasonGPUMemory, Need: p.MinFreeBytes, Have: free}, false
	}
	return job.Reason{}, true
}
