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
	// queueLength is the number of entries that may wait while journald does not read. With the
	// kernel's buffer, there is room for some seconds of the busiest day.
	queueLength = 4096
	// patience is the time that the daemon waits for the last entries when it ends. An entry of the
	// audit log waits for room for the same time. If journald has not read for this long, it counts
	// as stuck.
	patience = 2 * time.Second
)

// sender sends entries to the journal or somewhere else. Sending may take any length of time.
type sender interface {
	send(entry) error
}

// Queue sends entries in its own goroutine (invariant 1), so that a journald that hangs does not
// stop the scheduler.
type Queue struct {
	to       sender
	fallback sender // writes the entries that the first sender can't send

	entries chan entry
	audit   chan entry    // entries of the audit log, sent before all others
	lost    atomic.Uint64 // entries dropped and not reported yet
	since   atomic.Int64  // start of the present send in Unix nanoseconds; 0: none

	close func()
	stop  chan struct{}
	done  chan struct{}
}

// NewText returns a queue that writes lines of text to w.
func NewText(w io.Writer) *Queue { return newQueue(text{w}, text{io.Discard}) }

// NewNative returns a queue that sends to journald's socket at path.
// If that fails, it writes lines of text to w.
func NewNative(path string, w io.Writer) *Queue { return newQueue(&nativeSender{path: path}, text{w}) }

func newQueue(to, fallback sender) *Queue {
	q := &Queue{
		to: to, fallback: fallback, entries: make(chan entry, queueLength), audit: make(chan entry, queueLength),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	q.close = sync.OnceFunc(func() { close(q.stop) })
	go q.run()
	return q
}

// put adds an entry. It waits only if the entry belongs to the audit log and there is no room.
func (q *Queue) put(e entry) {
	if e.isAudit() {
		q.putAudit(e)
		return
	}
	select {
	case q.entries <- e:
	default:
		q.lost.Add(1)
	}
}

// putAudit adds an entry of the audit log. If there is no room, it waits for room, at most for the
// time patience. The caller can wait, because only the requests of administrators and refused
// requests cause such entries.
func (q *Queue) putAudit(e entry) {
	select {
	case q.audit <- e:
	case <-time.After(patience):
		q.lost.Add(1)
	}
}

// Close waits until all entries are sent, but not longer than the constant patience.
func (q *Queue) Close() error {
	q.close()
	select {
	case <-q.done:
	case <-time.After(patience):
	}
	return nil
}

// Stuck returns the time at which journald stopped reading, and the number of entries dropped since
// then. While journald reads, Stuck returns zeros.
func (q *Queue) Stuck(now time.Time) (since time.Time, dropped uint64) {
	began := q.since.Load()
	if began == 0 || now.Sub(time.Unix(0, began)) < patience {
		return time.Time{}, 0
	}
	return time.Unix(0, began), q.lost.Load()
}

func (q *Queue) run() {
	defer close(q.done)
	for e, ok := q.next(); ok; e, ok = q.next() {
		q.sendOne(e)
	}
}

// next waits for the next entry, and returns entries of the audit log first.
// After Close it returns the remaining entries, and then false.
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

// sendOne sends an entry, and then reports how many entries were dropped.
func (q *Queue) sendOne(e entry) {
	q.since.Store(time.Now().UnixNano())
	defer q.since.Store(0)
	q.send(e)
	if n := q.lost.Swap(0); n > 0 {
		report := entry{level: slog.LevelWarn, text: "lines of this log were left out because the journal did not read"}
		report.add("lines", strconv.FormatUint(n, 10))
		q.send(report)
	}
}

// send sends an entry, or writes it as text if that fails (invariant 4).
// If the text can't be written either, the entry is lost: there is no other place for it.
func (q *Queue) send(e entry) {
	if q.to.send(e) != nil {
		_ = q.fallback.send(e)
	}
}
