package kernellog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/gpu"
	"golang.org/x/sys/unix"
)

// A Reader follows one log.
type Reader struct {
	path  string
	retry time.Duration
	pause time.Duration // delay at the end of a file, where a read does not block; a read of the kernel log does

	mu      sync.Mutex
	trouble error
}

// retryDelay is the delay before an unreadable log is tried again.
const retryDelay = 30 * time.Second

// New returns a reader of /dev/kmsg, or of a file in its place.
func New(path string) *Reader {
	return &Reader{path: path, retry: retryDelay, pause: 200 * time.Millisecond}
}

// Trouble returns why the log cannot be read now. It is nil if the log can be read or Run has not
// begun.
func (r *Reader) Trouble() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trouble
}

func (r *Reader) setTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trouble = err
}

// Run passes each report to the function report, one at a time, until ctx is done.
func (r *Reader) Run(ctx context.Context, report func(gpu.XidReport)) {
	for ctx.Err() == nil {
		err := r.follow(ctx, report)
		if ctx.Err() != nil {
			return
		}
		r.setTrouble(err)
		sleep(ctx, r.retry)
	}
}

// follow reads until ctx is done or the log cannot be read.
func (r *Reader) follow(ctx context.Context, tell func(gpu.XidReport)) error {
	// Opening a FIFO must not wait for a writer. Reading waits anyway.
	f, err := os.OpenFile(r.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("open the kernel's log: %w", err)
	}
	defer f.Close()
	defer context.AfterFunc(ctx, func() { _ = f.Close() })()
	r.setTrouble(nil)
	var l lineJoiner
	buf := make([]byte, maxRecord)
	for {
		n, err := f.Read(buf)
		switch {
		case n > 0:
			l.add(buf[:n], func(line string) { r.line(line, tell) })
		case errors.Is(err, syscall.EPIPE): // records were overwritten
		case errors.Is(err, io.EOF):
			if sleep(ctx, r.pause); ctx.Err() != nil {
				return ctx.Err()
			}
		case err != nil:
			return fmt.Errorf("read the kernel's log: %w", err)
		}
	}
}

// line parses a line, and passes the report in it, if there is one, to the function tell.
func (r *Reader) line(line string, tell func(gpu.XidReport)) {
	rec, ok := parseRecord(line)
	if !ok {
		return
	}
	if x, ok := gpu.ParseXid(rec.text); ok {
		tell(gpu.XidReport{Xid: x, Seq: rec.seq, At: time.Now().Add(rec.at - uptime())})
	}
}

// uptime returns the time of the kernel's monotonic clock, which also stamps log records.
func uptime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// maxRecord is larger than any record of the kernel.
const maxRecord = 16 << 10

// A lineJoiner joins pieces into lines. If a line is too long, it drops the rest of the line.
type lineJoiner struct {
	part []byte
	skip bool
}

func (l *lineJoiner) add(b []byte, tell func(string)) {
	for len(b) > 0 {
		piece, rest, whole := bytes.Cut(b, []byte("\n"))
		if len(l.part)+len(piece) > maxRecord {
			l.skip = true
		}
		if !l.skip {
			l.part = append(l.part, piece...)
		}
		if whole {
			if !l.skip {
				tell(string(l.part))
			}
			l.part, l.skip = l.part[:0], false
		}
		b = rest
	}
}
