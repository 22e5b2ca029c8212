package sched

import (
	"slices"
	"sort"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// If a job waits because of its account's quotas, that time does not count as waiting. It is
// measured for each account and job size. So all jobs of a bucket lose the same time and keep their
// order.

// cappedSizes is the number of sizes: no GPU, a part of a GPU, 1 to 15 GPUs, and 16 or more GPUs.
const cappedSizes = 18

// sizeOf returns the size of jobs that ask for this amount of GPUs. A part in addition to whole
// GPUs does not count. An account that may not start a smaller job may not start a larger job
// either.
func sizeOf(milli int) int {
	switch {
	case milli <= 0:
		return 0
	case milli < job.WholeGPU:
		return 1
	}
	return min(1+milli/job.WholeGPU, cappedSizes-1)
}

// smallestSize returns the smallest amount of GPUs that a job of this size asks for.
func smallestSize(size int) int {
	switch size {
	case 0:
		return 0
	case 1:
		return 1
	}
	return (size - 1) * job.WholeGPU
}

// cappedClock measures, for each size, for how long the account could not start any job of that
// size.
type cappedClock struct {
	at    Instant // the totals include the time up to this moment
	sizes int     // number of sizes, from the largest down, that have been capped since that moment
	total [cappedSizes]time.Duration
}

func (c *cappedClock) read(size int, now Instant) time.Duration {
	sum := c.total[size]
	if size >= cappedSizes-c.sizes && now > c.at {
		sum += time.Duration(now - c.at)
	}
	return sum
}

// Capped returns for how long, up to now, quotas have kept the account from starting any job of
// this size. The total never decreases. The amount by which it grows between two moments does not
// count as waiting.
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

// CappedTimes returns the total of each size, and how many sizes are capped now, counted from the
// largest down.
func (a *Account) CappedTimes(now Instant) ([]time.Duration, int) {
	a.clock.advance(now)
	if a.clock.total[cappedSizes-1] == 0 {
		return nil, a.clock.sizes
	}
	return slices.Clone(a.clock.total[:]), a.clock.sizes
}

// RestoreCapped restores what CappedTimes returned at the given moment.
func (a *Account) RestoreCapped(times []time.Duration, sizes int, at Instant) {
	copy(a.clock.total[:], times)
	a.clock.sizes, a.clock.at = max(0, min(sizes, cappedSizes)), at
}

// findOpen marks each account that has a waiting GPU job which its quotas allow and which the pass
// does not start. While such a job waits, the wait of the account's larger jobs counts as well. If
// it did not, a stream of smaller jobs would overtake the larger jobs for ever and use up the
// quota.
//
// Quotas of any resource may hold back all waiting jobs of an account. For such an account findOpen
// also notes the smallest size of a waiting job. That size and all larger sizes count as capped:
// the size of a job does not tell how much host memory or how many CPUs it asks for.
func (p *pass) findOpen() {
	p.work += len(p.q.buckets)
	for _, b := range p.q.buckets {
		switch a, sizes := b.account, cappedSizes-sizeOf(b.shape.quota); {
		case a.gpuJobOpen, b.shape.slot == noSlot: // nothing else matters for this account, or quotas do not matter
		case !a.unbounded && a.isCapped(&b.shape.amount):
			if sizes > a.heldSizes && p.leavesWaiting(b) {
				a.heldSizes = sizes
			}
		case b.shape.milli > 0:
			a.gpuJobOpen = p.leavesWaiting(b)
		default:
			a.cpuJobOpen = a.cpuJobOpen || p.leavesWaiting(b)
		}
	}
}

// leavesWaiting reports whether the bucket has a job that still waits after this pass and that no
// array throttle holds back. Jobs that the pass starts are still in the queue, so they are
// subtracted. After a plan has been carried out, callers use bucket.hasWaiting instead.
func (p *pass) leavesWaiting(b *bucket) bool {
	for e := b.head; e != nil; e = e.next {
		if c := (cursor{entry: e, used: e.startedBy(p.number)}); c.isOpen() {
			return true
		}
	}
	return false
}

// CountCapped notes which sizes the account cannot start from now on, and reports whether their
// number has changed. It must be called after a plan has been carried out. Under FIFO it counts
// nothing, since the order of submission decides.
func (a *Account) CountCapped(now Instant, fifo bool) (news bool) {
	c, was := &a.clock, a.clock.sizes
	c.advance(now)
	for q := range a.quotaAccounts {
		q.beginCounts() // jobs that the pass started count as running now
	}
	c.sizes = 0
	if !fifo && !a.gpuJobOpen {
		c.sizes = cappedSizes - sort.Search(cappedSizes, func(size int) bool {
			return a.isCapped(&amount{milli: smallestSize(size), quota: smallestSize(size)})
		})
		kept := a.heldSizes
		if a.cpuJobOpen {
			kept = min(kept, cappedSizes-1)
		}
		c.sizes = max(c.sizes, kept)
	}
	return c.sizes != was
}
