package journal

import (
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// queueLength is how many entries wait for a journal that does not read. With
	// the kernel's buffer that is some seconds of the busiest day.
	queueLength = 4096
	// patience is how long the last entries may take when the daemon ends, from
	// when on the journal is said not to read, and how long an entry of the audit
	// log waits for room.
	patience = 2 * time.Second
)

// sender is the journal, or what stands for it; send may take any time.
type sender interface {
	send(entry) error
}

// Queue passes entries on from a goroutine of its own (invariant 1): a journald
// that hangs would otherwise take the scheduler with it.
type Queue struct {
	to       sender
	fallback sender // for what to does not take

	entries chan entry
	audit   chan entry    // those of the audit log, which go first
	lost    atomic.Uint64 // since the last entry that told
	since   atomic.Int64  // when the sending under way began, in Unix nanoseconds; 0: none

	close func()
	stop  chan struct{}
	done  chan struct{}
}

// NewText returns a queue that ends as lines of text in w.
func NewText(w io.Writer) *Queue { return newQueue(text{w}, text{io.Discard}) }

// NewNative returns a queue that ends in journald's socket at path, or as
// lines of text in w where that fails.
func NewNative(path string, w io.Writer) *Queue { return newQueue(&native{path: path}, text{w}) }

func newQueue(to, fallback sender) *Queue {
	q := &Queue{
		to: to, fallback: fallback, entries: make(chan entry, queueLength), audit: make(chan entry, queueLength),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	q.close = sync.OnceFunc(func() { close(q.stop) })
	go q.run()
	return q
}

// put takes one entry and never waits.
func (q *Queue) put(e entry) {
	if e.audit() {
		q.putAudit(e)
		return
	}
	select {
	case q.entries <- e:
	default:
		q.lost.Add(1)
	}
}

// putAudit takes an entry of the audit log, and waits a little where even there
// no room is: whoever did something as an administrator, or was refused it, can.
func (q *Queue) putAudit(e entry) {
	select {
	case q.audit <- e:
	case <-time.After(patience):
		q.lost.Add(1)
	}
}

// Close waits until everything is sent, but not longer than two seconds.
func (q *Queue) Close() error {
	q.close()
	select {
	case <-q.done:
	case <-time.After(patience):
	}
	return nil
}

// Stuck tells since when the journal has not read, and how many entries were
// left out meanwhile; zero while it reads.
func (q *Queue) Stuck(now time.Time) (since time.Time, lost uint64) {
	began := q.since.Load()
	if began == 0 || now.Sub(time.Unix(0, began)) < patience {
		return time.Time{}, 0
	}
	return time.Unix(0, began), q.lost.Load()
}

func (q *Queue) run() {
	defer close(q.done)
	for e, ok := q.next(); ok; e, ok = q.next() {
		q.pass(e)
	}
}

// next waits for an entry, of the audit log first. After the end it returns those
// that are left, and false when none is.
func (q *Queue) next() (entry, bool) {
	select {
	case e := <-q.audit:
		return e, true
	default:
	}
	select {
	case e := <-q.audit:
		return e, true
	case e := <-q.entries:
		return e, true
	case <-q.stop:
	}
	select {
	case e := <-q.audit:
		return e, true
	case e := <-q.entries:
		return e, true
	default:
		return entry{}, false
	}
}

// pass sends an entry, and after it how many were left out.
func (q *Queue) pass(e entry) {
	q.since.Store(time.Now().UnixNano())
	defer q.since.Store(0)
	q.send(e)
	if n := q.lost.Swap(0); n > 0 {
		told := entry{level: slog.LevelWarn, text: "lines of this log were left out, since the journal did not read"}
		told.add("lines", strconv.FormatUint(n, 10))
		q.send(told)
	}
}

// send falls back on text (invariant 4). What that does not take either is lost:
// there is no other place for it.
func (q *Queue) send(e entry) {
	if q.to.send(e) != nil {
		_ = q.fallback.send(e)
	}
}
