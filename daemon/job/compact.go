package job

import (
	"slices"
	"strings"
	"time"
)

// Compact is a waiting job as the scheduler keeps a hundred thousand of them: an eighth of
// a Job. What it has in common with those that were asked alike is kept once, by a Interned.
type Compact struct {
	ID ID

	like    *sharedRequest // what it has in common with others, never changed; nil: there is no job
	derived *sharedDerived // the same of what the daemon derived
	key     string
	name    string
	at      time.Time     // SubmittedAt
	changed time.Duration // after that
	queued  time.Duration // the same
	waited  expectation
	bytes   int64
	rare    *rare // nil: it has nothing of these
}

// expectation is what changes of a job as it waits.
type expectation struct{ capped, expected time.Duration }

// rare is what few waiting jobs have.
type rare struct {
	comment            string
	tags               map[string]string
	ids, from, exclude []int
	begin              time.Time
	after, pending     []Dependency
	notify             []Notify
	dedup              string
	away               time.Time
	held               string
	heldOver           bool
}

func (r *rare) none() bool {
	return r.comment == "" && r.tags == nil && r.ids == nil && r.from == nil && r.exclude == nil && r.begin == time.Time{} &&
		r.after == nil && r.pending == nil && r.notify == nil && r.dedup == "" && r.away == time.Time{} && r.held == "" &&
		!r.heldOver
}

// alike is what jobs have in common that are one entry of a Interned.
type alike struct {
	uid, gid     int
	user, groups string
	gids         int // number of the list in the Interned; 0: none

	gpuMilli, cpus, maxLoad, maxUsed           int
	warnSignal, retries, maxFailures           int
	gpuMem, mem                                int64
	gpuType, gpuVisible, batch, signalTo       string
	limit, grace, warnBefore, backoff          Span
	priority                                   Priority
	spread, preemptible, screen, hold, requeue bool
	warnMain                                   bool
	onTimeout                                  TimeoutAction
	objective                                  Objective
}

// sharedRequest is what is alike, and how many have it.
type sharedRequest struct {
	owner   Owner
	gids    GIDs
	request Request
	number  int // of gids
	uses    int
}

// sharedDerived is what the daemon derived, and how many have the same: jobs that are alike may run
// as many commands.
type sharedDerived struct {
	Derived
	uses int
}

// Interned has what the jobs that wait have in common, once. One goroutine uses it at a time.
type Interned struct {
	byLike map[alike]*sharedRequest
	kinds  map[Derived]*sharedDerived
	gids   map[int]numbered // by user: the list of the last job
	lists  int
}

type numbered struct {
	gids   GIDs
	number int
}

// NewInterned returns an empty one.
func NewInterned() *Interned {
	return &Interned{byLike: map[alike]*sharedRequest{}, kinds: map[Derived]*sharedDerived{}, gids: map[int]numbered{}}
}

// Pack returns a waiting job in its compact form, until Drop. False: it is one of those
// that have none, since it is an array or a task, has run, or has been stopped.
func (s *Interned) Pack(j *Job) (Compact, bool) { return s.PackAs(j, nil) }

// PackAs is Pack of a job that the same person asked as that of a Compact of this Interned, but for what few ask and
// what the daemon derived, which saves a look-up; nil: it is not known whether one is.
func (s *Interned) PackAs(j *Job, as *Compact) (Compact, bool) {
	changed, queued := j.ChangedAt.Sub(j.SubmittedAt), j.QueuedAt.Sub(j.SubmittedAt)
	exact := j.SubmittedAt.Add(changed) == j.ChangedAt && j.SubmittedAt.Add(queued) == j.QueuedAt
	if j.ID == 0 || !exact || !isPlain(j) {
		return Compact{}, false
	}
	l, q := &j.Life, &j.Request
	c := Compact{
		ID: j.ID, like: s.likeAs(j, as), derived: s.kind(q.Derived), key: j.Key, name: j.Label.Name,
		at: j.SubmittedAt, changed: changed, queued: queued, waited: expectation{l.Capped, l.Expected}, bytes: l.Bytes,
	}
	if r := (rare{
		j.Label.Comment, j.Label.Tags, q.GPUIDs, q.GPUsFrom, q.ExcludeGPUs, q.Begin, q.After, l.Pending, q.Notify, q.Dedup,
		l.AwayAt, l.Held, l.HeldOver,
	}); !r.none() {
		c.rare = &r
	}
	return c, true
}

// isPlain reports whether a job has nothing but what Compact keeps.
func isPlain(j *Job) bool {
	l := &j.Life
	special := l.Owed || l.Guarded || l.Recovered || l.Task != nil || l.Tasks != nil || l.Principal != nil || l.Heir != nil
	ran := l.Began || l.NotBefore != time.Time{} || l.Charge != 0 || l.Shared != 0 || l.GPUError != nil || l.Left != "" ||
		l.Failures != 0 || l.Tries != 0 || l.Requeues != 0 || l.Served != 0 || l.Taught != 0
	stopped := l.Stop != "" || l.StopBy != "" || l.StopFor != 0 || !l.StopWhy.IsZero() || l.StopAt != time.Time{} ||
		l.Warned || !l.WarnsAt.IsZero() || l.Breach != nil || !l.KillAt.IsZero()
	return j.State == Queued && j.Attempt == nil && j.Result == nil && j.Request.Array == nil &&
		!special && !ran && !stopped && l.Suspension == Suspension{}
}

// likeAs is like, where that may be another's.
func (s *Interned) likeAs(j *Job, as *Compact) *sharedRequest {
	if as == nil || as.like == nil || as.like.uses == 0 || !slices.Equal(as.like.gids, j.GIDs) {
		return s.like(j)
	}
	as.like.uses++
	return as.like
}

// like is what the Interned has of a job, for one more.
func (s *Interned) like(j *Job) *sharedRequest {
	number := s.number(j.Owner.UID, j.GIDs)
	key := alikeOf(&j.Owner, number, &j.Request)
	e := s.byLike[key]
	if e == nil {
		e = &sharedRequest{owner: j.Owner, gids: j.GIDs, request: j.Request, number: number}
		q := &e.request
		q.GPUIDs, q.GPUsFrom, q.ExcludeGPUs = nil, nil, nil
		q.Begin, q.Dedup = time.Time{}, ""
		q.After, q.Notify = nil, nil
		q.Derived = Derived{}
		s.byLike[key] = e
	}
	e.uses++
	return e
}

// kind is the same of what the daemon derived.
func (s *Interned) kind(d Derived) *sharedDerived {
	k := s.kinds[d]
	if k == nil {
		d.Shape, d.Script = strings.Clone(d.Shape), strings.Clone(d.Script) // of what may be a part of a long text
		k = &sharedDerived{Derived: d}
		s.kinds[d] = k
	}
	k.uses++
	return k
}

// number is that of a user's list of groups.
func (s *Interned) number(uid int, gids GIDs) int {
	if gids == nil {
		return 0
	}
	n := s.gids[uid]
	if n.number == 0 || !slices.Equal(n.gids, gids) {
		s.lists++
		n = numbered{gids, s.lists}
		s.gids[uid] = n
	}
	return n.number
}

func alikeOf(o *Owner, gids int, q *Request) alike {
	a := alike{
		uid: o.UID, gid: o.GID, user: o.User, gids: gids,
		gpuMilli: q.GPUMilli, cpus: q.CPUs, maxLoad: q.MaxLoadPercent, maxUsed: q.MaxUsedPercent,
		warnSignal: q.WarnSignal, retries: q.Retries, maxFailures: q.MaxFailures, gpuMem: q.GPUMemBytes, mem: q.MemBytes,
		gpuType: q.GPUType, gpuVisible: q.GPUVisible, batch: q.Batch, signalTo: q.SignalTo,
		limit: q.TimeLimit, grace: q.Grace, warnBefore: q.WarnBefore, backoff: q.Backoff, priority: q.Priority,
		spread: q.Spread, preemptible: q.Preemptible, screen: q.Screen, hold: q.Hold, requeue: q.Requeue,
		warnMain: q.WarnMain, onTimeout: q.OnTimeout, objective: q.Objective,
	}
	if o.Groups != nil {
		a.groups = "\x00" + strings.Join(o.Groups, "\x00")
	}
	return a
}

// Drop says that a Compact of the Interned is not used any more.
func (s *Interned) Drop(c *Compact) {
	e, k := c.like, c.derived
	if e == nil {
		return
	}
	if e.uses--; e.uses == 0 {
		delete(s.byLike, alikeOf(&e.owner, e.number, &e.request))
	}
	if k.uses--; k.uses == 0 {
		delete(s.kinds, k.Derived)
	}
	*c = Compact{}
}

// Request is what the job asks, but for what few ask and what the daemon derived. Nobody may
// change it.
func (c *Compact) Request() *Request { return &c.like.request }

// Derived is what the daemon derived.
func (c *Compact) Derived() *Derived { return &c.derived.Derived }

// Unpack writes the job over j.
func (c *Compact) Unpack(j *Job) {
	*j = Job{
		ID: c.ID, Key: c.key, Owner: c.like.owner, Label: Label{Name: c.name}, Request: c.like.request, State: Queued,
		Life: Life{GIDs: c.like.gids},
	}
	j.Request.Derived = c.derived.Derived
	j.SubmittedAt, j.ChangedAt, j.QueuedAt = c.at, c.at.Add(c.changed), c.at.Add(c.queued)
	j.Capped, j.Expected, j.Bytes = c.waited.capped, c.waited.expected, c.bytes
	r := c.rare
	if r == nil {
		return
	}
	q := &j.Request
	j.Label.Comment, j.Label.Tags = r.comment, r.tags
	q.GPUIDs, q.GPUsFrom, q.ExcludeGPUs = r.ids, r.from, r.exclude
	q.Begin, q.Dedup = r.begin, r.dedup
	q.After, q.Notify = r.after, r.notify
	j.Pending, j.AwayAt = r.pending, r.away
	j.Held, j.HeldOver = r.held, r.heldOver
}

// TakeWait takes over from when the wait of its job counts and what is expected of it, which is all of a job that may
// change while it stays the same Compact.
func (c *Compact) TakeWait(j *Job) {
	c.queued, c.waited = j.QueuedAt.Sub(c.at), expectation{j.Capped, j.Expected}
}

// Waits is from when its wait counts, and what the clock of its account's time at quotas showed then. Of a job
// of which Request is not all that it asks known is false.
func (c *Compact) Waits() (since time.Time, capped time.Duration, known bool) {
	return c.at.Add(c.queued), c.waited.capped, c.rare == nil
}

// UID is the owner's.
func (c *Compact) UID() int { return c.like.owner.UID }
