package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// logLines is how many lines wait for a journal that does not read. With
	// the kernel's buffer that is some seconds of the busiest day.
	logLines = 4096
	// logPatience is how long the last lines may take when the daemon ends, and
	// from when on health tells that the journal does not read.
	logPatience = 2 * time.Second
)

// logQueue passes lines on from a goroutine of its own, so that nobody who logs
// ever waits for the journal: a journald that hangs would otherwise take the
// scheduler with it. What finds no room is counted and left out, and a line says
// how many those were.
type logQueue struct {
	w     io.Writer
	lines chan []byte
	lost  atomic.Uint64 // since the last line that told
	since atomic.Int64  // when the write under way began, in Unix nanoseconds; 0: none

	close func()
	stop  chan struct{}
	done  chan struct{}
}

func newLogQueue(w io.Writer) *logQueue {
	q := &logQueue{w: w, lines: make(chan []byte, logLines), stop: make(chan struct{}), done: make(chan struct{})}
	q.close = sync.OnceFunc(func() { close(q.stop) })
	go q.run()
	return q
}

// Write takes one line and never blocks.
func (q *logQueue) Write(line []byte) (int, error) {
	select {
	case q.lines <- append([]byte(nil), line...):
	default:
		q.lost.Add(1)
	}
	return len(line), nil
}

// Close waits until everything is written, but not longer than logPatience.
func (q *logQueue) Close() error {
	q.close()
	select {
	case <-q.done:
	case <-time.After(logPatience):
	}
	return nil
}

// stuck tells since when the journal has not read, and how many lines were left
// out meanwhile; zero while it reads.
func (q *logQueue) stuck(now time.Time) (since time.Time, lost uint64) {
	began := q.since.Load()
	if began == 0 || now.Sub(time.Unix(0, began)) < logPatience {
		return time.Time{}, 0
	}
	return time.Unix(0, began), q.lost.Load()
}

func (q *logQueue) run() {
	defer close(q.done)
	for {
		select {
		case line := <-q.lines:
			q.pass(line)
		case <-q.stop:
			for {
				select {
				case line := <-q.lines:
					q.pass(line)
				default:
					return
				}
			}
		}
	}
}

// pass writes a line, and after it how many were left out. A line that can't be
// written is lost: there is nobody to tell.
func (q *logQueue) pass(line []byte) {
	q.since.Store(time.Now().UnixNano())
	defer q.since.Store(0)
	_, _ = q.w.Write(line)
	if n := q.lost.Swap(0); n > 0 {
		_, _ = fmt.Fprintf(q.w, "<4>msg=\"lines of this log were left out, since the journal did not read\" lines=%d\n", n)
	}
}
