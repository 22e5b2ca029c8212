package sched

import (
	"cmp"
	"slices"
)

// The first job of an account that its quotas keep back, or for which GPUs are kept, keeps
// its place in them: a job of the account behind it starts only if it is expected to have
// ended by the moment at which the quotas are to let the first one start, or if they then
// hold for both. It is the same for a group and the jobs of its members.

// quotaUse is what jobs count for in quotas.
type quotaUse struct {
	jobs, milli int
	hostShare
}

// add counts so many of the same jobs more.
func (u *quotaUse) add(o quotaUse, sign int) {
	u.jobs += sign * o.jobs
	u.milli += sign * o.milli
	u.mem += int64(sign) * o.mem
	u.cpus += sign * o.cpus
}

// quotaHold is a waiting job that keeps its place in quotas.
type quotaHold struct {
	rank
	asks    *amount // nil: there is none
	account *Account
	at      Instant // at which GPUs are kept for it
}

// quotaPlace is what a pass knows of the place that is kept in the quotas of an account.
type quotaPlace struct {
	sought   bool
	capped   quotaHold // the first that a quota kept back as the pass began
	reserved quotaHold // the first for which the pass keeps GPUs

	found foundPlace
}

// foundPlace is where the place of a job in quotas is.
type foundPlace struct {
	of    *quotaHold // whose
	given int        // with so many starts of the pass
	at    Instant    // when the quotas let it start; Never: nobody knows
	use   quotaUse
}

// quotaEnd is what quotas get back at a moment.
type quotaEnd struct {
	at      Instant
	account *Account
	quotaUse
}

// belongs reports whether what an account runs counts in the quotas of another: in its own,
// and its group's.
func (a *Account) belongs(to *Account) bool {
	return a == to || a != nil && slices.Contains(a.Groups, to)
}

// ownJobsAhead is what the jobs of its own account or group ahead of a job mean for it.
type ownJobsAhead struct {
	hold   *quotaHold // the job whose place in quotas it would take; nil: there is none, it may start
	quotas *Account   // whose quotas these are
	cpus   int        // how many CPUs it may take beside the jobs ahead
}

// behindOwn says what the jobs of its own account or group ahead of the job at the cursor
// mean for it.
func (p *Planner) behindOwn(c *cursor) ownJobsAhead {
	ends, all := p.s.Now.Add(c.bucket.run), ownJobsAhead{cpus: endless}
	for q := range c.bucket.account.quotas {
		ahead := p.aheadIn(q, c, ends)
		if ahead.cpus = min(ahead.cpus, all.cpus); ahead.hold != nil {
			return ahead
		}
		all = ahead
	}
	return all
}

// aheadIn is behindOwn for the quotas of one account or group. The job at the cursor would have
// ended by ends.
func (p *Planner) aheadIn(q *Account, c *cursor, ends Instant) ownJobsAhead {
	ahead := ownJobsAhead{cpus: endless}
	if !q.bounded() {
		return ahead
	}
	k := p.holdBefore(q, c)
	if k == nil {
		return ahead
	}
	place := &q.place.found
	if place.of != k || place.given != len(p.given) {
		p.findPlace(q, k)
	}
	if place.at == Never || ends <= place.at {
		return ahead
	}
	if !q.holds(&place.use, &c.bucket.shape.amount) {
		return ownJobsAhead{hold: k, quotas: q}
	}
	if q.MaxCPUs > 0 {
		ahead.cpus = q.MaxCPUs - place.use.cpus
	}
	return ahead
}

// holdBefore returns the first job that keeps its place in these quotas, if it stands
// before the one at the cursor.
func (p *Planner) holdBefore(q *Account, c *cursor) *quotaHold {
	if !q.place.sought {
		q.place.sought = true
		p.findCapped(q)
	}
	first, other := &q.place.capped, &q.place.reserved
	if first.asks == nil || other.asks != nil && other.before(&first.rank) {
		first = other
	}
	if first.asks == nil || !first.before(&c.rank) {
		return nil
	}
	return first
}

// findCapped finds the first job that these quotas, or if they are of a user a group's
// as well, kept back as the pass began.
func (p *Planner) findCapped(q *Account) {
	p.looks += len(p.q.buckets)
	for _, b := range p.q.buckets {
		if !b.account.belongs(q) || !b.keptBack(q) {
			continue
		}
		e := b.firstOpen()
		if p.open(b.shape.footprint); e == nil || !p.fitsEver(b.shape) {
			continue
		}
		var r rank
		p.rank(&r, b, e)
		if k := &q.place.capped; k.asks == nil || r.before(&k.rank) {
			*k = quotaHold{rank: r, asks: &b.shape.amount, account: b.account}
		}
	}
}

// firstOpen returns the first job of the bucket that no array held back as the pass began.
func (b *bucket) firstOpen() *entry {
	for e := b.head; e != nil; e = e.next {
		if e.Count > 0 && (e.Throttle == nil || e.Throttle.Left > 0) {
			return e
		}
	}
	return nil
}

// keptBack reports whether quotas, for a group its own, kept the jobs of the bucket back as
// the pass began, and will not once what runs has ended.
func (b *bucket) keptBack(q *Account) bool {
	a, n, full := b.account, &b.shape.amount, false
	for of := range a.quotas {
		if !of.mayEver(n) {
			return false
		}
		full = full || (of == q || a == q) && !of.holds(of.running(), n)
	}
	return full && a.Barred == ""
}

// mayEver reports whether a job of this amount is within the quotas if nothing else runs.
func (a *Account) mayEver(n *amount) bool { return !(a.over && n.milli > 0) && a.holds(&quotaUse{}, n) }

// findPlace finds when the quotas of a job's account and groups let it start, and what
// is used of these ones then, it included.
func (p *Planner) findPlace(q *Account, k *quotaHold) {
	at := max(k.at, p.s.Now)
	for of := range k.account.quotas {
		at = max(at, p.letsStart(of, k.asks))
	}
	use := *q.inUse()
	for _, e := range p.quotaEnds(q) {
		if e.at <= at {
			use.add(e.quotaUse, -1)
		}
	}
	use.add(quotaUse{1, k.asks.quota, k.asks.hostShare}, 1)
	q.place.found = foundPlace{k, len(p.given), at, use}
}

// letsStart is the first moment at which these quotas hold with one more job, by the
// expected ends of what runs; Never where there is none.
func (p *Planner) letsStart(q *Account, n *amount) Instant {
	use := *q.inUse()
	if !q.bounded() || q.holds(&use, n) {
		return p.s.Now
	}
	ends := p.quotaEnds(q)
	slices.SortFunc(ends, func(a, b quotaEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if use.add(e.quotaUse, -1); q.holds(&use, n) {
			return e.at
		}
	}
	return Never
}

// quotaEnds lists what these quotas get back.
func (p *Planner) quotaEnds(q *Account) []quotaEnd {
	p.backs = p.backs[:0]
	for i := range p.s.Running {
		if r := &p.s.Running[i]; r.Account.belongs(q) {
			p.backs = append(p.backs, quotaEnd{max(r.End, p.s.Now), r.Account, quotaUse{1, r.Quota, r.hostShare()}})
		}
	}
	for _, e := range p.given {
		if e.account.belongs(q) {
			p.backs = append(p.backs, e)
		}
	}
	return p.backs
}

// holdQuotas has a job keep its place in quotas since GPUs are kept for it.
func (p *Planner) holdQuotas(c *cursor, at Instant) {
	for q := range c.bucket.account.quotas {
		if k := &q.place.reserved; k.asks == nil || c.before(&k.rank) {
			*k = quotaHold{c.rank, &c.bucket.shape.amount, c.bucket.account, at}
			q.place.found.of = nil
		}
	}
}

// give counts a start of the pass for the account and its groups.
func (p *Planner) give(c *cursor, h hostShare) {
	b := c.bucket
	b.account.addPlaced(b.shape.quota, h)
	p.given = append(p.given, quotaEnd{p.s.Now.Add(b.run), b.account, quotaUse{1, b.shape.quota, h}})
	p.countStart(c.entry.Throttle)
}
