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

// Waiting is a job that may start as soon as it fits.
type Waiting struct {
	ID       job.ID
	Request  *job.Request // only read by Push
	Account  *Account
	Since    Instant       // when the job's wait began; for an array, when the wait of its next task began
	Capped   time.Duration // what Account.Capped was at Since; its later growth does not count as waiting
	Expected time.Duration // run time, including that of earlier attempts
	Late     time.Duration // run time that one in five similar jobs exceeds; 0: the expected run time
	Known    bool          // similar jobs have ended, so Expected and Late are more than a guess
	Served   time.Duration // run time of earlier attempts
	Effort   time.Duration // see predict.Estimate.Effort; read only if it counts as preemptible; 0: the expected run time
	Program  predict.Kind  // user, size and program, without the arguments; read only if it counts as preemptible
	Untried  bool          // too few jobs of its kind have ended to know how long they run; read like Program
	Throttle *Throttle     // nil: none
	Count    int           // number of starts: 1, or for an array the number of tasks left
	Owed     bool          // other jobs were stopped for the job while it waited
	Parks    bool          // once the job runs, it can probably be parked: it counts as preemptible
	Returns  bool          // a parked job, which needs only the GPUs that its request names; see job.Request.Return
	Batch    string        // name of the job's batch, within its account; "": none
}

// entry is a waiting job in its bucket. There may be 100 000 entries, so an entry has only the data
// in which the jobs of a bucket differ.
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
	skips      *tower // nil: the height is 0
	pass       uint64 // number of the last pass that started the job or some of its tasks
	started    int32  // number of starts in that pass
	Count      int32
}

// tower points, for each height from 1 up, to the next entry of at least that height.
type tower []*entry

func newEntry(w *Waiting, b *bucket) *entry {
	return &entry{
		ID: w.ID, Since: w.Since, Capped: w.Capped, Expected: w.Expected, Late: w.Late, Served: w.Served,
		Throttle: w.Throttle, Count: int32(w.Count), bucket: b,
	}
}

// waitingJob returns the job as it was pushed, without its request.
func (e *entry) waitingJob() Waiting {
	b := e.bucket
	w := Waiting{
		ID: e.ID, Account: b.account, Since: e.Since, Capped: e.Capped, Expected: e.Expected, Late: e.Late,
		Known: b.known, Served: e.Served, Throttle: e.Throttle, Count: int(e.Count), Owed: b.owed, Batch: b.batch,
		Returns: b.shape.slot == noSlot,
	}
	if b.shape.yields {
		w.Effort, w.Program, w.Untried = b.effort, b.program, b.untried
	}
	return w
}

// noteStart notes that the pass with the given number starts the job once.
func (e *entry) noteStart(pass uint64) {
	e.started = int32(e.startedBy(pass)) + 1
	e.pass = pass
}

func (e *entry) startedBy(pass uint64) int {
	if e.pass != pass {
		return 0
	}
	return int(e.started)
}

// bucketKey is what the jobs of a bucket have in common. Within a bucket, jobs are ordered by the
// moment from which their waits count, and then by id. This order never changes.
type bucketKey struct {
	account   *Account
	shape     *resourceShape
	log       int
	lateLog   int  // logarithm of Late; not less than the field log
	known     bool // set only for jobs without a time limit
	priority  job.Priority
	batch     string
	owed      bool
	turn      turn          // since when the jobs have had room in their lane
	extent    extent        // set for jobs in a batch
	effort    time.Duration // for preemptible jobs, their effort, rounded up; otherwise the run time
	program   predict.Kind
	untried   bool
	ranBefore bool // as in the ranks of these jobs
}

// bucket is a list of waiting jobs that differ only in id and waiting time.
type bucket struct {
	level int64 // computed from the priority
	bucketKey
	head    *entry
	inverse float64       // 1/effort, in units of 1/ns
	run     time.Duration // expected run time: a power of two seconds, at most the limit
	late    time.Duration // late run time, rounded in the same way
	tail    *entry
	len     int      // number of entries
	bounded int      // number of entries with a Throttle
	skips   []*entry // for each height from 1 up, the first entry of at least that height
	at      int      // position in Queue.buckets

	of       *batch  // nil: none
	sizeRank int32   // position of the bucket's size in the batch
	behind   *bucket // the bucket behind whose last job the jobs of this bucket fall; nil: none
}

// Queue holds the jobs that may start as soon as they fit. The cost of Push and Remove does not
// depend on the queue's length, with one exception: if a job is older than other jobs in its
// bucket, its place is found by a logarithmic search.
type Queue struct {
	buckets  []*bucket
	byKey    map[bucketKey]*bucket
	shapes   map[needs]*resourceShape
	feet     map[footprintKey]*footprint
	accounts map[*Account]int // number of entries of each account
	entries  map[job.ID]*entry
	passes   uint64 // number of passes so far
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

// Expected returns the expected run time of a queued job.
func (q *Queue) Expected(id job.ID) time.Duration { return q.entries[id].Expected }

// Has reports whether the job is in the queue.
func (q *Queue) Has(id job.ID) bool { return q.entries[id] != nil }

// Kinds yields the first job of each kind, and the number of jobs of that kind. Jobs of one kind
// belong to one account and ask for the same: if one of them fits, all of them do.
func (q *Queue) Kinds() iter.Seq2[job.ID, int] {
	return func(yield func(job.ID, int) bool) {
		for _, b := range q.buckets {
			if b.head != nil && !yield(b.head.ID, b.len) {
				return
			}
		}
	}
}

// Accounts returns the accounts with waiting jobs, in no order.
func (q *Queue) Accounts() iter.Seq[*Account] { return maps.Keys(q.accounts) }

// Push adds a job. The queue must have no job with the same id.
func (q *Queue) Push(w Waiting) {
	n := w.needsOf()
	sh := q.shapes[n]
	if sh == nil {
		sh = shapeOf(w.Request, n)
	}
	q.push(w, sh, w.Request.Priority)
}

// push adds a job whose shape equals template. The template may belong to another queue.
func (q *Queue) push(w Waiting, template *resourceShape, priority job.Priority) {
	if w.Returns {
		w.Throttle, w.Capped = nil, 0
	}
	key := keyOf(&w, q.shape(template), priority)
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
		turn: w.Throttle.turn(),
	}
	key.lateLog = max(key.log, runLog(w.Late))
	key.known = w.Known && sh.limit == 0
	if w.Batch != "" {
		key.extent = extentOf(sh.milli, w.Expected)
	}
	if key.effort = time.Second << key.log; sh.yields || w.Returns {
		key.program, key.untried, key.ranBefore = w.Program, w.Untried, w.Served > 0 || w.Returns
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

// Remove removes a job if the job is in the queue.
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

// Take counts one start of a job. After the last start, it removes the job.
func (q *Queue) Take(id job.ID) {
	if e := q.entries[id]; e != nil {
		if e.Count--; e.Count <= 0 {
			q.Remove(id)
		}
	}
}

// shape returns the queue's shape that equals template, and counts one more job of that shape.
func (q *Queue) shape(template *resourceShape) *resourceShape {
	sh := q.shapes[template.needs]
	if sh == nil {
		f := q.feet[template.key]
		if f == nil {
			f = &footprint{key: template.key, whole: template.whole, part: template.part, alone: template.alone}
			q.feet[template.key] = f
		}
		f.shapes++
		sh = &resourceShape{needs: template.needs, footprint: f}
		q.shapes[template.needs] = sh
	}
	sh.refs++
	return sh
}

// leaveShape counts one job less of a shape. If a shape has no jobs left, it is dropped, and so is
// a footprint that has no shapes left.
func (q *Queue) leaveShape(sh *resourceShape) {
	if sh.refs--; sh.refs > 0 {
		return
	}
	delete(q.shapes, sh.needs)
	if sh.shapes--; sh.shapes == 0 {
		delete(q.feet, sh.key)
	}
}

// runLog returns the binary logarithm of a run time in seconds, rounded up. It is at most 33, since
// longer run times do not fit into a Duration.
func runLog(expected time.Duration) int {
	seconds := (uint64(max(expected, time.Second)) + uint64(time.Second) - 1) / uint64(time.Second)
	return min(bits.Len64(seconds-1), 33)
}

// halfOctave rounds a duration up to 2^n seconds or to three quarters of 2^n seconds.
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

// waitStart returns the moment from which the wait counts. It is later than e.Since by the time for
// which quotas held back jobs of this size. That time is the same for all jobs of a bucket.
func (e *entry) waitStart(now Instant) Instant {
	if e.bucket.shape.slot == noSlot {
		return e.Since
	}
	return e.base() + Instant(e.bucket.account.Capped(e.bucket.shape.quota, now))
}

// base returns the part of waitStart that never changes.
func (e *entry) base() Instant { return e.Since - Instant(e.Capped) }

func (e *entry) before(o *entry) bool {
	return e.base() < o.base() || e.base() == o.base() && e.ID < o.ID
}

// Ordered returns the first n jobs in the order of a pass. If n is negative, it returns all of
// them.
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

// IDs returns the ids of all entries in ascending order. It reuses the memory of list.
func (q *Queue) IDs(list []job.ID) []job.ID {
	list = slices.AppendSeq(list[:0], maps.Keys(q.entries))
	slices.Sort(list)
	return list
}

// Moves reports whether a queued job would change its place if it were pushed again with the given
// values.
func (q *Queue) Moves(w Waiting) bool {
	b := q.entries[w.ID].bucket
	return keyOf(&w, b.shape, b.priority) != b.bucketKey
}
