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

// Printer prints the output of jobs, of several at once when they are followed.
type Printer struct {
	*Cmd
	*cli.App
	Path string // of journalctl
	Many bool   // several jobs may be printed, so each line is led by the job's name
	// Attended: run or submit --wait reports the job's states itself, so only its output is printed.
	Attended bool

	mu sync.Mutex // guards what is written

	behind atomic.Bool // the journal was, and is not waited for again
}

// JournalArgs selects one run of the unit: by its name, which journald takes from
// the kernel and no process can forge, and by the fields that systemd gives all
// lines of the run. Those of a release without the fields have the name that
// systemd gave the run; a process of milliseconds is gone before journald could
// ask for that one.
func JournalArgs(j api.Job, at api.Attempt) []string {
	if j.Manager == api.UserManager {
		return cli.AttemptLines(j, at)
	}
	unit := "_SYSTEMD_UNIT=" + j.ID.Unit()
	return append([]string{},
		unit, fmt.Sprintf("GPUSCHED_ATTEMPT=%d", at.Number), fmt.Sprintf("GPUSCHED_PLACED=%d", at.PlacedAt.UnixMicro()),
		"+", unit, "_SYSTEMD_INVOCATION_ID="+at.InvocationID)
}

// stream is where the output of one job goes. Another's job cannot act on one's
// terminal; one's own output, and any that goes into a file, stays as it is.
func (p *Printer) stream(j api.Job) *WatchedWriter {
	var w io.Writer = &turnWriter{p}
	if p.Out.TTY && j.UID != p.UID {
		w = term.TextOnly(w)
	}
	if p.Many {
		w = &labelled{w: w, label: p.label(j)}
	}
	return &WatchedWriter{W: w, Last: time.Now()}
}

// label is what leads a line of a job where several are printed.
func (p *Printer) label(j api.Job) string { return cli.NameAt(p.Called(), cli.NameOfJob(j)) + ": " }

// turnWriter writes to the terminal, one writer at a time.
type turnWriter struct{ p *Printer }

func (t *turnWriter) Write(b []byte) (int, error) {
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	n, err := t.p.Out.W.Write(b)
	return n, cmp.Or(err, t.p.Out.W.Flush())
}

// Say is note for one of several writers.
func (p *Printer) Say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Note(format, args...)
	p.Err.W.Flush()
}

// heading is the line before the output of an attempt where there are several.
func (p *Printer) heading(j api.Job, at api.Attempt) {
	label := ""
	if p.Many {
		label = p.label(j)
	}
	text := fmt.Sprintf("%sgpusched: attempt %d%s", label, at.Number, cli.Colon(p.AttemptLine(at)))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Out.Printf("%s\n", p.Out.Paint(term.Dim, term.Clean(text)))
}

// copyAttempt prints what there is of an attempt. What a job printed last may not be in the journal yet, so soon after
// the attempt's end, and where there is nothing, journald is asked to write it down.
func (p *Printer) copyAttempt(ctx context.Context, j api.Job, at api.Attempt) error {
	if LogServes(p.App, j) { // else the journal is waited for
		if some, err := p.copyLog(j, at); some || err != nil {
			return err
		}
	}
	out := p.stream(j)
	lines := p.joiner(out)
	asked := time.Since(at.EndedAt) < behindMax
	whole := asked && p.complete(ctx, j)
	for {
		if HasJournal(p.App) {
			_, err := p.readJournal(ctx, j, at, lines)
			if err != nil && ctx.Err() == nil && OutOfReach(p.App) { // the file of an older systemd can be an empty one
				break
			}
			if err != nil {
				return cmp.Or(ctx.Err(), err)
			}
		}
		since := time.Since(at.EndedAt)
		if out.Some || whole || asked && (since < 0 || since > LateMax) {
			break
		}
		if !asked {
			asked, whole = true, p.complete(ctx, j)
			continue
		}
		if Pause(ctx, JournalPoll); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if p.endLine(lines); out.Some {
		if asked && !whole && j.Manager == "" {
			p.Say("%s", MaybeMore(j))
		}
		return nil
	}
	if some, err := p.copyLog(j, at); some || err != nil { // it has what the journal has not, or no longer
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

// complete reports whether all that a job has printed is in the journal.
func (p *Printer) complete(ctx context.Context, j api.Job) bool {
	if p.behind.Load() || !Printed(ctx, p.App, j) {
		p.behind.Store(true)
		return false
	}
	return true
}

// readJournal passes on what the journal has of an attempt, or with -n the last lines of it. It returns the cursor of
// the last entry.
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

// joiner writes what a job printed to its stream.
func (p *Printer) joiner(out io.Writer) *LineJoiner { return &LineJoiner{W: out, times: p.Times} }

// endLine ends the job's last line where something else follows, though the job did not.
func (p *Printer) endLine(lines *LineJoiner) {
	if p.Out.TTY || p.Many || p.Times || p.Attempt == cli.EveryAttempt {
		lines.End()
	}
	if lines.ByName {
		p.Say(ByNameHint)
	}
}

// followAttempt prints what there is of an attempt and what comes, until over is closed
// and its output is here.
func (p *Printer) followAttempt(ctx context.Context, j api.Job, at api.Attempt, over <-chan struct{}) (bool, error) {
	out := p.stream(j)
	lines := p.joiner(out)
	defer p.endLine(lines)
	tail := JournalTail{Job: j, Path: p.Path, Which: JournalArgs(j, at), Each: lines.Write, Out: out}
	if p.Lines > 0 && HasJournal(p.App) {
		var err error
		if tail.cursor, err = p.readJournal(ctx, j, at, lines); err != nil {
			return out.Some, cmp.Or(ctx.Err(), err)
		}
	}
	err := TailJournal(ctx, p.App, tail, over)
	return out.Some, err
}

// labelled puts a label before each line, and passes on whole lines only, but a long one in pieces of maxPiece.
type labelled struct {
	w     io.Writer
	label string
	rest  []byte // of a line that has not ended
	cut   bool   // a piece of that line has been passed on
}

const maxPiece = 1 << 20

func (l *labelled) Write(b []byte) (int, error) {
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
