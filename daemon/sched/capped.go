package sched

import (
	"slices"
	"sort"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job that its account's quotas keep back does not wait for others. What is known
// of that is kept by account and size, so that all jobs of a bucket lose the same
// time and keep their order.

// cappedSizes are the sizes that are told apart: no GPU, a part of one, 1 to 15 GPUs,
// 16 or more.
const cappedSizes = 18

// sizeOf is the size of jobs that ask so much of GPUs. Parts beside whole GPUs do not
// count: what is capped for less is capped for more.
func sizeOf(milli int) int {
	switch {
	case milli <= 0:
		return 0
	case milli < job.WholeGPU:
		return 1
	}
	return min(1+milli/job.WholeGPU, cappedSizes-1)
}

// smallest is the least that a job of a size asks of GPUs.
func smallest(size int) int {
	switch size {
	case 0:
		return 0
	case 1:
		return 1
	}
	return (size - 1) * job.WholeGPU
}

// cappedClock measures for how long jobs of each size could not start for the account.
type cappedClock struct {
	at    Instant // up to which total has it
	sizes int     // so many, the largest, have been capped since then
	total [cappedSizes]time.Duration
}

func (c *cappedClock) read(size int, now Instant) time.Duration {
	sum := c.total[size]
	if size >= cappedSizes-c.sizes && now > c.at {
		sum += time.Duration(now - c.at)
	}
	return sum
}

// Capped is for how long, up to now, no job that asks so much of GPUs could start for
// the account. What it says for two moments differs by the time between them that was
// no waiting. It never goes back.
func (a *Account) Capped(milli int, now Instant) time.Duration {
	return a.clock.read(sizeOf(milli), now)
}

// advance counts up to now.
func (c *cappedClock) advance(now Instant) {
	for size := range c.total {
		c.total[size] = c.read(size, now)
	}
	c.at = max(c.at, now)
}

// CappedTimes is what the clock shows for each size, and how many of the sizes, the
// largest, are counted on.
func (a *Account) CappedTimes(now Instant) ([]time.Duration, int) {
	a.clock.advance(now)
	if a.clock.total[cappedSizes-1] == 0 {
		return nil, a.clock.sizes
	}
	return slices.Clone(a.clock.total[:]), a.clock.sizes
}

// RestoreCapped sets what CappedTimes said at a moment.
func (a *Account) RestoreCapped(times []time.Duration, sizes int, at Instant) {
	copy(a.clock.total[:], times)
	a.clock.sizes, a.clock.at = max(0, min(sizes, cappedSizes)), at
}

// findOpen finds for whom the pass leaves a GPU job waiting that is within all quotas.
// Then larger ones of the account wait with it: would their wait not count while its does, a
// stream of smaller ones would get ahead of them for ever, and fill up what is left of the quota.
//
// Where all that waits is kept back, whatever the quota is of, so are its sizes and larger ones: of
// host memory and CPUs each job asks its own.
func (p *pass) findOpen() {
	p.work += len(p.q.buckets)
	for _, b := range p.q.buckets {
		switch a, sizes := b.account, cappedSizes-sizeOf(b.shape.quota); {
		case a.gpuJobOpen: // nothing else is asked of the account then
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

// leaves reports whether a job of the bucket waits on after the pass, held back by no array.
// The plan is not carried out yet: what the pass has started still stands in the queue, and
// is taken off here; bucket.waits is asked once it is gone from there.
func (p *pass) leaves(b *bucket) bool {
	for e := b.head; e != nil; e = e.next {
		if c := (cursor{entry: e, used: e.startedBy(p.number)}); c.open() {
			return true
		}
	}
	return false
}

// CountCapped notes, after a pass was carried out, which jobs the account can't start
// from now on, and reports whether these are others than before. Under FIFO nothing is
// counted, as who came first goes first.
func (a *Account) CountCapped(now Instant, fifo bool) (news bool) {
	c, was := &a.clock, a.clock.sizes
	c.advance(now)
	for q := range a.quotas {
		q.beginCounts() // the pass's are running
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
