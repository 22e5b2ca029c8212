package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// rank is a job's place in the order that the package comment defines.
type rank struct {
	level     int64 // class and number as one value: see func level
	score     float64
	since     Instant
	lead      job.ID  // the job to which the fields score and since belong: this job, or another of its batch
	came      Instant // what the field since would be without the batch
	id        job.ID
	sizeRank  int32 // position of the job's size in its batch
	milli     int32 // GPUs in thousandths; they do not affect the order
	wide      bool  // the job asks for more than half of the GPUs that are in service and could serve it
	guarded   bool
	protected bool         // the job was preempted, runs again, and still has guaranteed time
	ranBefore bool         // the job ran before and waits to continue
	owed      bool         // other jobs were stopped for this job, and it has not started
	program   predict.Kind // user, size and program, without the arguments
	untried   bool         // too few jobs of this kind have ended to know how long they run
}

// level returns a priority as one number, which orders jobs by class and then by number.
func level(p job.Priority) int64 { return int64(p.Class)<<32 + int64(p.Number) }

// isBefore reports whether the job of r goes before the job of o.
func (r *rank) isBefore(o *rank) bool {
	switch {
	case r.level != o.level:
		return r.level > o.level
	case r.owed != o.owed:
		return r.owed
	case r.guarded != o.guarded:
		return r.guarded
	case !r.guarded && r.score != o.score:
		return r.score > o.score
	case r.since != o.since:
		return r.since < o.since
	case r.lead != o.lead:
		return r.lead < o.lead
	case r.sizeRank != o.sizeRank: // both jobs have their ranks from the same job of their batch
		return r.sizeRank < o.sizeRank
	case r.came != o.came:
		return r.came < o.came
	}
	return r.id < o.id
}

// rank computes a job's rank in this pass.
func (p *pass) rank(r *rank, b *bucket, e *entry) {
	if p.ownRank(r, b, e); b.of != nil {
		p.fallBehind(r, b)
	}
}

// ownRank computes the rank that a job has without its batch. Under FIFO all scores are 0.
func (p *pass) ownRank(r *rank, b *bucket, e *entry) {
	r.level, r.milli, r.sizeRank = b.level, int32(b.shape.milli), 0
	r.since, r.lead, r.id = e.waitStart(p.s.Now), e.ID, e.ID
	r.came = r.since
	if p.s.Policy.FIFO {
		return
	}
	r.guarded = p.isGuarded(b.turn.of(r.since))
	p.open(b.shape.footprint)
	r.wide = 2*b.shape.milli > job.WholeGPU*b.shape.inService
	r.owed = b.owed
	r.score = b.score(r.since, p.s.Now)
	r.ranBefore, r.program, r.untried = b.ranBefore, b.program, b.untried
}

// isGuarded reports whether a job whose wait began at the given moment is guarded now.
func (p *pass) isGuarded(since Instant) bool {
	waited := max(0, p.s.Now-since)
	return p.s.GuardOpen && p.s.Policy.GuardAfter > 0 && time.Duration(waited) > p.s.Policy.GuardAfter
}

// score returns the score of a job of the bucket at the given moment.
func (b *bucket) score(since, at Instant) float64 {
	return 1 + b.account.factor*float64(max(0, at-b.turn.of(since)))*b.inverse
}

// rankAlone returns the rank that the job at the cursor has without its batch. That is the job's
// rank once it runs.
func (p *pass) rankAlone(c *cursor) rank {
	r := c.rank
	if c.bucket.of != nil {
		p.ownRank(&r, c.bucket, c.entry)
	}
	return r
}

// runningRank returns the rank of a running job.
func (p *pass) runningRank(r *Running) rank {
	out := rank{level: level(r.Priority), since: r.Since, id: r.ID, milli: int32(r.milli())}
	if !p.s.Policy.FIFO {
		out.guarded = r.Guarded && p.s.GuardOpen
		waited := max(0, r.Start-r.Since)
		effort := r.Effort
		if effort == 0 {
			effort = predict.Remaining(r.Expected, r.Served+r.runTimeAt(p.s.Now))
		}
		out.score = 1 + r.Account.factor*float64(waited)/float64(max(effort, time.Second))
		out.program, out.untried = r.Program, r.Untried
		out.protected = time.Duration(p.s.Now-r.sliceStart()) < p.s.Policy.protectedTime(r.servedBefore())
	}
	return out
}

// rankAt returns the rank that the job at the cursor will have at a later moment.
func (p *pass) rankAt(c *cursor, at Instant) rank {
	r := c.rank
	if !p.s.Policy.FIFO {
		r.score = p.scoreBehind(c.bucket.score(c.came, at), c.bucket, at)
	}
	return r
}
