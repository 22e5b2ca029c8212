package links

import (
	"math/bits"
	"slices"
)

// GPU is what the choice depends on.
type GPU struct {
	Model   string
	Foreign bool // processes that belong to no job are on it
	Small   bool
	Wanted  bool // a parked job waits for it
}

// Chooser chooses GPUs of a machine. A GPU is given by its position in the field GPUs.
type Chooser struct {
	GPUs  []GPU
	Links []int32 // weight of the link between GPUs a and b at a*len(GPUs)+b; empty: all links are alike

	own    []int
	set    []int
	degree []int64
}

// maxExact is the largest number of candidates for which all sets are compared.
const maxExact = 16

// Choose returns n of the candidates in ascending order. The result is valid until the next call.
// Choose prefers the set with the fewest GPUs with foreign processes, then the set with the heaviest
// links inside, then the set that leaves the heaviest links among the other candidates, then the
// lowest positions. The links among the others weigh as much as all links, minus the links of each
// member, plus the links inside, since these were subtracted twice. So if several sets have equal
// weight inside, the set whose members have the lightest links leaves the most.
func (c *Chooser) Choose(list []int, n int) []int {
	c.set = c.set[:0]
	if n == 0 {
		return c.set
	}
	if n >= len(list) {
		return append(c.set, list[:n]...)
	}
	if len(c.Links) == 0 {
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

// lowestSet returns the set that Choose prefers if all links are alike.
func (c *Chooser) lowestSet(list []int, n int) []int {
	for _, foreign := range [2]bool{false, true} {
		for _, i := range list {
			if c.GPUs[i].Foreign == foreign && len(c.set) < n {
				c.set = append(c.set, i)
			}
		}
	}
	slices.Sort(c.set)
	return c.set
}

// link returns the weight of the link between two GPUs. For a GPU and itself it returns 0.
func (c *Chooser) link(a, b int) int64 {
	if a == b {
		return 0
	}
	return int64(c.Links[a*len(c.GPUs)+b])
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
func (c *Chooser) compareSets(list []int, n int) {
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
func (c *Chooser) take(list []int, in []bool) {
	for at, i := range list {
		if in[at] {
			c.set = append(c.set, i)
		}
	}
}

// greedy builds a set from each candidate by always adding the heaviest link. It keeps the best
// set, and improves it by swaps.
func (c *Chooser) greedy(list []int, n int) {
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
func (c *Chooser) heaviest(list []int, in []bool) int {
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
func (c *Chooser) score(list []int, in []bool) (w setScore) {
	for at, a := range list {
		if !in[at] {
			continue
		}
		w.degree += c.degree[at]
		if c.GPUs[a].Foreign {
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
func (c *Chooser) swap(list []int, in []bool, best *setScore) bool {
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

// DropWorse removes the worse candidates if enough others are left for n whole GPUs. First it
// removes GPUs with foreign processes, then small GPUs, then GPUs for which parked jobs wait. Then it
// removes all models but one: the first model with enough GPUs.
func (c *Chooser) DropWorse(list []int, n int) []int {
	list, enough := c.goodOrAll(list, n, func(i int) bool { return !c.GPUs[i].Foreign })
	if !enough {
		return list
	}
	list, _ = c.goodOrAll(list, n, func(i int) bool { return !c.GPUs[i].Small })
	list, _ = c.goodOrAll(list, n, func(i int) bool { return !c.GPUs[i].Wanted })
	for at, i := range list {
		model := c.GPUs[i].Model
		if n < 2 || at > 0 && c.GPUs[list[at-1]].Model == model {
			continue // a single GPU needs no common model, or this model was tried already
		}
		if alike, enough := c.goodOrAll(list, n, func(i int) bool { return c.GPUs[i].Model == model }); enough {
			return alike
		}
	}
	return list
}

// goodOrAll returns the good elements of a list. If fewer than n elements are good, it returns the
// whole list. The result is valid until the next call with another list.
func (c *Chooser) goodOrAll(list []int, n int, good func(int) bool) (some []int, enough bool) {
	count := 0
	for _, i := range list {
		if good(i) {
			count++
		}
	}
	if count < n || count == len(list) {
		return list, count >= n
	}
	some = c.own[:0] // the list may use the memory of c.own
	for _, i := range list {
		if good(i) {
			some = append(some, i)
		}
	}
	c.own = some
	return some, true
}
