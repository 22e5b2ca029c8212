package launch

import (
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// copyLog copies in to out and to the log until in ends. No signal ends it before: those
// are for the job, of which the last words are to arrive. What becomes of the log is no
// matter to the job, which goes on printing to out.
func copyLog(in, out uintptr, file int) int {
	signal.Ignore() // all that can be, with SIGXFSZ and SIGPIPE
	l := &logWriter{out: int(out), file: file}
	b := make([]byte, 64<<10)
	for {
		n, err := unix.Read(int(in), b)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			break
		}
		_, _ = writeAll(l.out, b[:n])
		l.write(b[:n])
		if b[n-1] == '\n' {
			l.tell("")
		}
	}
	l.tell("\n")
	l.fill(true)
	return 0
}

// logWriter writes to a log, also to one whose disk is full for a while.
type logWriter struct {
	out, file int
	missing   int64     // bytes that could not be written since the last that could
	failed    time.Time // the last time
	trouble   error     // that has not been told
	told      bool
}

// tell says what became of the log, between lines of the job's; before is what ends one.
func (l *logWriter) tell(before string) {
	if l.trouble == nil || l.told {
		return
	}
	l.told = true
	_, _ = writeAll(l.out, []byte(before+"gpusched: the log can't be written to: "+l.trouble.Error()+
		"; the job goes on, and all it prints is in the journal\n"))
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
	line := "\ngpusched: here " + strconv.FormatInt(l.missing, 10) + " bytes are missing, which are in the journal\n"
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
