package sched

import (
	"math/bits"
	"slices"
)

// maxExact is the largest number of candidates for which all sets are compared.
const maxExact = 16

// chooseSet returns n of the candidates, as positions in ascending order. It prefers the set with
// the fewest GPUs with foreign processes, then the set with the heaviest links inside, then the set
// that leaves the heaviest links among the other candidates, then the lowest positions. The links
// among the others weigh as much as all links, minus the links of each member, plus the links
// inside, since these were subtracted twice. So if several sets have equal weight inside, the set
// whose members have the lightest links leaves the most.
func (c *chooser) chooseSet(list []int, n int) []int {
	c.set = c.set[:0]
	if n == 0 {
		return c.set
	}
	if n >= len(list) {
		return append(c.set, list[:n]...)
	}
	if len(c.pass.s.Links) == 0 {
		return c.lowestSet(list, n)
	}
	c.degree = c.degree[:0]
	for _, a := range list {
		sum := int64(0)
		for _, b := range list {
			sum += c.link(a, b)
		}
		c.degree = append(c.degree, sum)
	}
	if len(list) <= maxExact {
		c.compareSets(list, n)
	} else {
		c.greedy(list, n)
	}
	return c.set
}

// lowestSet returns the set that chooseSet prefers if all links are alike.
func (c *chooser) lowestSet(list []int, n int) []int {
	for _, foreign := range [2]bool{false, true} {
		for _, i := range list {
			if c.pass.s.GPUs[i].Foreign == foreign && len(c.set) < n {
				c.set = append(c.set, i)
			}
		}
	}
	slices.Sort(c.set)
	return c.set
}

// link returns the weight of the link between two GPUs. For a GPU and itself it returns 0.
func (c *chooser) link(a, b int) int64 {
	if a == b {
		return 0
	}
	return int64(c.pass.s.Links[a*len(c.pass.s.GPUs)+b])
}

// setScore has the values by which sets are compared: first the number of GPUs with foreign
// processes, then the weight of the links inside, then the weight of all links of the members.
type setScore struct{ foreign, inside, degree int64 }

func (w setScore) better(o setScore) bool {
	if w.foreign != o.foreign {
		return w.foreign < o.foreign
	}
	return w.inside > o.inside || w.inside == o.inside && w.degree < o.degree
}

// compareSets compares all sets of n among at most 16 candidates. A set is a bit mask. The masks
// are tried from the highest to the lowest, so that the lowest positions come first.
func (c *chooser) compareSets(list []int, n int) {
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
		if w := c.score(list, in); mask == first || w.better(best) {
			best = w
			copy(kept, in)
		}
	}
	c.take(list, kept)
}

// take appends to c.set the candidates that are in the set.
func (c *chooser) take(list []int, in []bool) {
	for at, i := range list {
		if in[at] {
			c.set = append(c.set, i)
		}
	}
}

// greedy builds a set from each candidate by always adding the heaviest link. It keeps the best
// set, and improves it by swaps.
func (c *chooser) greedy(list []int, n int) {
	var best setScore
	in := make([]bool, len(list))
	kept := make([]bool, len(list))
	for seed := range list {
		clear(in)
		in[seed] = true
		for range n - 1 {
			in[c.heaviest(list, in)] = true
		}
		if w := c.score(list, in); seed == 0 || w.better(best) {
			best = w
			copy(kept, in)
		}
	}
	for c.swap(list, kept, &best) {
	}
	c.take(list, kept)
}

// heaviest returns the candidate outside the set that has the heaviest links to the set.
func (c *chooser) heaviest(list []int, in []bool) int {
	best, weight := -1, int64(-1)
	for at, a := range list {
		if in[at] {
			continue
		}
		sum := int64(0)
		for other, b := range list {
			if in[other] {
				sum += c.link(a, b)
			}
		}
		if sum > weight {
			best, weight = at, sum
		}
	}
	return best
}

// score computes the values of a set.
func (c *chooser) score(list []int, in []bool) (w setScore) {
	for at, a := range list {
		if !in[at] {
			continue
		}
		w.degree += c.degree[at]
		if c.pass.s.GPUs[a].Foreign {
			w.foreign++
		}
		for other := range at {
			if in[other] {
				w.inside += c.link(a, list[other])
			}
		}
	}
	return w
}

// swap exchanges a member for another candidate. It makes the first exchange that improves the set,
// and reports whether there was one.
func (c *chooser) swap(list []int, in []bool, best *setScore) bool {
	for out := range list {
		for other := range list {
			if !in[out] || in[other] {
				continue
			}
			in[out], in[other] = false, true
			if w := c.score(list, in); w.better(*best) {
				*best = w
				return true
			}
			in[out], in[other] = true, false
		}
	}
	return false
}
