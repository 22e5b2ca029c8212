package sched

import (
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched/links"
)

// chooser picks the GPUs for queries that fit.
type chooser struct {
	pass       *pass
	backfill   *backfill
	grants     []Grant
	candidates []int
	links      links.Chooser
}

func (c *chooser) begin() {
	largest := int64(0)
	for i := range c.pass.s.GPUs {
		largest = max(largest, c.pass.s.GPUs[i].MemTotalBytes)
	}
	c.links.GPUs, c.links.Links = c.links.GPUs[:0], c.pass.s.Links
	for i := range c.pass.s.GPUs {
		g := &c.pass.s.GPUs[i]
		small := isSmall(g.MemTotalBytes, largest)
		c.links.GPUs = append(c.links.GPUs, links.GPU{Model: g.Model, Foreign: g.Foreign, Small: small})
	}
	for _, b := range c.pass.q.buckets {
		if b.shape.slot == noSlot {
			b.shape.qualify(c.pass.s)
			for i, on := range b.shape.qual {
				c.links.GPUs[i].Wanted = c.links.GPUs[i].Wanted || on
			}
		}
	}
}

// A small GPU, such as a GPU for a display, has at most 8 GiB of memory, and also less than a
// quarter of the memory of the largest GPU.
const (
	smallPart = 4
	smallMost = 8 << 30
)

func isSmall(bytes, largest int64) bool {
	return bytes > 0 && bytes <= smallMost && bytes < largest/smallPart
}

// choose returns the GPUs for a query that fits. The result is valid until the next call.
func (c *chooser) choose(q *query, l *capacity) []Grant {
	c.grants = c.grants[:0]
	if q.shape.milli == 0 {
		return c.grants
	}
	c.candidates = c.candidates[:0]
	for i := range l.gpus {
		if c.pass.s.mayUse(q, l, i) && c.pass.s.wholeFits(q, l, i) {
			c.candidates = append(c.candidates, i)
		}
	}
	if q.shape.part > 0 {
		c.choosePart(q, l)
	}
	for _, i := range c.links.Choose(c.links.DropWorse(c.candidates, q.shape.whole), q.shape.whole) {
		c.grants = append(c.grants, Grant{GPU: i, Milli: job.WholeGPU, Bytes: q.shape.gpuMem, Mates: q.shape.mates})
	}
	sortGrants(c.grants)
	return c.grants
}

// choosePart grants a part of one GPU, and removes that GPU from the candidates for the whole GPUs.
func (c *chooser) choosePart(q *query, l *capacity) {
	best := -1
	for i := range l.gpus {
		if !c.pass.s.mayUse(q, l, i) || !c.pass.s.partFits(q, l, i) {
			continue
		}
		if c.pass.s.wholeFits(q, l, i) && len(c.candidates) <= q.shape.whole {
			continue // too few candidates would be left for the whole GPUs
		}
		if best < 0 || c.betterPart(q.shape, l, i, best) {
			best = i
		}
	}
	c.grants = append(c.grants, q.shape.partOf(c.pass.s, best))
	for at, i := range c.candidates {
		if i == best {
			c.candidates = append(c.candidates[:at], c.candidates[at+1:]...)
			break
		}
	}
}

// betterPart reports whether GPU a suits a request for a part of a GPU better than GPU b. The index
// a is higher than b, and b wins a tie.
func (c *chooser) betterPart(sh *resourceShape, l *capacity, a, b int) bool {
	x, y := &l.gpus[a], &l.gpus[b]
	switch {
	case c.pass.s.GPUs[a].Foreign != c.pass.s.GPUs[b].Foreign:
		return c.pass.s.GPUs[b].Foreign
	case c.backfill.keepsWhole(a) != c.backfill.keepsWhole(b):
		return c.backfill.keepsWhole(b)
	case c.links.GPUs[a].Small != c.links.GPUs[b].Small:
		return c.links.GPUs[b].Small
	case x.milli != y.milli:
		return (x.milli < y.milli) != sh.spread
	}
	return x.jobs < y.jobs
}

// chooseLatest returns the GPUs that become free last, for use in a reservation. Until the reserved
// start, other jobs can use the GPUs that become free earlier.
func (c *chooser) chooseLatest(q *query, l *capacity) []Grant {
	c.grants = c.grants[:0]
	for range q.shape.whole {
		best := -1
		for i := range l.gpus {
			later := best < 0 || l.gpus[i].since > l.gpus[best].since
			if later && c.pass.s.mayUse(q, l, i) && c.pass.s.wholeFits(q, l, i) && !granted(c.grants, i) {
				best = i
			}
		}
		c.grants = append(c.grants, Grant{GPU: best, Milli: job.WholeGPU, Bytes: q.shape.gpuMem, Mates: q.shape.mates})
	}
	if q.shape.part > 0 {
		c.latestPart(q, l)
	}
	sortGrants(c.grants)
	return c.grants
}

// latestPart grants the part of a GPU, in addition to the whole GPUs. If the part fits only on GPUs
// that were chosen as whole GPUs already, it takes one of these, and another GPU is chosen as a
// whole GPU instead.
func (c *chooser) latestPart(q *query, l *capacity) {
	best, taken := -1, -1
	for i := range l.gpus {
		if !c.pass.s.mayUse(q, l, i) || !c.pass.s.partFits(q, l, i) {
			continue
		}
		if granted(c.grants, i) {
			taken = i
		} else if best < 0 || l.gpus[i].since > l.gpus[best].since {
			best = i
		}
	}
	if best < 0 {
		for at := range c.grants {
			if c.grants[at].GPU == taken {
				c.grants[at].GPU = c.anotherWhole(q, l)
			}
		}
		best = taken
	}
	c.grants = append(c.grants, q.shape.partOf(c.pass.s, best))
}

func (c *chooser) anotherWhole(q *query, l *capacity) int {
	for i := range l.gpus {
		if c.pass.s.mayUse(q, l, i) && c.pass.s.wholeFits(q, l, i) && !granted(c.grants, i) {
			return i
		}
	}
	return -1 // unreachable, since a query fits only if there is one more GPU
}

// sortGrants sorts a few grants by position without allocating.
func sortGrants(list []Grant) {
	for i := 1; i < len(list); i++ {
		for k := i; k > 0 && list[k].GPU < list[k-1].GPU; k-- {
			list[k], list[k-1] = list[k-1], list[k]
		}
	}
}
