package sched

import "slices"

// Plan places as many waiting jobs as fit, in order. A job that does not fit
// is passed over. The snapshot is not changed.
func Plan(s *Snapshot) []Placement {
	f := newFit(s)
	var plan []Placement
	for i := range s.Waiting {
		w := &s.Waiting[i]
		if f.host.full() {
			break
		}
		if gpus, ok := f.place(w); ok {
			plan = append(plan, Placement{Job: w.ID, GPUs: gpus})
		}
	}
	return plan
}

// fit is the state of one pass: what the snapshot says less what the pass has
// given out.
type fit struct {
	snap *Snapshot
	host Host
	free []int // positions of GPUs that hold nothing and are OK, in index order
}

func newFit(s *Snapshot) *fit {
	f := &fit{snap: s, host: s.Host}
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.State == OK && len(g.Held) == 0 {
			f.free = append(f.free, i)
		}
	}
	// GPUs that a process from outside uses come last.
	slices.SortStableFunc(f.free, func(a, b int) int {
		return boolOrder(s.GPUs[a].Foreign) - boolOrder(s.GPUs[b].Foreign)
	})
	return f
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (h *Host) full() bool { return h.MaxRunning > 0 && h.Running >= h.MaxRunning }

func (h *Host) fits(mem int64) bool { return h.MemBytes == 0 || h.PromisedMem+mem <= h.MemBytes }

// place gives w its GPUs and takes them from the pass, or changes nothing.
func (f *fit) place(w *Waiting) ([]int, bool) {
	r := w.Request
	need := r.GPUMilli / 1000
	if need > len(f.free) || !f.host.fits(r.MemBytes) {
		return nil, false
	}
	var chosen []int
	for _, pos := range f.free {
		if len(chosen) < need && Qualifies(&f.snap.GPUs[pos], r) && f.snap.GPUs[pos].free() >= r.GPUMemBytes {
			chosen = append(chosen, pos)
		}
	}
	if len(chosen) < need {
		return nil, false
	}
	f.free = slices.DeleteFunc(f.free, func(pos int) bool { return slices.Contains(chosen, pos) })
	f.host.Running++
	f.host.PromisedMem += r.MemBytes
	slices.Sort(chosen)
	return chosen, true
}
