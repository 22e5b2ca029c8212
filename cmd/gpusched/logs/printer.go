package logs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// A Printer prints the output of jobs. Jobs that are followed are printed at the same time.
type Printer struct {
	*Cmd
	*cli.App
	Path string
	Many bool // several jobs may be printed, so each line begins with the name of its job
	// The commands that report the job's states themselves, such as 'gpusched run', set Attended.
	// Then only the output is printed.
	Attended bool

	mu sync.Mutex // guards the output

	behind atomic.Bool // the journal was behind once, so it is not waited for again
}

// JournalArgs returns the arguments that select one run of a job's unit. It selects by fields that
// systemd adds to all lines of the run, and by the unit's name. journald takes that name from the
// kernel, and no process can forge it. Older systemd releases don't add these fields; for such
// releases, JournalArgs uses the invocation id instead. journald may miss the invocation id of a
// process that lives only milliseconds.
func JournalArgs(j api.Job, at api.Attempt) []string {
	if j.Manager == api.UserManager {
		return cli.AttemptLines(j, at)
	}
	unit := "_SYSTEMD_UNIT=" + j.ID.Unit()
	return append([]string{},
		unit, fmt.Sprintf("GPUSCHED_ATTEMPT=%d", at.Number), fmt.Sprintf("GPUSCHED_PLACED=%d", at.PlacedAt.UnixMicro()),
		"+", unit, "_SYSTEMD_INVOCATION_ID="+at.InvocationID)
}

// stream returns the writer for a job's output. It filters the output of another user's job, so
// that the job can't control the terminal. The caller's own output is unchanged, and so is output
// that goes to a file.
func (p *Printer) stream(j api.Job) *WatchedWriter {
	var w io.Writer = &lockedWriter{p}
	if p.Out.TTY && j.UID != p.UID {
		w = term.TextOnly(w)
	}
	if p.Many {
		w = &labelWriter{w: w, label: p.label(j)}
	}
	return &WatchedWriter{W: w, Last: time.Now()}
}

// label returns the text at the start of each of a job's lines, if several jobs are printed.
func (p *Printer) label(j api.Job) string { return cli.NameAt(p.Called(), cli.NameOfJob(j)) + ": " }

// lockedWriter writes to the terminal while it holds the printer's lock.
type lockedWriter struct{ p *Printer }

func (t *lockedWriter) Write(b []byte) (int, error) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	n, err := t.p.Out.W.Write(b)
	return n, cmp.Or(err, t.p.Out.W.Flush())
}

// Say is like Note, but holds the printer's lock.
func (p *Printer) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Note(format, args...)
	p.Err.W.Flush()
}

// printHeading prints the line that precedes an attempt's output, if several attempts are printed.
func (p *Printer) printHeading(j api.Job, at api.Attempt) {
	label := ""
	if p.Many {
		label = p.label(j)
	}
	text := fmt.Sprintf("%sgpusched: attempt %d%s", label, at.Number, cli.Colon(p.AttemptLine(at)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Out.Printf("%s\n", p.Out.Paint(term.Dim, term.Clean(text)))
}

// copyAttempt prints what an attempt has printed so far. It tells journald to write out everything
// if there is no output, or if the attempt has just ended.
func (p *Printer) copyAttempt(ctx context.Context, j api.Job, at api.Attempt) error {
	if LogServes(p.App, j) { // read the log first, so as not to wait for the journal
		if some, err := p.copyLog(j, at); some || err != nil {
			return err
		}
	}
	out := p.stream(j)
	lines := p.joiner(out)
	asked := time.Since(at.EndedAt) < behindMax
	whole := asked && p.isComplete(ctx, j)
	for {
		if HasJournal(p.App) {
			_, err := p.readJournal(ctx, j, at, lines)
			if err != nil && ctx.Err() == nil && OutOfReach(p.App) { // an older systemd may have left an empty file
				break
			}
			if err != nil {
				return cmp.Or(ctx.Err(), err)
			}
		}
		since := time.Since(at.EndedAt)
		if out.Wrote || whole || asked && (since < 0 || since > LateMax) {
			break
		}
		if !asked {
			asked, whole = true, p.isComplete(ctx, j)
			continue
		}
		if api.Pause(ctx, JournalPoll) != nil {
			return ctx.Err()
		}
	}
	if p.endLine(lines); out.Wrote {
		if asked && !whole && j.Manager == "" {
			p.Say("%s", MaybeMore(j))
		}
		return nil
	}
	if some, err := p.copyLog(j, at); some || err != nil { // the journal may lack this output
		return err
	}
	if hidden := HiddenOutput(p.App); hidden != nil && !at.EndedAt.IsZero() && PathOf(j) == "" {
		return hidden
	}
	if !p.Attended {
		p.Say("job %s %s", cli.NameOfJob(j), p.nothingPrinted(ctx, j, at, whole))
	}
	return nil
}

// isComplete reports whether the journal contains everything that a job printed.
func (p *Printer) isComplete(ctx context.Context, j api.Job) bool {
	if p.behind.Load() || !Printed(ctx, p.App, j) {
		p.behind.Store(true)
		return false
	}
	return true
}

// readJournal passes on the entries of an attempt. With -n it passes on only the entries of the
// last lines. It returns the cursor of the last entry.
func (p *Printer) readJournal(
	ctx context.Context, j api.Job, at api.Attempt, to *LineJoiner,
) (cursor string, err error) {
	each := func(e Entry) error {
		cursor = e.cursor
		return to.Write(e)
	}
	which := JournalArgs(j, at)
	if p.Lines == 0 {
		return cursor, RunJournal(ctx, p.Path, which, each)
	}
	last, err := lastEntries(ctx, p.Path, which, p.Lines)
	for _, e := range last {
		err = cmp.Or(err, each(e))
	}
	return cursor, err
}

// joiner returns a LineJoiner that writes to a job's stream.
func (p *Printer) joiner(out io.Writer) *LineJoiner { return &LineJoiner{W: out, times: p.Times} }

// endLine ends a job's last line if it is unfinished and other output follows.
func (p *Printer) endLine(lines *LineJoiner) {
	if p.Out.TTY || p.Many || p.Times || p.Attempt == cli.EveryAttempt {
		lines.End()
	}
	if lines.ByName {
		p.Say(ByNameHint)
	}
}

// followAttempt prints an attempt's output until its last argument, a channel, is closed and
// everything is printed.
func (p *Printer) followAttempt(ctx context.Context, j api.Job, at api.Attempt, over <-chan struct{}) (bool, error) {
	out := p.stream(j)
	lines := p.joiner(out)
	defer p.endLine(lines)
	tail := JournalTail{Job: j, Path: p.Path, Which: JournalArgs(j, at), Each: lines.Write, Out: out}
	if p.Lines > 0 && HasJournal(p.App) {
		var err error
		if tail.cursor, err = p.readJournal(ctx, j, at, lines); err != nil {
			return out.Wrote, cmp.Or(ctx.Err(), err)
		}
	}
	err := TailJournal(ctx, p.App, tail, over)
	return out.Wrote, err
}

// A labelWriter puts a label before each line. It passes on whole lines. If a line is longer than
// maxPiece, it is passed on in pieces of that length.
type labelWriter struct {
	w     io.Writer
	label string
	rest  []byte // the beginning of an unfinished line
	cut   bool   // a piece of that line has already been passed on
}

const maxPiece = 1 << 20

func (l *labelWriter) Write(b []byte) (int, error) {
	var lines []byte
	for rest := b; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		l.rest, rest = append(l.rest, line...), after
		if ended && !(l.cut && len(l.rest) == 0) || len(l.rest) >= maxPiece {
			lines = append(append(append(lines, l.label...), l.rest...), '\n')
			l.rest = l.rest[:0]
		}
		l.cut = !ended && (l.cut || len(l.rest) == 0)
	}
	if len(lines) == 0 {
		return len(b), nil
	}
	if _, err := l.w.Write(lines); err != nil {
		return 0, err
	}
	return len(b), nil
}
