package sched

// preferred leaves out candidates for n whole GPUs where there are enough others: first those that a process from
// outside uses, then small ones, then those of other models than the first of which there are enough.
func (c *chooser) preferred(list []int, n int) []int {
	list, enough := c.only(list, n, func(i int) bool { return !c.pass.s.GPUs[i].Foreign })
	if !enough {
		return list
	}
	list, _ = c.only(list, n, func(i int) bool { return !c.isSmall(i) })
	for at, i := range list {
		model := c.pass.s.GPUs[i].Model
		if n < 2 || at > 0 && c.pass.s.GPUs[list[at-1]].Model == model {
			continue // one is like itself, and that model was looked at
		}
		if alike, enough := c.only(list, n, func(i int) bool { return c.pass.s.GPUs[i].Model == model }); enough {
			return alike
		}
	}
	return list
}

// only returns the ones of a list that are good, or all of it where these are fewer than n. The result is valid until
// the next call with another list.
func (c *chooser) only(list []int, n int, good func(int) bool) (some []int, enough bool) {
	count := 0
	for _, i := range list {
		if good(i) {
			count++
		}
	}
	if count < n || count == len(list) {
		return list, count >= n
	}
	some = c.own[:0] // the list may be in it
	for _, i := range list {
		if good(i) {
			some = append(some, i)
		}
	}
	c.own = some
	return some, true
}

// A GPU is small, as those for a display are, with less than a quarter of the largest one's memory and at most 8 GiB.
const (
	smallPart = 4
	smallMost = 8 << 30
)

// isSmall reports whether a GPU has so little memory beside the machine's largest.
func (c *chooser) isSmall(i int) bool {
	bytes := c.pass.s.GPUs[i].MemTotalBytes
	return bytes > 0 && bytes <= smallMost && bytes < c.largest/smallPart
}
