package sched

import (
	"math/bits"
	"slices"
)

// maxExact is up to how many candidates all sets are compared.
const maxExact = 16

// chooseSet returns n of the candidates, positions in ascending order: the set
// with the fewest GPUs that a process from outside uses, then with the heaviest
// links among its members, then the one that leaves the heaviest links among
// the others, then the lowest positions. The weight left
// to the others is that of all links less the links of each member, of which
// those inside the set count twice: with equal weight inside, the lightest sum
// of links leaves the most.
func (p *Planner) chooseSet(list []int, n int) []int {
	p.set = p.set[:0]
	if n == 0 {
		return p.set
	}
	if n >= len(list) {
		return append(p.set, list[:n]...)
	}
	if len(p.s.Links) == 0 {
		return p.lowest(list, n)
	}
	p.degree = p.degree[:0]
	for _, a := range list {
		sum := int64(0)
		for _, b := range list {
			sum += p.link(a, b)
		}
		p.degree = append(p.degree, sum)
	}
	if len(list) <= maxExact {
		p.exact(list, n)
	} else {
		p.greedy(list, n)
	}
	return p.set
}

// lowest is the set where all links are alike.
func (p *Planner) lowest(list []int, n int) []int {
	for _, foreign := range [2]bool{false, true} {
		for _, i := range list {
			if p.s.GPUs[i].Foreign == foreign && len(p.set) < n {
				p.set = append(p.set, i)
			}
		}
	}
	slices.Sort(p.set)
	return p.set
}

// link is the weight of the link between two GPUs; none to itself.
func (p *Planner) link(a, b int) int64 {
	if a == b {
		return 0
	}
	return int64(p.s.Links[a*len(p.s.GPUs)+b])
}

// setScore compares sets: foreign use first, then what is inside, then what is
// left to the others.
type setScore struct{ foreign, inside, degree int64 }

func (w setScore) better(o setScore) bool {
	if w.foreign != o.foreign {
		return w.foreign < o.foreign
	}
	return w.inside > o.inside || w.inside == o.inside && w.degree < o.degree
}

// exact compares all sets of n of at most 16 candidates, which are the bits of a
// mask from the highest down: the lowest positions come first.
func (p *Planner) exact(list []int, n int) {
	var best setScore
	k := len(list)
	in, kept := make([]bool, k), make([]bool, k)
	first := uint32(1)<<k - uint32(1)<<(k-n)
	for mask := first; mask > 0; mask-- {
		if bits.OnesCount32(mask) != n {
			continue
		}
		for at := range in {
			in[at] = mask&(1<<(k-1-at)) != 0
		}
		if w := p.score(list, in); mask == first || w.better(best) {
			best = w
			copy(kept, in)
		}
	}
	p.take(list, kept)
}

// take makes a set of those of the candidates that are in it.
func (p *Planner) take(list []int, in []bool) {
	for at, i := range list {
		if in[at] {
			p.set = append(p.set, i)
		}
	}
}

// greedy grows a set from each candidate by the heaviest link to it, keeps the
// best and improves it by swaps.
func (p *Planner) greedy(list []int, n int) {
	var best setScore
	in := make([]bool, len(list))
	kept := make([]bool, len(list))
	for seed := range list {
		clear(in)
		in[seed] = true
		for range n - 1 {
			in[p.heaviest(list, in)] = true
		}
		if w := p.score(list, in); seed == 0 || w.better(best) {
			best = w
			copy(kept, in)
		}
	}
	for p.swap(list, kept, &best) {
	}
	p.take(list, kept)
}

// heaviest returns the candidate outside the set with the heaviest links to it.
func (p *Planner) heaviest(list []int, in []bool) int {
	best, weight := -1, int64(-1)
	for at, a := range list {
		if in[at] {
			continue
		}
		sum := int64(0)
		for other, b := range list {
			if in[other] {
				sum += p.link(a, b)
			}
		}
		if sum > weight {
			best, weight = at, sum
		}
	}
	return best
}

// score sums up a set.
func (p *Planner) score(list []int, in []bool) (w setScore) {
	for at, a := range list {
		if !in[at] {
			continue
		}
		w.degree += p.degree[at]
		if p.s.GPUs[a].Foreign {
			w.foreign++
		}
		for other := range at {
			if in[other] {
				w.inside += p.link(a, list[other])
			}
		}
	}
	return w
}

// swap makes the first exchange that is better, and reports whether there was
// one.
func (p *Planner) swap(list []int, in []bool, best *setScore) bool {
	for out := range list {
		for other := range list {
			if !in[out] || in[other] {
				continue
			}
			in[out], in[other] = false, true
			if w := p.score(list, in); w.better(*best) {
				*best = w
				return true
			}
			in[out], in[other] = true, false
		}
	}
	return false
}
