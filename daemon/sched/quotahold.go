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

// limits is what bounds the starts of a pass for the sake of others of the same account, group or
// array: the places that jobs keep in quotas, and throttles.
type limits struct {
	pass      *pass
	room      *room
	given     []quotaEnd  // what the pass gave out, as quotas count it
	backs     []quotaEnd  // what a quota gets back
	throttles []*Throttle // that the pass went through
}

// begin forgets what the pass before gave out.
func (m *limits) begin() { m.given = m.given[:0] }

// behindOwn says what the jobs of its own account or group ahead of the job at the cursor
// mean for it.
func (m *limits) behindOwn(c *cursor) ownJobsAhead {
	ends, all := m.pass.s.Now.Add(c.bucket.run), ownJobsAhead{cpus: unlimited}
	for q := range c.bucket.account.quotas {
		ahead := m.aheadIn(q, c, ends)
		if ahead.cpus = min(ahead.cpus, all.cpus); ahead.hold != nil {
			return ahead
		}
		all = ahead
	}
	return all
}

// aheadIn is behindOwn for the quotas of one account or group. The job at the cursor would have
// ended by ends.
func (m *limits) aheadIn(q *Account, c *cursor, ends Instant) ownJobsAhead {
	ahead := ownJobsAhead{cpus: unlimited}
	if !q.bounded() {
		return ahead
	}
	k := m.holdBefore(q, c)
	if k == nil {
		return ahead
	}
	place := &q.place.found
	if place.of != k || place.given != len(m.given) {
		m.findPlace(q, k)
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
func (m *limits) holdBefore(q *Account, c *cursor) *quotaHold {
	if !q.place.sought {
		q.place.sought = true
		m.findCapped(q)
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
func (m *limits) findCapped(q *Account) {
	m.pass.work += len(m.pass.q.buckets)
	for _, b := range m.pass.q.buckets {
		if !b.account.belongs(q) || !b.keptBack(q) {
			continue
		}
		e := b.firstOpen()
		if m.pass.open(b.shape.footprint); e == nil || !m.room.fitsEver(b.shape) {
			continue
		}
		var r rank
		m.pass.rank(&r, b, e)
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
func (m *limits) findPlace(q *Account, k *quotaHold) {
	at := max(k.at, m.pass.s.Now)
	for of := range k.account.quotas {
		at = max(at, m.letsStart(of, k.asks))
	}
	use := *q.inUse()
	for _, e := range m.quotaEnds(q) {
		if e.at <= at {
			use.add(e.quotaUse, -1)
		}
	}
	use.add(quotaUse{1, k.asks.quota, k.asks.hostShare}, 1)
	q.place.found = foundPlace{k, len(m.given), at, use}
}

// letsStart is the first moment at which these quotas hold with one more job, by the
// expected ends of what runs; Never where there is none.
func (m *limits) letsStart(q *Account, n *amount) Instant {
	use := *q.inUse()
	if !q.bounded() || q.holds(&use, n) {
		return m.pass.s.Now
	}
	ends := m.quotaEnds(q)
	slices.SortFunc(ends, func(a, b quotaEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if use.add(e.quotaUse, -1); q.holds(&use, n) {
			return e.at
		}
	}
	return Never
}

// quotaEnds lists what these quotas get back.
func (m *limits) quotaEnds(q *Account) []quotaEnd {
	m.backs = m.backs[:0]
	for i := range m.pass.s.Running {
		if r := &m.pass.s.Running[i]; r.Account.belongs(q) {
			m.backs = append(m.backs, quotaEnd{max(r.End, m.pass.s.Now), r.Account, quotaUse{1, r.Quota, r.hostShare()}})
		}
	}
	for _, e := range m.given {
		if e.account.belongs(q) {
			m.backs = append(m.backs, e)
		}
	}
	return m.backs
}

// hold has a job keep its place in quotas since GPUs are kept for it.
func (m *limits) hold(c *cursor, at Instant) {
	for q := range c.bucket.account.quotas {
		if k := &q.place.reserved; k.asks == nil || c.before(&k.rank) {
			*k = quotaHold{c.rank, &c.bucket.shape.amount, c.bucket.account, at}
			q.place.found.of = nil
		}
	}
}

// give counts a start of the pass for the account and its groups.
func (m *limits) give(c *cursor, h hostShare) {
	b := c.bucket
	b.account.addPlaced(b.shape.quota, h)
	m.given = append(m.given, quotaEnd{m.pass.s.Now.Add(b.run), b.account, quotaUse{1, b.shape.quota, h}})
	m.countStart(c.entry.Throttle)
}

// countStart counts a start that an array's throttle, if there is one, lets pass.
func (m *limits) countStart(g *Throttle) {
	if g == nil {
		return
	}
	if g.used == 0 {
		m.throttles = append(m.throttles, g)
	}
	g.used++
}

// resetThrottles forgets what the throttles let through in this pass.
func (m *limits) resetThrottles() {
	for _, g := range m.throttles {
		g.used = 0
	}
	m.throttles = m.throttles[:0]
}
