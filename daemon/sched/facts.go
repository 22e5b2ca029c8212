package sched

import "slices"

// facts are what answers of a footprint rest on that are to outlast a pass: most passes
// find the GPUs as the one before left them.
type facts struct {
	number  uint64 // changes with them
	machine uint64
	policy  Policy
	gpus    []gpuFacts

	service []bool // by position: it is out for a moment at most
	changed uint64 // the number of when that was last otherwise
}

// inService is how many of the GPUs that are in service could serve a footprint.
func (f *facts) inService(of *footprint, s *Snapshot) int {
	if of.counted == f.changed {
		return of.count
	}
	of.qualify(s)
	of.counted, of.count = f.changed, 0
	for i, is := range f.service {
		if is && of.qual[i] {
			of.count++
		}
	}
	return of.count
}

// gpuFacts are those of one GPU.
type gpuFacts struct {
	start, final gpuCapacity
	load         int
	used         int64

	total, usable, slack int64
	foreign              int64
	occupied, unified    bool
}

// update notes how the GPUs are as the pass begins.
func (f *facts) update(p *Planner) {
	s := p.s
	same := f.number > 0 && f.machine == s.Machine && f.policy == s.Policy && len(f.gpus) == len(s.GPUs)
	inService := same
	f.machine, f.policy = s.Machine, s.Policy
	f.service = slices.Grow(f.service[:0], len(s.GPUs))[:len(s.GPUs)]
	f.gpus = slices.Grow(f.gpus[:0], len(s.GPUs))[:len(s.GPUs)]
	for i := range s.GPUs {
		now := factsOf(&s.GPUs[i], &p.start.gpus[i], &p.final.gpus[i])
		same = same && f.gpus[i] == now
		f.gpus[i] = now
		is := s.GPUs[i].inService()
		inService = inService && f.service[i] == is
		f.service[i] = is
	}
	if !same {
		f.number++
	}
	if !inService {
		f.changed++
	}
}

// factsOf leaves out what nobody asks of a GPU that is not free.
func factsOf(g *GPU, start, final *gpuCapacity) gpuFacts {
	f := gpuFacts{
		final: *final, total: g.MemTotalBytes, usable: g.UsableBytes, slack: g.SlackBytes,
		foreign: g.ForeignBytes, occupied: g.Occupied, unified: g.unified(),
	}
	if start.ok && start.milli > 0 {
		f.start, f.load, f.used = *start, g.LoadPercent, g.MemTotalBytes-g.MemFreeBytes
	}
	f.start.since, f.final.since = 0, 0
	return f
}
