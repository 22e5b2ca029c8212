package sched

import "slices"

// facts are what answers of a footprint rest on that are to outlast a pass: most passes
// find the GPUs as the one before left them.
type facts struct {
	number  uint64 // changes with them
	machine uint64
	policy  Policy
	gpus    []gpuFacts
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
	f.machine, f.policy = s.Machine, s.Policy
	f.gpus = slices.Grow(f.gpus[:0], len(s.GPUs))[:len(s.GPUs)]
	for i := range s.GPUs {
		now := factsOf(&s.GPUs[i], &p.start.gpus[i], &p.final.gpus[i])
		same = same && f.gpus[i] == now
		f.gpus[i] = now
	}
	if !same {
		f.number++
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
