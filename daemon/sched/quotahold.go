package sched

import (
	"cmp"
	"slices"
	"time"
)

// In each account two jobs keep their place in the account's quotas: the first job that quotas hold
// back, and the first job with a reservation. A later job of the account starts only if it is
// expected to end before the quotas allow the earlier job to start, or if the quotas then have room
// for both. The same is true of a group and the jobs of its members.

// quotaUse is how much of each quota jobs use.
type quotaUse struct {
	jobs, milli int
	hostShare
}

// add adds o if sign is 1, and subtracts it if sign is -1.
func (u *quotaUse) add(o quotaUse, sign int) {
	u.jobs += sign * o.jobs
	u.milli += sign * o.milli
	u.mem += int64(sign) * o.mem
	u.cpus += sign * o.cpus
}

// quotaHold is a waiting job that keeps its place in the quotas.
type quotaHold struct {
	rank
	asks    *amount // nil: there is no such job
	account *Account
	at      Instant // the start of the job's reservation
}

// quotaPlace is what a pass knows about the places that an account's jobs keep in the account's
// quotas.
type quotaPlace struct {
	sought   bool
	capped   quotaHold // the first job that a quota held back when the pass began
	reserved quotaHold // the first job with a reservation

	found foundPlace
}

// foundPlace is what the pass found out about a quotaHold: when the quotas allow the start of its
// job.
type foundPlace struct {
	of    *quotaHold // the quotaHold; nil: nothing was found out yet
	given int        // how many starts the pass had made by then
	at    Instant    // when the quotas allow the job's start; Never: unknown
	use   quotaUse
}

// quotaEnd is the end of a job, with the room that this end makes in quotas.
type quotaEnd struct {
	at      Instant
	account *Account
	quotaUse
}

// belongsTo reports whether the account's jobs count in the quotas of the other account. That is so
// if the other account is the account itself or one of its groups.
func (a *Account) belongsTo(other *Account) bool {
	return a == other || a != nil && slices.Contains(a.Groups, other)
}

// ownJobsAhead says how earlier jobs of the same account or group restrict a job.
type ownJobsAhead struct {
	hold   *quotaHold // the job whose place in quotas the restricted job would take; nil: none
	quotas *Account   // the account or group to which these quotas belong
	cpus   int        // the maximum number of CPUs that the earlier jobs leave
}

// limits holds what restricts the starts of a pass by account, group or lane. These are the places
// that jobs keep in quotas and in lanes.
type limits struct {
	pass  *pass
	room  *room
	given []quotaEnd // jobs that the pass starts
	backs []quotaEnd // what quotaEnds returns
	begun []*Lane    // the lanes in which the pass has counted starts, one for each start
	kept  []*Lane    // like the field begun, for the reservations of the pass
}

func (m *limits) begin() { m.given = m.given[:0] }

// behindOwn returns how earlier jobs of the same account and groups restrict the job at the cursor.
func (m *limits) behindOwn(c *cursor) ownJobsAhead {
	ends, all := m.pass.s.Now.Add(c.bucket.run), ownJobsAhead{cpus: unlimited}
	for q := range c.bucket.account.quotaAccounts {
		ahead := m.aheadIn(q, c, ends)
		if ahead.cpus = min(ahead.cpus, all.cpus); ahead.hold != nil {
			return ahead
		}
		all = ahead
	}
	return all
}

// aheadIn is like behindOwn, but looks only at the quotas of one account or group. It assumes that
// the job at the cursor ends at the given moment.
func (m *limits) aheadIn(q *Account, c *cursor, ends Instant) ownJobsAhead {
	ahead := ownJobsAhead{cpus: unlimited}
	if !q.hasQuota() {
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
	if !q.allowsJob(&place.use, &c.bucket.shape.amount) {
		return ownJobsAhead{hold: k, quotas: q}
	}
	if q.MaxCPUs > 0 {
		ahead.cpus = q.MaxCPUs - place.use.cpus
	}
	return ahead
}

// holdBefore returns the first job that keeps its place in the quotas of q. If that job does not go
// before the job at the cursor, holdBefore returns nil.
func (m *limits) holdBefore(q *Account, c *cursor) *quotaHold {
	if !q.place.sought {
		q.place.sought = true
		m.findCapped(q)
	}
	first, other := &q.place.capped, &q.place.reserved
	if first.asks == nil || other.asks != nil && other.isBefore(&first.rank) {
		first = other
	}
	if first.asks == nil || !first.isBefore(&c.rank) {
		return nil
	}
	return first
}

// findCapped finds the first job that the quotas of q held back when the pass began. If q is a
// user, it also considers jobs that one of the user's groups held back.
func (m *limits) findCapped(q *Account) {
	m.pass.work += len(m.pass.q.buckets)
	for _, b := range m.pass.q.buckets {
		if !b.account.belongsTo(q) || !b.keptBack(q) || m.pass.s.cutsOff(b) {
			continue
		}
		e := b.firstOpen()
		if m.pass.open(b.shape.footprint); e == nil || !m.room.fitsEver(b.shape) {
			continue
		}
		var r rank
		m.pass.rank(&r, b, e)
		if k := &q.place.capped; k.asks == nil || r.isBefore(&k.rank) {
			*k = quotaHold{rank: r, asks: &b.shape.amount, account: b.account}
		}
	}
}

// firstOpen returns the first job of the bucket that no throttle held back when the pass began.
func (b *bucket) firstOpen() *entry {
	for e := b.head; e != nil; e = e.next {
		if e.Count > 0 && e.Throttle.Full() == nil {
			return e
		}
	}
	return nil
}

// keptBack reports whether the bucket's jobs were held back by quotas when the pass began, and can
// start once running jobs have ended. If q is a group, only its own quotas count.
func (b *bucket) keptBack(q *Account) bool {
	a, n, full := b.account, &b.shape.amount, false
	for of := range a.quotaAccounts {
		if !of.mayEver(n) {
			return false
		}
		full = full || (of == q || a == q) && !of.allowsJob(of.runningUse(), n)
	}
	return full && a.Barred == ""
}

// mayEver reports whether the quotas allow a job of the given amount when no other job runs.
func (a *Account) mayEver(n *amount) bool {
	return !(a.over && n.milli > 0) && a.allowsJob(&quotaUse{}, n)
}

// findPlace finds the moment at which all quotas of a job allow its start. It also finds how much
// of q's quotas jobs use at that moment, including this job itself.
func (m *limits) findPlace(q *Account, k *quotaHold) {
	at := max(k.at, m.pass.s.Now)
	for of := range k.account.quotaAccounts {
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

// letsStart returns the first moment at which the quotas of q allow one more job, if running jobs
// end when expected. If there is no such moment, it returns Never.
func (m *limits) letsStart(q *Account, n *amount) Instant {
	use := *q.inUse()
	if !q.hasQuota() || q.allowsJob(&use, n) {
		return m.pass.s.Now
	}
	ends := m.quotaEnds(q)
	slices.SortFunc(ends, func(a, b quotaEnd) int { return cmp.Compare(a.at, b.at) })
	for _, e := range ends {
		if use.add(e.quotaUse, -1); q.allowsJob(&use, n) {
			return e.at
		}
	}
	return Never
}

// quotaEnds returns, for each job that runs or is started by the pass, when it ends and what its
// end gives back to the quotas of q.
func (m *limits) quotaEnds(q *Account) []quotaEnd {
	m.backs = m.backs[:0]
	for i := range m.pass.s.Running {
		if r := &m.pass.s.Running[i]; r.Account.belongsTo(q) && r.frees().slot != noSlot {
			m.backs = append(m.backs, quotaEnd{max(r.End, m.pass.s.Now), r.Account, quotaUse{1, r.Quota, r.hostShare()}})
		}
	}
	for _, e := range m.given {
		if e.account.belongsTo(q) {
			m.backs = append(m.backs, e)
		}
	}
	return m.backs
}

// keepPlace notes that the job at the cursor keeps its place in its quotas and lanes, because it
// has a reservation. A parked job needs no place.
func (m *limits) keepPlace(c *cursor, at Instant) {
	if c.bucket.shape.slot == noSlot {
		return
	}
	m.kept = c.entry.Throttle.keep(time.Duration(at-m.pass.s.Now), m.kept)
	for q := range c.bucket.account.quotaAccounts {
		if k := &q.place.reserved; k.asks == nil || c.isBefore(&k.rank) {
			*k = quotaHold{c.rank, &c.bucket.shape.amount, c.bucket.account, at}
			q.place.found.of = nil
		}
	}
}

// countPlaced counts a job that the pass starts in its account, its groups and its lanes. A parked
// job counts there already.
func (m *limits) countPlaced(c *cursor, h hostShare) {
	b := c.bucket
	if h.slot == noSlot {
		return
	}
	b.account.addPlaced(b.shape.quota, h)
	m.given = append(m.given, quotaEnd{m.pass.s.Now.Add(b.run), b.account, quotaUse{1, b.shape.quota, h}})
	m.begun = c.entry.Throttle.begin(m.begun)
}

// endReserved forgets that jobs with reservations have places in lanes.
func (m *limits) endReserved() {
	for _, l := range m.kept {
		l.kept--
	}
	m.kept = m.kept[:0]
}

// endCounts forgets what the pass has counted in lanes.
func (m *limits) endCounts() {
	m.endReserved()
	for _, l := range m.begun {
		l.begun--
	}
	m.begun = m.begun[:0]
}
