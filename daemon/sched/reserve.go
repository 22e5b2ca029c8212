package sched

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// backfillReservation keeps GPUs for a job that does not fit now: at the shadow it
// will, and rest is what the machine then has left besides.
type backfillReservation struct {
	id           job.ID
	at           Instant // the shadow
	late         Instant // that of all late ends
	until        Instant // so long running jobs are counted on late in the first
	run          time.Duration
	lateRun      time.Duration
	grants       []Grant
	host         hostShare
	before       capacity // the rest, while the pass looks for victims
	rest         capacity
	then         rank // of the job, at the shadow
	account      *Account
	preemptedFor bool // others were told to stop for the job
}

// release is something coming back at a moment: what a job held, or a GPU.
type release struct {
	at     Instant
	late   Instant
	grants []Grant
	host   hostShare
	gpu    int // noGPU, nothing, or the position of a GPU that becomes OK
}

// What stands in a release for the GPUs of its grants, and where none comes
// back: a reservation of an administrator ends.
const (
	noGPU   = -1
	nothing = -2
)

// delays reports whether the job at the cursor, started now, can still be there
// when GPUs are needed that are kept for another: it runs longer, and cannot be
// stopped for the other by then.
func (p *Planner) delays(c *cursor, r *backfillReservation) bool {
	run, late := c.bucket.run, c.bucket.late
	if c.bucket.shape.yields {
		if alone := p.rankAlone(c); alone.yields(&r.then, p.s.Policy.FIFO) {
			stay := p.s.Policy.Slice
			if alone.settles = true; !alone.yields(&r.then, p.s.Policy.FIFO) {
				stay = p.s.Policy.turn(c.entry.Served)
			}
			run, late = min(run, stay), min(late, stay)
		}
	}
	return r.delayedBy(p.s.Now, run, late)
}

// delayedBy reports whether a job that starts now is in the way of the reservation: it is expected
// to outlast the shadow, and late as it may be the one of jobs that are as late.
func (r *backfillReservation) delayedBy(now Instant, run, late time.Duration) bool {
	return now.Add(run) > r.at && now.Add(late) > r.late
}

// delayed returns the reservations that the job at the cursor may be in the way
// of, as bits. Its own is not one of them.
func (p *Planner) delayed(c *cursor) (mask uint32) {
	for i := range p.backfill {
		if k := &p.backfill[i]; k.id != c.entry.ID && p.delays(c, k) {
			mask |= 1 << i
		}
	}
	return mask
}

// delayedBy is delayed for all jobs of a bucket that does not yield and for none of
// which GPUs are kept.
func (p *Planner) delayedBy(run, late time.Duration) (mask uint32) {
	for i := range p.backfill {
		if p.backfill[i].delayedBy(p.s.Now, run, late) {
			mask |= 1 << i
		}
	}
	return mask
}

// capacityBehind is what a capacity leaves to a query behind reservations. A GPU that
// an administrator reserved for its account now is kept from it for no account
// that could not use it now.
func (p *Planner) capacityBehind(q *query, l *capacity, mask uint32) *capacity {
	p.behind.copyFrom(l)
	for i := range p.backfill {
		k := &p.backfill[i]
		if mask&(1<<i) == 0 {
			continue
		}
		for gpu := range p.behind.gpus {
			if !p.owns(q.account, gpu) || p.owns(k.account, gpu) {
				p.behind.gpus[gpu].clampTo(&k.rest.gpus[gpu])
			}
		}
		p.behind.hostCapacity.clampTo(&k.rest.hostCapacity)
	}
	return &p.behind
}

// hostBehind is what is left now besides GPUs behind reservations.
func (p *Planner) hostBehind(mask uint32) *hostCapacity {
	if mask == 0 {
		return &p.now.hostCapacity
	}
	h := &p.besides
	*h = p.now.hostCapacity
	for i := range p.backfill {
		if mask&(1<<i) != 0 {
			h.clampTo(&p.backfill[i].rest.hostCapacity)
		}
	}
	return h
}

// clampTo takes h down to what is in both.
func (h *hostCapacity) clampTo(o *hostCapacity) {
	h.hostRoom.clampTo(&o.hostRoom)
	h.noGPU.clampTo(&o.noGPU)
	h.noGPUJobs = max(h.noGPUJobs, o.noGPUJobs)
}

// owns reports whether an administrator reserved the GPU for the account now.
func (p *Planner) owns(a *Account, gpu int) bool {
	for i := range p.s.Reserved {
		if r := &p.s.Reserved[i]; r.GPUs[gpu] && r.From <= p.s.Now && p.s.Now < r.To && r.allows(a) {
			return true
		}
	}
	return false
}

// maxDepth is the most reservations that a pass can make.
const maxDepth = 32

// PlannedStarts lists the moments from which GPUs are kept for waiting jobs, as many as
// a pass can plan whatever the policy, and those at which the quotas of these groups let
// the first job start that they keep back. It is valid until the next call of any method.
func (p *Planner) PlannedStarts(s *Snapshot, q *Queue, groups []*Account) []BackfillReservation {
	deep := *s
	deep.Policy.ReservationDepth = maxDepth
	p.decide(&deep, q)
	for _, g := range groups {
		if !g.bounded() {
			continue
		}
		p.findCapped(g)
		if k := &g.place.capped; k.asks != nil {
			p.findPlace(g, k)
			p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: k.id, At: g.place.found.at})
		}
	}
	p.resetThrottles()
	return p.out.Backfill
}

// releases lists what comes back, by time: running jobs, jobs of this pass,
// GPUs, and the ends of reservations of administrators. Earlier reservations are jobs that start at their shadow.
func (p *Planner) releases() {
	if !p.listed {
		p.listed = true
		for i := range p.s.Running {
			r := &p.s.Running[i]
			p.ends = append(p.ends, release{
				at: max(r.End, p.s.Now), late: max(r.Late, p.s.Now), grants: r.Grants, host: r.hostShare(), gpu: noGPU,
			})
		}
		for i := range p.s.GPUs {
			if g := &p.s.GPUs[i]; g.State != OK && g.ReadyAt > 0 {
				p.ends = append(p.ends, release{at: max(g.ReadyAt, p.s.Now), gpu: i})
			}
		}
		for i := range p.s.Reserved {
			if to := p.s.Reserved[i].To; to > p.s.Now {
				p.ends = append(p.ends, release{at: to, gpu: nothing})
			}
		}
	}
	if !p.sorted {
		slices.SortStableFunc(p.ends, byTime)
		p.lookAhead(&p.ahead)
		p.sorted = true
	}
}

func byTime(a, b release) int { return cmp.Compare(a.at, b.at) }

// reserve finds the first moment at which the job fits when all goes as
// expected, and keeps GPUs for it there. It returns false when there is none,
// or when the job would fit now but for a load that may pass any moment.
func (p *Planner) reserve(c *cursor) bool {
	if len(p.backfill) >= maxDepth || !p.fitsEver(c.bucket.shape) {
		return false
	}
	p.releases()
	q := c.query(p.s.Now, whenAhead)
	if p.fits(&q, &p.ahead) {
		return false
	}
	r := p.newReservation()
	if !p.findShadow(&q, r, p.ends) {
		return false
	}
	p.countLate(c, &q, r)
	r.id, r.account, r.preemptedFor = c.entry.ID, c.bucket.account, false
	r.run, r.lateRun = c.bucket.run, c.bucket.late
	r.host, r.then = c.bucket.shape.hostShare, p.rankAt(c, r.at)
	p.keep(r, p.chooseLatest(&q, &r.rest), c.bucket.shape.gpuMem > 0)
	p.holdQuotas(c, r.at)
	return true
}

// lookAhead is the machine as a look ahead begins: what is free now less what is
// kept already.
func (p *Planner) lookAhead(l *capacity) {
	l.copyFrom(&p.now)
	for i := range l.gpus {
		l.gpus[i].since = p.s.Now
	}
	for i := range p.backfill {
		l.take(p.backfill[i].grants, p.backfill[i].host)
	}
}

// newReservation returns the next one to be kept, which does not count yet. Its
// capacity has the memory of an earlier pass.
func (p *Planner) newReservation() *backfillReservation {
	return &p.backfill[:len(p.backfill)+1][len(p.backfill)]
}

// findShadow moves the rest to the first moment at which the query fits. All that comes
// back at that moment is in it.
func (p *Planner) findShadow(q *query, r *backfillReservation, ends []release) bool {
	r.rest.copyFrom(&p.ahead)
	for i := 0; i < len(ends); {
		at := ends[i].at
		for ; i < len(ends) && ends[i].at == at; i++ {
			r.rest.comeBack(&ends[i])
		}
		if q.at = at; p.fits(q, &r.rest) {
			r.at = at
			return true
		}
	}
	return false
}

// countLate finds the shadows of a job for which one of expected ends was found: that of late ends,
// and that of late ends until the job was passed for long enough.
func (p *Planner) countLate(c *cursor, q *query, r *backfillReservation) {
	r.late, r.until = r.at, 0
	times := p.s.Policy.Patience
	if times == 0 || !p.countUntil(Never) {
		return
	}
	p.findShadow(q, r, p.counted)
	r.late, r.until = r.at, c.came.Add(time.Duration(times)*c.entry.Expected)
	p.countUntil(r.until)
	p.findShadow(q, r, p.counted)
	r.late = max(r.late, r.at)
}

// countUntil lists what comes back where it is counted on late until some moment; false where
// nothing is then later than expected.
func (p *Planner) countUntil(until Instant) (later bool) {
	p.counted = append(p.counted[:0], p.ends...)
	for i := range p.counted {
		if e := &p.counted[i]; min(e.late, until) > e.at {
			e.at, later = min(e.late, until), true
		}
	}
	if later {
		slices.SortStableFunc(p.counted, byTime)
	}
	return later
}

func (l *capacity) comeBack(e *release) {
	switch e.gpu {
	case noGPU:
		l.giveBack(e.grants, e.host, e.at)
	case nothing:
	default:
		l.gpus[e.gpu].ok = true
		l.gpus[e.gpu].since = e.at
	}
}

// keep makes the reservation count. One of exact memory must not come to be
// short by the slack of shares that were not asked in bytes.
func (p *Planner) keep(r *backfillReservation, grants []Grant, exact bool) {
	at := len(p.store)
	p.store = append(p.store, grants...)
	r.grants = p.store[at:len(p.store):len(p.store)]
	r.rest.take(r.grants, r.host)
	if exact {
		for _, g := range r.grants {
			r.rest.gpus[g.GPU].mem -= p.s.GPUs[g.GPU].SlackBytes
		}
	}
	p.backfill = p.backfill[:len(p.backfill)+1]
	p.sorted = false
	p.ends = append(p.ends, release{
		at: r.at.Add(r.run), late: r.late.Add(r.lateRun), grants: r.grants, host: r.host, gpu: noGPU,
	})
	p.out.Backfill = append(p.out.Backfill, BackfillReservation{Job: r.id, At: r.at})
}

// chooseLatest picks the GPUs that become free latest, so that those which are
// free before can serve others until then.
func (p *Planner) chooseLatest(q *query, l *capacity) []Grant {
	p.grants = p.grants[:0]
	for range q.shape.whole {
		best := -1
		for i := range l.gpus {
			later := best < 0 || l.gpus[i].since > l.gpus[best].since
			if later && p.admits(q, l, i) && p.wholeFits(q, l, i) && !granted(p.grants, i) {
				best = i
			}
		}
		p.grants = append(p.grants, Grant{GPU: best, Milli: job.WholeGPU, Bytes: q.shape.gpuMem})
	}
	if q.shape.part > 0 {
		p.latestPart(q, l)
	}
	sortGrants(p.grants)
	return p.grants
}

// latestPart adds the part of one more GPU. Where only GPUs chosen as whole
// ones would do, one of them is exchanged for another that is whole.
func (p *Planner) latestPart(q *query, l *capacity) {
	best, taken := -1, -1
	for i := range l.gpus {
		if !p.admits(q, l, i) || !p.partFits(q, l, i) {
			continue
		}
		if granted(p.grants, i) {
			taken = i
		} else if best < 0 || l.gpus[i].since > l.gpus[best].since {
			best = i
		}
	}
	if best < 0 {
		for at := range p.grants {
			if p.grants[at].GPU == taken {
				p.grants[at].GPU = p.anotherWhole(q, l)
			}
		}
		best = taken
	}
	p.grants = append(p.grants, Grant{GPU: best, Milli: q.shape.part, Bytes: q.shape.partBytes(&p.s.GPUs[best])})
}

func (p *Planner) anotherWhole(q *query, l *capacity) int {
	for i := range l.gpus {
		if p.admits(q, l, i) && p.wholeFits(q, l, i) && !granted(p.grants, i) {
			return i
		}
	}
	return -1 // not reached: fits counted one more whole GPU than is asked
}

// keepsWhole reports whether all of the GPU is kept for a job.
func (p *Planner) keepsWhole(gpu int) bool {
	for i := range p.backfill {
		for _, g := range p.backfill[i].grants {
			if g.GPU == gpu && g.Milli == job.WholeGPU {
				return true
			}
		}
	}
	return false
}

func granted(list []Grant, gpu int) bool {
	for _, g := range list {
		if g.GPU == gpu {
			return true
		}
	}
	return false
}

// notice is how long before a reservation of an administrator its GPUs take no
// more jobs that have no time limit.
const notice = 24 * time.Hour

// advanceReservationFor returns the reservation that keeps the GPU from the query's
// account: one that the job could run into by its time limit.
func (p *Planner) advanceReservationFor(q *query, gpu int) *AdvanceReservation {
	for i := range p.s.Reserved {
		r := &p.s.Reserved[i]
		if r.GPUs[gpu] && r.overlaps(q.shape.limit, q.at) && !r.allows(q.account) {
			return r
		}
	}
	return nil
}

// overlaps reports whether a job of the time limit, started then, could run into it.
func (r *AdvanceReservation) overlaps(limit time.Duration, at Instant) bool {
	if limit == 0 {
		limit = notice
	}
	return at < r.To && at.Add(limit) > r.From
}

func (r *AdvanceReservation) allows(a *Account) bool {
	return slices.Contains(r.UIDs, a.UID) || slices.ContainsFunc(r.Groups, a.member)
}
