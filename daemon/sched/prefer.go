package sched

// dropWorse removes the worse candidates if enough others are left for n whole GPUs. First it
// removes GPUs with foreign processes, then small GPUs. Then it removes all models but one: the
// first model with enough GPUs.
func (c *chooser) dropWorse(list []int, n int) []int {
	list, enough := c.goodOrAll(list, n, func(i int) bool { return !c.pass.s.GPUs[i].Foreign })
	if !enough {
		return list
	}
	list, _ = c.goodOrAll(list, n, func(i int) bool { return !c.isSmall(i) })
	for at, i := range list {
		model := c.pass.s.GPUs[i].Model
		if n < 2 || at > 0 && c.pass.s.GPUs[list[at-1]].Model == model {
			continue // a single GPU needs no common model, or this model was tried already
		}
		if alike, enough := c.goodOrAll(list, n, func(i int) bool { return c.pass.s.GPUs[i].Model == model }); enough {
			return alike
		}
	}
	return list
}

// goodOrAll returns the good elements of a list. If fewer than n elements are good, it returns the
// whole list. The result is valid until the next call with another list.
func (c *chooser) goodOrAll(list []int, n int, good func(int) bool) (some []int, enough bool) {
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

// A small GPU, such as a GPU for a display, has at most 8 GiB of memory, and also less than a
// quarter of the memory of the largest GPU.
const (
	smallPart = 4
	smallMost = 8 << 30
)

func (c *chooser) isSmall(i int) bool {
	bytes := c.pass.s.GPUs[i].MemTotalBytes
	return bytes > 0 && bytes <= smallMost && bytes < c.largest/smallPart
}
