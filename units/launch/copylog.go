package launch

import (
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// copyLog copies its input to its output and to the log, until the input ends. It ignores signals,
// because they are meant for the job, and the job's last output must still arrive. The argument
// ready is a descriptor, to which copyLog writes as soon as it ignores signals. If the log fails,
// copyLog continues to copy to its output, and so the job continues too.
func copyLog(in, out, file, ready int) int {
	signal.Ignore()                   // all signals that Go can ignore, including SIGXFSZ and SIGPIPE
	for sig := 32; sig <= 34; sig++ { // and those that C libraries use for their threads
		setAction(uintptr(sig), sigIgnore)
	}
	_, _ = unix.Write(ready, []byte{'\n'})
	unix.Close(ready)
	newLogCopy(out, file, logPatience).run(in)
	return 0
}

// A file system that hangs may not answer a write for a long time, or ever. So a separate goroutine
// writes the log, and at most logPieces pieces of logPiece bytes wait for it. The reader of the
// job's output waits for that goroutine as for any slow disk, but only for logPatience. Then the
// reader continues, and the log lacks the pieces for which there was no room.
const (
	logPieces = 16
	logPiece  = 64 << 10
)

// logCopy reads a job's output.
type logCopy struct {
	out      int
	patience time.Duration
	work     chan piece  // to the writer
	free     chan []byte // buffers that the writer has returned; nil: one may be allocated
	trouble  chan error  // the first error of the writer
	finished chan struct{}

	lost  int64 // bytes since the last piece that found room
	hangs bool  // waiting for the writer has timed out
	why   error // an error that has not been reported yet
	told  bool
	open  bool // the last line of the output is unfinished
}

// A piece is content for the log, with the number of bytes that were lost before it.
type piece struct {
	content []byte
	lost    int64
}

func newLogCopy(out, file int, patience time.Duration) *logCopy {
	c := &logCopy{
		out: out, patience: patience, work: make(chan piece, logPieces), free: make(chan []byte, logPieces+1),
		trouble: make(chan error, 1), finished: make(chan struct{}),
	}
	for range logPieces {
		c.free <- nil
	}
	w := &logWriter{file: file}
	go func() {
		defer close(c.finished)
		for p := range c.work {
			w.missing += p.lost
			w.write(p.content)
			c.free <- p.content[:0]
			if w.trouble != nil {
				select {
				case c.trouble <- w.trouble:
				default:
				}
			}
		}
		w.fill(true)
	}()
	return c
}

// run copies until the input ends.
func (c *logCopy) run(in int) {
	spare := make([]byte, logPiece)
	for {
		b := c.buffer()
		room := b != nil
		if !room {
			b = spare
		}
		n, err := unix.Read(in, b[:logPiece])
		for err == unix.EINTR {
			n, err = unix.Read(in, b[:logPiece])
		}
		if n <= 0 || err != nil {
			break
		}
		_, _ = writeAll(c.out, b[:n])
		if room {
			c.work <- piece{b[:n], c.lost} // work has room for as many pieces as there are buffers
			c.lost = 0
		} else {
			c.lost += int64(n)
		}
		if c.open = b[n-1] != '\n'; !c.open {
			c.reportFailure()
		}
	}
	c.finish()
}

// buffer returns a buffer for the next piece, or nil if the log has no room. After a timeout,
// buffer does not wait again until the writer has made progress.
func (c *logCopy) buffer() []byte {
	select {
	case b := <-c.free:
		return c.begin(b)
	default:
	}
	if c.hangs {
		return nil
	}
	late := time.NewTimer(c.patience)
	defer late.Stop()
	select {
	case b := <-c.free:
		return c.begin(b)
	case <-late.C:
		c.hangs, c.why = true, unanswered{}
		return nil
	}
}

func (c *logCopy) begin(b []byte) []byte {
	if c.hangs = false; b == nil {
		b = make([]byte, logPiece)
	}
	return b[:logPiece]
}

// finish lets the writer write the last pieces, unless the writer hangs. The time limit in the
// field patience applies to each piece, so a slow writer has enough time.
func (c *logCopy) finish() {
	if c.lost > 0 && len(c.work) < logPieces {
		c.work <- piece{lost: c.lost}
	}
	close(c.work)
	if !c.awaitWriter() {
		c.why = unanswered{}
	}
	c.reportFailure()
}

// awaitWriter waits until the writer ends, or makes no more progress, and reports whether it has
// ended.
func (c *logCopy) awaitWriter() bool {
	late := time.NewTimer(c.patience)
	defer late.Stop()
	if c.hangs && len(c.free) == 0 { // waiting has timed out, and the writer has made no progress since
		late.Reset(0)
	}
	for {
		select {
		case <-c.finished:
			return true
		case <-c.free:
			late.Reset(c.patience)
		case <-late.C:
			return false
		}
	}
}

// reportFailure reports the failure of the log, once. It ends an unfinished line of the job's
// output.
func (c *logCopy) reportFailure() {
	select {
	case c.why = <-c.trouble:
	default:
	}
	if c.why == nil || c.told {
		return
	}
	c.told = true
	prefix := ""
	if c.open {
		prefix = "\n"
	}
	_, _ = writeAll(c.out, []byte(prefix+"gpusched: the log can't be written to: "+c.why.Error()+
		"; the job continues, and the journal has all of its output\n"))
}

// logWriter writes to a log, and continues after the disk was full.
type logWriter struct {
	file    int
	missing int64     // bytes that failed since the last success
	failed  time.Time // time of the last failure
	trouble error     // the last error
}

// logRetry is the delay after a failed write to the log.
const logRetry = time.Second

func (l *logWriter) write(b []byte) {
	if !l.fill(false) {
		l.missing += int64(len(b))
		return
	}
	n, err := writeAll(l.file, b)
	if err == nil {
		return
	}
	l.missing, l.failed, l.trouble = int64(len(b)-n), time.Now(), err
}

// fill writes a line about missing bytes, and reports whether more can be written. After a failure
// it tries again only after logRetry, except at the end.
func (l *logWriter) fill(last bool) bool {
	if l.missing == 0 {
		return true
	}
	if !last && time.Since(l.failed) < logRetry {
		return false
	}
	line := "\ngpusched: " + strconv.FormatInt(l.missing, 10) + " bytes are missing here; the journal has them\n"
	if _, err := writeAll(l.file, []byte(line)); err != nil {
		l.failed = time.Now()
		return false
	}
	l.missing = 0
	return true
}

// writeAll writes all of b. After an error it returns how much it has written.
func writeAll(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		k, err := unix.Write(fd, b[n:])
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, -1)
			continue
		}
		if err != nil {
			return n, err
		}
		n += k
	}
	return n, nil
}
