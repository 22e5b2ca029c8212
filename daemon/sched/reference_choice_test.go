package sched

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// choose applies rule "Choice".
func (r *reference) choose(w *Waiting, m machine, when horizon) []Grant {
	q := w.Request
	whole, part := r.usableGPUs(w, m, r.s.Now, when)
	var out []Grant
	if q.Part() > 0 {
		part = slices.DeleteFunc(part, func(i int) bool { return len(without(whole, i)) < q.Whole() })
		best := slices.MinFunc(part, func(a, b int) int { return r.comparePart(q, m, a, b) })
		out = append(out, r.partOf(q, best))
		whole = without(whole, best)
	}
	for _, i := range r.bestSet(whole, q.Whole()) {
		out = append(out, Grant{GPU: i, Milli: 1000, Bytes: q.GPUMemBytes, Mates: q.Mates})
	}
	slices.SortFunc(out, func(a, b Grant) int { return a.GPU - b.GPU })
	return out
}

func (r *reference) partOf(q *job.Request, i int) Grant {
	bytes := q.GPUMemBytes
	if bytes == 0 {
		bytes = r.s.GPUs[i].UsableBytes / 1000 * int64(q.Part())
	}
	return Grant{GPU: i, Milli: q.Part(), Bytes: bytes, Mates: q.Mates}

}

func (r *reference) comparePart(q *job.Request, m machine, a, b int) int {
	if x, y := r.s.GPUs[a].Foreign, r.s.GPUs[b].Foreign; x != y {
		if x {
			return 1
		}
		return -1
	}
	if x, y := r.small(a), r.small(b); x != y {
		return truth(x) - truth(y)
	}
	if x, y := r.keptWhole(a), r.keptWhole(b); x != y {
		return truth(x) - truth(y)
	}
	room := m.gpus[a].milli - m.gpus[b].milli
	if q.Spread {
		room = -room
	}
	for _, d := range []int{room, m.gpus[a].jobs - m.gpus[b].jobs} {
		if d != 0 {
			return d
		}
	}
	return a - b
}

func (r *reference) keptWhole(gpu int) bool {
	return slices.ContainsFunc(r.kept, func(k refKept) bool {
		return slices.Contains(wholes(k.grants), gpu)
	})
}

// wholes returns the GPUs that are granted as whole GPUs.
func wholes(grants []Grant) (list []int) {
	for _, g := range grants {
		if g.Milli == 1000 {
			list = append(list, g.GPU)
		}
	}
	return list
}

// bestSet leaves out GPUs with foreign processes if enough others are left. If it does, it also
// leaves out small GPUs, and then those for which parked jobs wait, if enough are left. It then keeps only the first model that has enough
// GPUs. It compares all sets of n of the GPUs that are left: by the number of GPUs with foreign
// processes, then by the links inside the set, then by the links among the other GPUs, then by the
// lowest positions.
func (r *reference) bestSet(list []int, n int) []int {
	own := slices.DeleteFunc(slices.Clone(list), func(i int) bool { return r.s.GPUs[i].Foreign })
	if len(own) >= n {
		list = r.alike(own, n)
	}
	var best []int
	var worth [3]int64
	subsets(list, n, func(set []int) {
		v := r.worthOf(list, set)
		if best == nil || slices.Compare(v[:], worth[:]) > 0 {
			best, worth = slices.Clone(set), v
		}
	})
	return best
}

func (r *reference) alike(list []int, n int) []int {
	if large := slices.DeleteFunc(slices.Clone(list), r.small); len(large) >= n {
		list = large
	}
	waits := func(i int) bool {
		return slices.ContainsFunc(r.waiting, func(w *Waiting) bool {
			return w.Returns && mayUseGPU(w, &r.s.GPUs[i]) && (w.Request.Mates <= 0 || r.s.GPUs[i].NoMPS.IsZero())
		})
	}
	if rest := slices.DeleteFunc(slices.Clone(list), waits); len(rest) >= n {
		list = rest
	}
	for _, i := range list {
		other := func(k int) bool { return r.s.GPUs[k].Model != r.s.GPUs[i].Model }
		if same := slices.DeleteFunc(slices.Clone(list), other); n > 1 && len(same) >= n {
			return same
		}
	}
	return list
}

func (r *reference) small(gpu int) bool {
	largest := slices.MaxFunc(r.s.GPUs, func(a, b GPU) int { return int(a.MemTotalBytes>>20 - b.MemTotalBytes>>20) })
	own := r.s.GPUs[gpu].MemTotalBytes
	return own > 0 && own < largest.MemTotalBytes/4
}

func (r *reference) worthOf(list, set []int) (v [3]int64) {
	for _, i := range set {
		if r.s.GPUs[i].Foreign {
			v[0]--
		}
	}
	if len(r.s.Links) == 0 {
		return v
	}
	for x, a := range list {
		for _, b := range list[:x] {
			link := int64(r.s.Links[a*len(r.s.GPUs)+b])
			switch in, too := slices.Contains(set, a), slices.Contains(set, b); {
			case in && too:
				v[1] += link
			case !in && !too:
				v[2] += link
			}
		}
	}
	return v
}

// subsets calls visit for each subset of n elements of the list. Subsets with the lowest positions
// come first.
func subsets(list []int, n int, visit func([]int)) {
	set := make([]int, 0, n)
	var grow func(from int)
	grow = func(from int) {
		if len(set) == n {
			visit(set)
			return
		}
		for i := from; i < len(list); i++ {
			set = append(set, list[i])
			grow(i + 1)
			set = set[:len(set)-1]
		}
	}
	grow(0)
}
