package sched

import (
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Ahead is a waiting job that goes before another waiting job, with the reason.
type Ahead struct {
	ID       job.ID
	Cause    job.AheadCause
	Its, Own job.Merits
}

// Ahead lists the waiting jobs that go before a queued job, in order. It returns only the first of
// them, and the number of all of them. It leaves out jobs that a quota or throttle of their own
// holds back, and jobs that can use none of the queued job's GPUs: the queued job may pass these.
func (p *Planner) Ahead(s *Snapshot, q *Queue, id job.ID, most int) (list []Ahead, all int) {
	e := q.entries[id]
	if e == nil {
		return nil, 0
	}
	p.begin(s, q)
	own := p.pass.cursor(e.bucket, e)
	own.bucket.shape.qualify(s)
	held := own.bucket.account.isCapped(&own.bucket.shape.amount)
	var first []cursor
	for _, b := range q.buckets {
		b.shape.qualify(s)
		passed := b.account.isCapped(&b.shape.amount) && (b.account != own.bucket.account || !held)
		if passed || !b.shape.competesWith(own.bucket.shape.footprint) {
			continue
		}
		n := 0
		for e := b.head; e != nil && (n < most || b.bounded > 0); e = e.next {
			c := p.pass.cursor(b, e)
			if !c.rank.isBefore(&own.rank) {
				break
			}
			if e.Throttle.Full() != nil {
				continue
			}
			n++
			first = keepFirst(first, c, most)
		}
		if n == most && b.bounded == 0 {
			n = p.pass.countBefore(b, &own.rank)
		}
		all += n
	}
	for i := range first {
		list = append(list, p.pass.compare(&first[i], &own))
	}
	return list, all
}

// countBefore returns the number of jobs of a bucket that go before the job with the rank target.
// It searches from both ends: usually nearly all jobs of a long bucket go before that job, or
// nearly none.
func (p *pass) countBefore(b *bucket, target *rank) int {
	head, tail := b.head, b.tail
	for n := range b.len {
		if c := p.cursor(b, head); !c.rank.isBefore(target) {
			return n
		}
		if c := p.cursor(b, tail); c.rank.isBefore(target) {
			return b.len - n
		}
		head, tail = head.next, tail.prev
	}
	return b.len
}

// keepFirst inserts a cursor into a sorted list, and keeps at most the given number of elements,
// the first ones.
func keepFirst(list []cursor, c cursor, most int) []cursor {
	at := len(list)
	for at > 0 && c.rank.isBefore(&list[at-1].rank) {
		at--
	}
	if at == most {
		return list
	}
	return slices.Insert(list, at, c)[:min(len(list)+1, most)]
}

// competesWith reports whether jobs of the two footprints could use the same GPU. Two footprints
// without GPUs also compete.
func (f *footprint) competesWith(o *footprint) bool {
	if f.key.milli == 0 || o.key.milli == 0 {
		return f.key.milli == o.key.milli
	}
	for i, ok := range f.qual {
		if ok && o.qual[i] {
			return true
		}
	}
	return false
}

// compare returns the reason why the job at cursor c goes before the job at cursor target.
func (p *pass) compare(c, target *cursor) Ahead {
	a := Ahead{ID: c.entry.ID, Its: p.merits(c), Own: p.merits(target)}
	x, o := &c.rank, &target.rank
	switch {
	case a.Its.Priority.Class != a.Own.Priority.Class:
		a.Cause = job.AheadClass
	case x.level != o.level:
		a.Cause = job.AheadNumber
	case x.owed != o.owed:
		a.Cause = job.AheadOwed
	case x.guarded != o.guarded:
		a.Cause = job.AheadGuarded
	case x.lead == o.lead:
		a.Cause = job.AheadBatch
	case !x.guarded && x.score != o.score:
		a.Cause = job.AheadScore
	default:
		a.Cause = job.AheadLonger
	}
	return a
}

// merits returns the values that determine a job's rank, rounded for people.
func (p *pass) merits(c *cursor) job.Merits {
	b := c.bucket
	s := job.Merits{
		Priority: b.priority, Score: c.rank.score,
		Waited: job.Span(max(0, p.s.Now-b.turn.of(c.entry.waitStart(p.s.Now)))),
	}
	if !p.s.Policy.FIFO {
		s.Share = max(0, 1-math.Log2(b.account.factor))
		s.Length = job.Span(1 / b.inverse)
	}
	return s
}

// With returns a forecast in which one waiting job has another request and another expected run
// time. The forecast ends at the moment limit: a caller who looks for an earlier start need not
// pay for later moments. Both forecasts share the data that neither of them changes.
func (f *Forecast) With(id job.ID, r *job.Request, expected time.Duration, limit Instant) *Forecast {
	own := &Forecast{s: f.s, estimates: f.estimates, width: f.width, until: limit, waiting: slices.Clone(f.waiting)}
	for i := range own.waiting {
		if w := &own.waiting[i]; w.ID == id {
			w.shape, w.priority = newShape(r), r.Priority
			w.Expected, w.Owed = expected, false
		}
	}
	return own
}

// StartsNow reports whether a job starts at once. The answer does not depend on the run times of
// other jobs, so a call costs only about as much as a pass.
func (f *Forecast) StartsNow(id job.ID, goOn func() bool) bool {
	one := newFuture(f, sampling{0, 1}, maxPasses, nil)
	one.until = f.s.Now.Add(1)
	return one.runUntilStart(id, goOn) && one.startOf(id) == f.s.Now
}
