package launch

import (
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// copyLog copies in to out and to the log until in ends. No signal ends it before: those
// are for the job, of which the last words are to arrive. From then on it is ready. What
// becomes of the log is no matter to the job, which goes on printing to out.
func copyLog(in, out, file, ready int) int {
	signal.Ignore()                   // all that Go can, with SIGXFSZ and SIGPIPE
	for sig := 32; sig <= 34; sig++ { // and those that C libraries keep for their threads
		setAction(uintptr(sig), sigIgnore)
	}
	_, _ = unix.Write(ready, []byte{'\n'})
	unix.Close(ready)
	newLogCopy(out, file, logPatience).run(in)
	return 0
}

// A file system that hangs answers no write, and perhaps never will. So the log has a
// writer of its own, and logPieces pieces of logPiece bytes at most are on their way to it.
// Who reads the job's output waits for that writer as for any slow disk, but only so long:
// then it goes on without the log, in which the pieces are missing that found no room.
const (
	logPieces = 16
	logPiece  = 64 << 10
)

// logCopy is what reads a job's output.
type logCopy struct {
	out      int
	patience time.Duration
	work     chan piece  // to the writer
	free     chan []byte // buffers that it does not need any more, nil for one to be made
	trouble  chan error  // the first that the writer met
	finished chan struct{}

	lost  int64 // bytes since the last piece for which there was room
	hangs bool  // the writer has been waited for in vain
	why   error // that has not been told
	told  bool
}

// piece is something for the log, before which so many bytes are missing.
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

// run copies until in ends.
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
			c.work <- piece{b[:n], c.lost} // there is room for as many pieces as buffers
			c.lost = 0
		} else {
			c.lost += int64(n)
		}
		if b[n-1] == '\n' {
			c.tell("")
		}
	}
	c.finish()
}

// buffer returns one for the next piece, nil where the log has none. Once the writer was
// waited for in vain, it is not waited for again before it has gone on.
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

// finish has the last pieces written, unless the writer hangs: one that is slow has the
// patience for each of them.
func (c *logCopy) finish() {
	if c.lost > 0 && len(c.work) < logPieces {
		c.work <- piece{lost: c.lost}
	}
	close(c.work)
	if !c.awaitWriter() {
		c.why = unanswered{}
	}
	c.tell("\n")
}

// awaitWriter waits until the writer has finished, as long as it goes on, and reports
// whether it has.
func (c *logCopy) awaitWriter() bool {
	late := time.NewTimer(c.patience)
	defer late.Stop()
	if c.hangs && len(c.free) == 0 { // it has been waited for, and has not gone on since
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

// tell says what became of the log, once, between lines of the job's; before is what ends
// one.
func (c *logCopy) tell(before string) {
	select {
	case c.why = <-c.trouble:
	default:
	}
	if c.why == nil || c.told {
		return
	}
	c.told = true
	_, _ = writeAll(c.out, []byte(before+"gpusched: the log can't be written to: "+c.why.Error()+
		"; the job goes on, and all it prints is in the journal\n"))
}

// logWriter writes to a log, also to one whose disk is full for a while.
type logWriter struct {
	file    int
	missing int64     // bytes that could not be written since the last that could
	failed  time.Time // the last time
	trouble error     // the last one
}

// logRetry is how long a log that could not be written to is left alone.
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

// fill puts a line where something is missing, and reports whether what follows can be
// written. It does not try again at once, but at the last time.
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

// writeAll writes all of b, or returns how much of it was written.
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
