package sched

import (
	"iter"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Throttle bounds how many tasks of one array run at once.
type Throttle struct {
	Left int // that may start now
	used int // by this pass
}

// Waiting is a job that may start as soon as it fits.
type Waiting struct {
	ID       job.ID
	Request  *job.Request // read when it is queued
	Account  *Account
	Since    Instant       // from when its wait counts: that of the next start
	Capped   time.Duration // what Account.Capped said for its size then: what is added since is no waiting
	Expected time.Duration // run time, with that of attempts before
	Late     time.Duration // the run time that one in five like it exceeds, if more than is expected
	Served   time.Duration // run time of those
	Effort   time.Duration // see predict.Estimate.Effort; read of jobs that may be stopped for others; 0: what is expected
	Program  predict.Kind  // user, size and program, without the words of the command; read of the same
	Untried  bool          // too few of its kind have ended to know them by; read of the same
	Throttle *Throttle     // nil: none
	Count    int           // starts in it: 1, or the tasks left of an array
	Owed     bool          // others were stopped for it since it waits
	Batch    string        // of the account's jobs, with which it is to be done soonest; "": none
}

// entry is a waiting job in its bucket, which has the rest of it: there may be a hundred
// thousand.
type entry struct {
	ID       job.ID
	Since    Instant
	Capped   time.Duration
	Expected time.Duration
	Late     time.Duration
	Served   time.Duration
	Throttle *Throttle

	bucket     *bucket
	prev, next *entry
	skips      *tower // the next ones by height, from 1; nil: it has a height of 0
	pass       uint64 // the last that started some of it
	started    int32  // by that
	Count      int32
}

// tower is the next entries by height, from 1.
type tower []*entry

func newEntry(w *Waiting, b *bucket) *entry {
	return &entry{
		ID: w.ID, Since: w.Since, Capped: w.Capped, Expected: w.Expected, Late: w.Late, Served: w.Served,
		Throttle: w.Throttle, Count: int32(w.Count), bucket: b,
	}
}

// waiting is the job as it was put in.
func (e *entry) waiting() Waiting {
	b := e.bucket
	w := Waiting{
		ID: e.ID, Account: b.account, Since: e.Since, Capped: e.Capped, Expected: e.Expected, Late: e.Late,
		Served: e.Served, Throttle: e.Throttle, Count: int(e.Count), Owed: b.owed, Batch: b.batch,
	}
	if b.shape.yields {
		w.Effort, w.Program, w.Untried = b.effort, b.program, b.untried
	}
	return w
}

// start counts a start by a pass.
func (e *entry) start(pass uint64) {
	e.started = int32(e.startedBy(pass)) + 1
	e.pass = pass
}

func (e *entry) startedBy(pass uint64) int {
	if e.pass != pass {
		return 0
	}
	return int(e.started)
}

// bucketKey is what the jobs of a bucket have in common. Their order among
// themselves never changes: it is by Since, less what is capped, and id.
type bucketKey struct {
	account   *Account
	shape     *resourceShape
	log       int
	lateLog   int // of Late; not less than log
	priority  job.Priority
	batch     string
	owed      bool
	extent    extent        // in a batch
	effort    time.Duration // of jobs that may be stopped for others, rounded up
	program   predict.Kind
	untried   bool
	ranBefore bool // they ran before
}

// bucket is a list of jobs that differ in nothing but Since and id.
type bucket struct {
	level int64 // the priority's
	bucketKey
	head    *entry
	inverse float64       // of what its wait is measured by, in 1/ns
	run     time.Duration // the expected run time: a power of two seconds, at most the limit
	late    time.Duration // the same of Late
	tail    *entry
	len     int      // how many entries it has
	bounded int      // of these, how many have a Throttle
	skips   []*entry // the first of each height, from 1
	at      int      // in Queue.buckets

	of       *batch  // nil: none
	sizeRank int32   // of its size in the batch
	behind   *bucket // the tail of which the jobs do not go before; nil: none
}

// Queue holds the jobs that may start as soon as they fit. Push and Remove
// cost the same however long it is, but for a job that is older than others of
// its bucket: its place among them is searched for in the logarithm of their number.
type Queue struct {
	buckets  []*bucket
	byKey    map[bucketKey]*bucket
	shapes   map[needs]*resourceShape
	feet     map[footprintKey]*footprint
	accounts map[*Account]int // by how many entries
	entries  map[job.ID]*entry
	passes   uint64 // over it so far
	batches  []*batch
	byBatch  map[batchKey]*batch
}

// NewQueue returns an empty queue.
func NewQueue() *Queue {
	return &Queue{
		byKey: map[bucketKey]*bucket{}, shapes: map[needs]*resourceShape{}, feet: map[footprintKey]*footprint{},
		accounts: map[*Account]int{}, entries: map[job.ID]*entry{}, byBatch: map[batchKey]*batch{},
	}
}

// Len returns the number of entries.
func (q *Queue) Len() int { return len(q.entries) }

// Expected is the run time that the job was put in the queue with.
func (q *Queue) Expected(id job.ID) time.Duration { return q.entries[id].Expected }

// Has reports whether the job is in the queue.
func (q *Queue) Has(id job.ID) bool { return q.entries[id] != nil }

// Kinds yields the first job of each kind that waits, and how many there are of it: jobs of one account that
// ask the same, so that all of them can start or none.
func (q *Queue) Kinds() iter.Seq2[job.ID, int] {
	return func(yield func(job.ID, int) bool) {
		for _, b := range q.buckets {
			if b.head != nil && !yield(b.head.ID, b.len) {
				return
			}
		}
	}
}

// Accounts returns the accounts whose jobs wait, in no order.
func (q *Queue) Accounts() iter.Seq[*Account] { return maps.Keys(q.accounts) }

// Push adds a job. One with this id must not be there.
func (q *Queue) Push(w Waiting) {
	sh := q.shapes[needsOf(w.Request)]
	if sh == nil {
		sh = newShape(w.Request)
	}
	q.push(w, sh, w.Request.Priority)
}

// push adds a job of a shape, which may be another queue's.
func (q *Queue) push(w Waiting, like *resourceShape, priority job.Priority) {
	key := keyOf(&w, q.shape(like), priority)
	b := q.byKey[key]
	if b == nil {
		b = newBucket(key)
		b.at = len(q.buckets)
		q.byKey[key] = b
		q.buckets = append(q.buckets, b)
		q.joinBatch(b)
	}
	e := newEntry(&w, b)
	b.insert(e)
	q.entries[w.ID] = e
	q.accounts[w.Account]++
}

func keyOf(w *Waiting, sh *resourceShape, priority job.Priority) bucketKey {
	key := bucketKey{
		account: w.Account, shape: sh, log: runLog(w.Expected), priority: priority, batch: w.Batch, owed: w.Owed,
	}
	key.lateLog = max(key.log, runLog(w.Late))
	if w.Batch != "" {
		key.extent = extentOf(sh.milli, w.Expected)
	}
	if key.effort = time.Second << key.log; sh.yields {
		key.program, key.untried, key.ranBefore = w.Program, w.Untried, w.Served > 0
		if w.Effort > 0 {
			key.effort = halfOctave(w.Effort)
		}
	}
	return key
}

func newBucket(key bucketKey) *bucket {
	b := &bucket{
		bucketKey: key, level: level(key.priority),
		run: runTime(key.log, key.shape.limit), inverse: 1 / float64(key.effort),
	}
	if key.batch != "" {
		b.run = min(b.run, key.extent.length)
	}
	if b.late = b.run; key.lateLog > key.log {
		b.late = runTime(key.lateLog, key.shape.limit)
	}
	return b
}

// Remove takes a job out; one that is not there changes nothing.
func (q *Queue) Remove(id job.ID) {
	e := q.entries[id]
	if e == nil {
		return
	}
	delete(q.entries, id)
	b := e.bucket
	b.remove(e)
	if q.accounts[b.account]--; q.accounts[b.account] == 0 {
		delete(q.accounts, b.account)
	}
	q.leaveShape(b.shape)
	if b.head == nil {
		last := q.buckets[len(q.buckets)-1]
		q.buckets[b.at], last.at = last, b.at
		q.buckets[len(q.buckets)-1] = nil
		q.buckets = q.buckets[:len(q.buckets)-1]
		delete(q.byKey, b.bucketKey)
		q.leaveBatch(b)
	}
}

// Take counts down the starts of a job, and takes it out with the last.
func (q *Queue) Take(id job.ID) {
	if e := q.entries[id]; e != nil {
		if e.Count--; e.Count <= 0 {
			q.Remove(id)
		}
	}
}

// shape returns the queue's own of a shape, for one job more.
func (q *Queue) shape(like *resourceShape) *resourceShape {
	sh := q.shapes[like.needs]
	if sh == nil {
		f := q.feet[like.key]
		if f == nil {
			f = &footprint{key: like.key, whole: like.whole, part: like.part, alone: like.alone}
			q.feet[like.key] = f
		}
		f.shapes++
		sh = &resourceShape{needs: like.needs, footprint: f}
		q.shapes[like.needs] = sh
	}
	sh.refs++
	return sh
}

// leaveShape drops a shape with its last job, and its footprint with its last shape.
func (q *Queue) leaveShape(sh *resourceShape) {
	if sh.refs--; sh.refs > 0 {
		return
	}
	delete(q.shapes, sh.needs)
	if sh.shapes--; sh.shapes == 0 {
		delete(q.feet, sh.key)
	}
}

// runLog is the expected run time as a power of two seconds, rounded up. The largest
// that a duration holds is the 33rd.
func runLog(expected time.Duration) int {
	seconds := (uint64(max(expected, time.Second)) + uint64(time.Second) - 1) / uint64(time.Second)
	return min(bits.Len64(seconds-1), 33)
}

// halfOctave rounds up to a power of two seconds, or three quarters of one.
func halfOctave(d time.Duration) time.Duration {
	up := time.Second << runLog(d)
	if d <= up/4*3 {
		return up / 4 * 3
	}
	return up
}

func runTime(log int, limit time.Duration) time.Duration {
	run := time.Second << log
	if limit > 0 {
		run = min(run, limit)
	}
	return run
}

// since is the moment from which the wait counts, less the time at a quota: for all of
// a bucket it moves alike.
func (e *entry) since(now Instant) Instant {
	return e.base() + Instant(e.bucket.account.Capped(e.bucket.shape.quota, now))
}

// base is what never changes of since.
func (e *entry) base() Instant { return e.Since - Instant(e.Capped) }

func (e *entry) before(o *entry) bool {
	return e.base() < o.base() || e.base() == o.base() && e.ID < o.ID
}

// Ordered returns the first n jobs in the order in which a pass looks at them;
// all for a negative n.
func (p *Planner) Ordered(s *Snapshot, q *Queue, n int) []job.ID {
	p.begin(s, q)
	if n >= 0 {
		return p.walk.head(n)
	}
	list := make([]rank, 0, len(q.entries))
	for _, b := range q.buckets {
		for e := b.head; e != nil; e = e.next {
			list = append(list, p.pass.cursor(b, e).rank)
		}
	}
	return sorted(list)
}

// IDs returns the ids of all entries in order, in the memory of an earlier list.
func (q *Queue) IDs(list []job.ID) []job.ID {
	list = slices.AppendSeq(list[:0], maps.Keys(q.entries))
	slices.Sort(list)
	return list
}

// Moves reports whether an entry stands elsewhere when it is put in again like this.
func (q *Queue) Moves(w Waiting) bool {
	b := q.entries[w.ID].bucket
	return keyOf(&w, b.shape, b.priority) != b.bucketKey
}
