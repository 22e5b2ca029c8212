package sched

import (
	"slices"
	"sort"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Time that a job waits because of its account's quotas does not count as waiting. It is measured
// by account and size, so that all jobs of a bucket lose the same time and keep their order.

// cappedSizes is the number of sizes: no GPU, a part of one, 1 to 15 GPUs, 16 or more.
const cappedSizes = 18

// sizeOf returns the size of jobs that ask this much of GPUs. It ignores a part beside whole GPUs:
// an account that is capped for less is capped for more.
func sizeOf(milli int) int {
	switch {
	case milli <= 0:
		return 0
	case milli < job.WholeGPU:
		return 1
	}
	return min(1+milli/job.WholeGPU, cappedSizes-1)
}

// smallest returns the least that a job of a size asks of GPUs.
func smallest(size int) int {
	switch size {
	case 0:
		return 0
	case 1:
		return 1
	}
	return (size - 1) * job.WholeGPU
}

// cappedClock measures, for each size, how long the account could start no job of it.
type cappedClock struct {
	at    Instant // total is complete up to this moment
	sizes int     // number of sizes, from the largest down, that have been capped since
	total [cappedSizes]time.Duration
}

func (c *cappedClock) read(size int, now Instant) time.Duration {
	sum := c.total[size]
	if size >= cappedSizes-c.sizes && now > c.at {
		sum += time.Duration(now - c.at)
	}
	return sum
}

// Capped returns how long, up to now, quotas have kept the account from starting a job of this
// size. The difference between two moments is the time in between that did not count as waiting. It
// never decreases.
func (a *Account) Capped(milli int, now Instant) time.Duration {
	return a.clock.read(sizeOf(milli), now)
}

// advance adds the time up to now to the totals.
func (c *cappedClock) advance(now Instant) {
	for size := range c.total {
		c.total[size] = c.read(size, now)
	}
	c.at = max(c.at, now)
}

// CappedTimes returns the total of each size, and the number of sizes, from the largest down, that
// are capped now.
func (a *Account) CappedTimes(now Instant) ([]time.Duration, int) {
	a.clock.advance(now)
	if a.clock.total[cappedSizes-1] == 0 {
		return nil, a.clock.sizes
	}
	return slices.Clone(a.clock.total[:]), a.clock.sizes
}

// RestoreCapped restores what CappedTimes returned at a moment.
func (a *Account) RestoreCapped(times []time.Duration, sizes int, at Instant) {
	copy(a.clock.total[:], times)
	a.clock.sizes, a.clock.at = max(0, min(sizes, cappedSizes)), at
}

// findOpen marks the accounts for which the pass leaves a GPU job waiting that is within all
// quotas. Larger jobs of such an account go on waiting with it: otherwise a stream of smaller jobs
// would overtake them for ever and use up the quota.
//
// For an account whose quotas hold back everything that waits, whatever they limit, it also notes
// the smallest size that waits. All sizes from there up count as capped, since what jobs ask of
// host memory and CPUs does not follow from their size.
func (p *pass) findOpen() {
	p.work += len(p.q.buckets)
	for _, b := range p.q.buckets {
		switch a, sizes := b.account, cappedSizes-sizeOf(b.shape.quota); {
		case a.gpuJobOpen: // nothing else matters for this account
		case !a.unbounded && a.capped(&b.shape.amount):
			if sizes > a.heldSizes && p.leaves(b) {
				a.heldSizes = sizes
			}
		case b.shape.milli > 0:
			a.gpuJobOpen = p.leaves(b)
		default:
			a.cpuJobOpen = a.cpuJobOpen || p.leaves(b)
		}
	}
}

// leaves reports whether the pass leaves a job of the bucket waiting that no array throttle holds
// back. Jobs that the pass starts are still in the queue, and are subtracted; bucket.waits asks the
// same after the plan was carried out.
func (p *pass) leaves(b *bucket) bool {
	for e := b.head; e != nil; e = e.next {
		if c := (cursor{entry: e, used: e.startedBy(p.number)}); c.open() {
			return true
		}
	}
	return false
}

// CountCapped notes which sizes the account cannot start from now on, and reports whether that
// changed. It is called after a plan was carried out. Under FIFO nothing is counted, since the
// order of submission decides.
func (a *Account) CountCapped(now Instant, fifo bool) (news bool) {
	c, was := &a.clock, a.clock.sizes
	c.advance(now)
	for q := range a.quotas {
		q.beginCounts() // what the pass gave out counts as running now
	}
	c.sizes = 0
	if !fifo && !a.gpuJobOpen {
		c.sizes = cappedSizes - sort.Search(cappedSizes, func(size int) bool {
			return a.capped(&amount{milli: smallest(size), quota: smallest(size)})
		})
		kept := a.heldSizes
		if a.cpuJobOpen {
			kept = min(kept, cappedSizes-1)
		}
		c.sizes = max(c.sizes, kept)
	}
	return c.sizes != was
}
