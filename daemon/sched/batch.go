package sched

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// batchKey identifies a batch: the jobs of one account and one priority that name the same batch.
type batchKey struct {
	account  *Account
	name     string
	priority job.Priority
}

// batch is a set of waiting jobs that are to finish together as soon as possible. Its buckets are
// sorted by size, largest first.
type batch struct {
	batchKey
	buckets []*bucket
	at      int // position in Queue.batches
}

// extent is the size by which the jobs of a batch are ordered: the product of GPUs and run time or,
// if these products are equal, the run time. Run times are rounded up to three binary digits, so
// that a batch of 100 000 different jobs has only a few hundred buckets.
type extent struct {
	area   int64
	length time.Duration
}

func extentOf(milli int, expected time.Duration) extent {
	seconds := int64(max(expected, time.Second)+time.Second-1) / int64(time.Second)
	step := int64(1) << max(0, bits.Len64(uint64(seconds-1))-3)
	seconds = (seconds + step - 1) / step * step
	return extent{area: seconds * int64(milli), length: time.Duration(seconds) * time.Second}
}

// bySize orders larger buckets first.
func bySize(a, b *bucket) int {
	return cmp.Or(cmp.Compare(b.extent.area, a.extent.area), cmp.Compare(b.extent.length, a.extent.length))
}

// joinBatch inserts a bucket into the batch that the bucket's jobs name, if they name one.
func (q *Queue) joinBatch(b *bucket) {
	if b.bucketKey.batch == "" || b.owed {
		return
	}
	key := batchKey{b.account, b.bucketKey.batch, b.priority}
	g := q.byBatch[key]
	if g == nil {
		g = &batch{batchKey: key, at: len(q.batches)}
		q.byBatch[key] = g
		q.batches = append(q.batches, g)
	}
	at, _ := slices.BinarySearchFunc(g.buckets, b, bySize)
	g.buckets = slices.Insert(g.buckets, at, b)
	b.of = g
}

// leaveBatch removes a bucket from its batch. If the batch has no buckets left, leaveBatch drops
// it.
func (q *Queue) leaveBatch(b *bucket) {
	g := b.of
	if g == nil {
		return
	}
	g.buckets = slices.DeleteFunc(g.buckets, func(o *bucket) bool { return o == b })
	if len(g.buckets) > 0 {
		return
	}
	last := q.batches[len(q.batches)-1]
	q.batches[g.at], last.at = last, g.at
	q.batches[len(q.batches)-1] = nil
	q.batches = q.batches[:len(q.batches)-1]
	delete(q.byBatch, g.batchKey)
}

// beginBatches finds the bucket behind which each bucket of a batch falls. Among the batch's
// buckets with larger jobs, that is the one whose last job ranks lowest. Guarded jobs do not count,
// since they go first anyway.
func (p *pass) beginBatches() {
	for _, g := range p.q.batches {
		var last rank
		var behind, next *bucket
		for i, b := range g.buckets {
			if i == 0 || bySize(g.buckets[i-1], b) != 0 {
				behind, b.sizeRank = next, int32(i)
			} else {
				b.sizeRank = g.buckets[i-1].sizeRank
			}
			b.behind = behind
			var tail rank
			p.ownRank(&tail, b, b.tail)
			if !tail.guarded && (next == nil || last.isBefore(&tail)) {
				last, next = tail, b
			}
		}
	}
}

// fallBehind moves a job of a batch behind the batch's larger jobs, unless the job ranks there
// already.
func (p *pass) fallBehind(r *rank, b *bucket) {
	r.sizeRank = b.sizeRank
	if b.behind == nil || b.behind.tail == nil || r.guarded {
		return
	}
	var place rank
	if p.ownRank(&place, b.behind, b.behind.tail); r.isBefore(&place) {
		r.score, r.since, r.lead = place.score, place.since, place.id
	}
}

// scoreBehind returns the score at which a job ranks in its batch at the given moment. The argument
// score is the job's own score, without the batch.
func (p *pass) scoreBehind(score float64, b *bucket, at Instant) float64 {
	if b.behind == nil {
		return score
	}
	for _, o := range b.of.buckets {
		var tail rank
		if p.ownRank(&tail, o, o.tail); o.sizeRank < b.sizeRank && !tail.guarded {
			score = min(score, o.score(tail.since, at))
		}
	}
	return score
}
