package sched

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// brief is what a pass reads of each bucket, of which it comes to few: those of all lie side
// by side, since what is behind pointers takes most of the time of a pass over many.
type brief struct {
	account *Account
	level   int64
	base    Instant // of the head, which is alone
	inverse float64
	run     time.Duration
	late    time.Duration
	owed    bool
	batch   bool // where it stands depends on others
	yields  bool
	whole   int
	amount

	facts         uint64 // of the GPUs, for which the following hold
	atStart, ever answer // see footprint
}

// sum brings the brief of a bucket up to date, which is new or has another head.
func (q *Queue) sum(b *bucket) {
	q.briefs[b.at] = brief{
		account: b.account, level: b.level, base: b.head.base(), inverse: b.inverse, run: b.run, late: b.late,
		owed: b.owed, batch: b.of != nil, yields: b.shape.yields, whole: b.shape.whole, amount: b.shape.amount,
	}
}

// learnFacts has the brief know what holds of the GPUs by themselves.
func (p *Planner) learnFacts(h *brief, b *bucket) {
	if h.facts == p.q.facts.number {
		return
	}
	p.open(b.shape.footprint)
	q := query{shape: b.shape, account: b.account, at: p.s.Now, when: whenNow}
	h.atStart = answerOf(h.milli == 0 || p.fitsAtStart(q))
	h.ever = answerOf(p.gpusEver(b.shape))
	h.facts = p.q.facts.number
}

// standingOf is where the head of the bucket in that place stands.
func (p *Planner) standingOf(at int) standing {
	h := &p.q.briefs[at]
	if h.batch {
		return p.standing(p.q.buckets[at])
	}
	r := rank{level: h.level, since: h.base + Instant(h.account.Capped(h.quota, p.s.Now))}
	if !p.s.Policy.FIFO {
		r.guarded, r.owed = p.guards(r.since), h.owed
		r.score = scoreOf(h.account, h.inverse, r.since, p.s.Now)
	}
	return r.standing(at, p.s.Policy.FIFO)
}

// mayFit reports whether a job of a bucket that the briefs do not rule out fits into what is
// left now behind some reservations.
func (p *Planner) mayFit(at int, mask uint32) bool {
	h, b := &p.q.briefs[at], p.q.buckets[at]
	if h.whole > p.wholeBehind(mask) || !p.hostBehind(mask).suffices(&h.amount) {
		return false
	}
	if p.learnFacts(h, b); h.atStart == no {
		return false
	}
	if mask == 0 && p.nothingGiven() {
		return true
	}
	p.open(b.shape.footprint)
	return p.roomFor(b, mask)
}

// mayEverFit is fitsEver for the bucket in that place.
func (p *Planner) mayEverFit(at int) bool {
	h := &p.q.briefs[at]
	if !p.final.suffices(&h.amount) {
		return false
	}
	p.learnFacts(h, p.q.buckets[at])
	return h.ever == yes
}

// wholeCount is how many GPUs are free behind some reservations.
type wholeCount struct {
	mask, version uint32
	gpus          int
}

// wholeBehind returns of how many GPUs nothing is given out or kept, behind some
// reservations, or may be kept from somebody else only.
func (p *Planner) wholeBehind(mask uint32) int {
	if w := &p.count; w.mask == mask && w.version == p.version {
		return w.gpus
	}
	p.count = wholeCount{mask: mask, version: p.version}
	for i := range p.now.gpus {
		if r := &p.now.gpus[i]; r.ok && r.milli == job.WholeGPU && (p.owned(i) || p.wholeInRests(mask, i)) {
			p.count.gpus++
		}
	}
	return p.count.gpus
}

// wholeInRests reports whether all of the GPU is in what some reservations leave over.
func (p *Planner) wholeInRests(mask uint32, gpu int) bool {
	for i := range p.backfill {
		if r := &p.backfill[i].rest.gpus[gpu]; mask&(1<<i) != 0 && !(r.ok && r.milli == job.WholeGPU) {
			return false
		}
	}
	return true
}

// owned reports whether an administrator reserved the GPU for somebody now.
func (p *Planner) owned(gpu int) bool {
	for i := range p.s.Reserved {
		if r := &p.s.Reserved[i]; r.GPUs[gpu] && r.From <= p.s.Now && p.s.Now < r.To {
			return true
		}
	}
	return false
}
