package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// maxTail is the size in bytes of the largest log that is searched for the start of an attempt.
const maxTail = 16 << 20

// logDelay is the time after a job's placement in which the launcher may still create the log.
const logDelay = 3 * time.Second

// ownLog opens the log of the caller's running job at the start of the attempt. It returns nil if
// the journal must be read instead. Unlike the journal, a log contains unfinished lines, such as a
// progress bar.
func (f *follower) ownLog(ctx context.Context, j api.Job, attempt api.Attempt) *os.File {
	if j.UID != f.UID || PathOf(j) == "" || (f.Many || f.Times) && !LogServes(f.Printer.App, j) {
		return nil
	}
	for {
		file, err := f.OpenLog(j, attempt)
		since := time.Since(attempt.PlacedAt)
		if !errors.Is(err, os.ErrNotExist) || since < 0 || since > logDelay || ctx.Err() != nil {
			return file
		}
		_ = api.Pause(ctx, JournalPoll)
	}
}

// PathOf returns the path of a job's log. It returns "" if there is no log or the caller may not
// see the path.
func PathOf(j api.Job) string {
	if j.Private == nil {
		return ""
	}
	return j.Private.Log.Path
}

// OpenLog opens the log of the caller's job at the start of the attempt. If the attempt is not in
// the log, the error is os.ErrNotExist.
func (p *Printer) OpenLog(j api.Job, attempt api.Attempt) (*os.File, error) {
	path := PathOf(j)
	if j.UID != p.UID || path == "" {
		return nil, os.ErrNotExist
	}
	if rest, ofHome := strings.CutPrefix(path, "~"+j.User+"/"); ofHome {
		path = filepath.Join("/", p.Getenv("HOME"), rest)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if !seekAttempt(file, cli.NameOfJob(j), attempt, p.Lines) {
		file.Close()
		return nil, os.ErrNotExist
	}
	return file, nil
}

// inLog reports whether the job's log contains the attempt. If so, the log contains all output of
// the attempt.
func inLog(a *cli.App, j api.Job, at api.Attempt) bool {
	file, err := (&Printer{Cmd: &Cmd{}, App: a}).OpenLog(j, at)
	file.Close() // works even if file is nil
	return err == nil
}

// logGrain is the coarsest resolution that a file system has for modification times.
const logGrain = time.Second

// seekAttempt moves to the start of the attempt in a log. If the argument lines is not 0, it moves
// to that many lines before the attempt's end. It returns false if the attempt is not in the log,
// or if the output of another job follows. (The next attempt of the same job may follow.) The first
// attempt in a log may have no line that announces it. In that case the log must not be older than
// the attempt.
func seekAttempt(file *os.File, name string, at api.Attempt, lines int) bool {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxTail {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxTail))
	if err != nil {
		return false
	}
	begin := 0
	line := []byte(contract.AttemptLine(name, strconv.Itoa(at.Number)))
	older := len(text) > 0 && info.ModTime().Before(at.PlacedAt.Add(-logGrain))
	if i := bytes.LastIndex(text, line); i >= 0 {
		begin = i + len(line)
	} else if at.Number > 1 || older {
		return false
	}
	own, _ := beforeNextAttempt(text[begin:], name)
	if bytes.Contains(own, attemptMark) {
		return false
	}
	if lines > 0 {
		begin = lastLines(text[:begin+len(own)], begin, lines)
	}
	_, err = file.Seek(int64(begin), io.SeekStart)
	return err == nil
}

// attemptMark is the beginning of the line that announces an attempt in a log.
var attemptMark = []byte("\ngpusched: attempt ")

// beforeNextAttempt returns the text before the job's next attempt. The second result says whether
// the text contains a next attempt.
func beforeNextAttempt(text []byte, name string) (own []byte, found bool) {
	before, _, found := bytes.Cut(text, []byte(" of job "+name+" begins\n"))
	if i := bytes.LastIndex(before, attemptMark); found && i >= 0 {
		return text[:i], true
	}
	return text, false
}

// lastLines returns the offset at which the last n lines of text[start:] begin.
func lastLines(text []byte, start, n int) int {
	at := len(bytes.TrimSuffix(text[start:], []byte("\n"))) + start
	for ; n > 0; n-- {
		i := bytes.LastIndexByte(text[start:at], '\n')
		if i < 0 {
			return start
		}
		at = start + i
	}
	return at + 1
}

// copyLog prints the output of an attempt from the log.
func (p *Printer) copyLog(j api.Job, at api.Attempt) (some bool, err error) {
	file, err := p.OpenLog(j, at)
	if err != nil {
		return false, nil
	}
	defer file.Close()
	text := &lastByte{w: p.stream(j), b: '\n'}
	n, _, err := copyNew(text, file, cli.NameOfJob(j), at.Number)
	if p.Many || p.Out.TTY {
		text.endLine()
	}
	return n > 0, err
}

// followLog prints a log while it grows. When the job has ended and the log has all output, the
// caller closes the last argument, a channel, and followLog stops. It also stops when the job's
// next attempt writes to the same file. The scheduler's messages to the job are only in the
// journal, so followLog prints them from there.
func (f *follower) followLog(
	ctx context.Context, j api.Job, at api.Attempt, file *os.File, ended <-chan struct{},
) (bool, error) {
	defer file.Close()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	told := &WatchedWriter{W: &noticesOnly{w: f.stream(j)}, Last: time.Now()}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		if awaitJournal(reading, f.Printer.App) == nil {
			tail := JournalTail{Which: JournalArgs(j, at)}
			if last, _ := lastEntries(reading, f.Path, tail.Which, 1); len(last) > 0 {
				tail.cursor = last[len(last)-1].cursor
			}
			_ = RunJournal(reading, f.Path, tail.following(), f.joiner(told).Write)
		}
	}()
	out := &lastByte{w: f.stream(j), b: '\n'}
	some := false
	for last := false; ; {
		n, again, err := copyNew(out, file, cli.NameOfJob(j), at.Number)
		if some = some || n > 0; err != nil || last && n < maxTail || again {
			stop()
			<-exited
			if f.Many || f.Out.TTY || !f.Attended {
				out.endLine()
			}
			return some, err
		}
		select {
		case <-ctx.Done():
			return some, ctx.Err()
		case <-ended:
			last = true
		case <-time.After(JournalPoll):
		}
	}
}

// copyNew copies text that was added to a log. If the attempt's start is in the text, copyNew
// begins there. It ends at the job's next attempt. The second result says whether there is a next
// attempt.
func copyNew(to io.Writer, log io.Reader, name string, attempt int) (n int, found bool, err error) {
	text, err := io.ReadAll(io.LimitReader(log, maxTail))
	if _, of, seen := bytes.Cut(text, []byte(contract.AttemptLine(name, strconv.Itoa(attempt)))); seen {
		text = of
	}
	text, found = beforeNextAttempt(text, name)
	if err == nil && len(text) > 0 {
		_, err = to.Write(text)
	}
	return len(text), found, err
}

// noticesOnly passes on only lines that the scheduler or the launcher wrote.
type noticesOnly struct {
	w    io.Writer
	rest []byte
}

func (n *noticesOnly) Write(b []byte) (int, error) {
	n.rest = append(n.rest, b...)
	for {
		line, after, ended := bytes.Cut(n.rest, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		if bytes.HasPrefix(line, []byte("gpusched: ")) {
			if _, err := n.w.Write(append(bytes.Clone(line), '\n')); err != nil {
				return 0, err
			}
		}
		n.rest = append(n.rest[:0], after...)
	}
}

// lastByte remembers whether the last line is still unfinished.
type lastByte struct {
	w io.Writer
	b byte
}

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return l.w.Write(p)
}

// endLine ends the last line if it is unfinished, as a progress bar is.
func (l *lastByte) endLine() {
	if l.b != '\n' {
		_, _ = l.w.Write([]byte("\n"))
	}
}
