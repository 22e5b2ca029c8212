package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// rank is a job's place in the order of the rules (package doc).
type rank struct {
	level   int64 // the priority's
	score   float64
	since   Instant
	id      job.ID
	milli   int32 // of GPUs, which the order does not look at
	guarded bool
}

// level is a priority as one number: by class, and then by its number.
func level(p job.Priority) int64 { return int64(p.Class)<<32 + int64(p.Number) }

// before reports whether the job of r is looked at before that of o.
func (r *rank) before(o *rank) bool {
	switch {
	case r.level != o.level:
		return r.level > o.level
	case r.guarded != o.guarded:
		return r.guarded
	case !r.guarded && r.score != o.score:
		return r.score > o.score
	case r.since != o.since:
		return r.since < o.since
	}
	return r.id < o.id
}

// rank computes where a job stands in this pass. Under FIFO all scores are 0.
func (p *Planner) rank(r *rank, b *bucket, e *entry) {
	r.level, r.milli = b.level, int32(b.shape.milli)
	r.since, r.id = e.since(p.s.Now), e.ID
	if p.s.Policy.FIFO {
		return
	}
	waited := max(0, p.s.Now-r.since)
	r.guarded = p.s.GuardOpen && p.s.Policy.GuardAfter > 0 && time.Duration(waited) > p.s.Policy.GuardAfter
	r.score = b.account.factor * (1 + float64(waited)*b.inverse)
}

// runningRank computes the rank that a running job would have.
func (p *Planner) runningRank(r *Running) rank {
	out := rank{level: level(r.Priority), since: r.Since, id: r.ID, milli: int32(r.milli())}
	if !p.s.Policy.FIFO {
		out.guarded = r.Guarded && p.s.GuardOpen
		waited := max(0, r.Start-r.Since)
		run := overrun(r.Expected, r.Served+time.Duration(p.s.Now-r.Start))
		out.score = r.Account.factor * (1 + float64(waited)/float64(time.Second<<runLog(run)))
	}
	return out
}

// rankAt is the rank that the job at the cursor has at a moment to come.
func (p *Planner) rankAt(c *cursor, at Instant) rank {
	r := c.rank
	if !p.s.Policy.FIFO {
		r.score = c.bucket.account.factor * (1 + float64(max(0, at-c.since))*c.bucket.inverse)
	}
	return r
}

// overrun doubles an expected run time until it is longer than what the job ran.
func overrun(expected, ran time.Duration) time.Duration {
	expected = max(expected, time.Second)
	for expected <= ran {
		expected *= 2
	}
	return expected
}

// Remaining is how much longer a job runs that was expected to run for a time
// and ran for another.
func Remaining(expected, ran time.Duration) time.Duration { return overrun(expected, ran) - ran }
