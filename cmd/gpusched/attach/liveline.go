package attach

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A liveLine shows the state of a job. On a terminal it rewrites one line while the job waits, and
// clears that line before anything else is shown. Otherwise it prints each reason for waiting once.
type liveLine struct {
	mu    sync.Mutex // guards the fields below and the order of the output
	t     *term.Terminal
	typed func(string) string // rewrites jobs and commands in a text as the reader would type them; nil changes nothing
	quiet bool
	live  bool   // the rewritten line is on the screen
	said  string // the state that was last printed
}

// printLine prints a line that is not overwritten later.
func (l *liveLine) printLine(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clear()
	l.t.Printf("gpusched: %s\n", term.Clean(l.asTyped(fmt.Sprintf(format, args...))))
	l.t.W.Flush()
}

func (l *liveLine) asTyped(text string) string {
	if l.typed == nil {
		return text
	}
	return l.typed(text)
}

// showJob shows the job's state.
func (l *liveLine) showJob(j api.Job, first []api.Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t.Now = time.Now()
	about := strconv.FormatBool(j.State == job.Queued) + cli.GPUIndexes(j.GPUs)
	for _, r := range j.Reasons {
		about += " " + string(r.Code)
	}
	text := term.Clean("gpusched: " + l.asTyped("job "+cli.NameOfJob(j)+" "+progressOf(l.t, j, first)))
	switch {
	case l.quiet || j.State.Terminal():
	case j.State == job.Queued && l.t.TTY:
		l.t.Printf("\r\x1b[K%s", term.Cut(text, l.t.Width-1))
		l.live = true
	case about != l.said && j.State != job.Ending:
		l.clear()
		l.t.Printf("%s\n", text)
		l.said = about
	}
	l.t.W.Flush()
}

// progressOf describes a job. For a waiting job it gives the place in the queue, the reason and the
// expected start. For a placed job it gives the GPUs.
func progressOf(t *term.Terminal, j api.Job, first []api.Job) string {
	switch {
	case j.State != job.Queued && len(j.GPUs) > 0:
		return "starts on " + cli.GPUNames(j.GPUs)
	case j.State != job.Queued:
		return "starts"
	}
	return "queued" + place(j, first) + cli.Waiting(t, j)
}

// place says how many jobs are ahead in the queue. It knows only the first jobs of the queue.
func place(j api.Job, first []api.Job) string {
	at := slices.IndexFunc(first, func(w api.Job) bool { return w.ID == j.ID })
	switch {
	case at == 0:
		return ", first"
	case at > 0:
		return fmt.Sprintf(", %d ahead", at)
	case len(first) > 0 && j.HeldBy == "":
		return fmt.Sprintf(", more than %d ahead", len(first))
	}
	return ""
}

// clear removes the rewritten line. The caller must hold l.mu.
func (l *liveLine) clear() {
	if l.live {
		l.t.Printf("\r\x1b[K")
		l.t.W.Flush()
		l.live = false
	}
}

// clearingWriter returns a writer that clears the line before each write and flushes at once.
func (l *liveLine) clearingWriter(w *bufio.Writer) io.Writer { return &overwriter{l, w} }

type overwriter struct {
	l *liveLine
	w *bufio.Writer
}

// Write clears the line and writes the text.
func (o *overwriter) Write(text []byte) (int, error) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	o.l.clear()
	n, err := o.w.Write(text)
	return n, cmp.Or(err, o.w.Flush())
}

// comeBack tells the user how to return to a job that is still running or queued.
func (at *attendance) comeBack() string {
	name := cli.NameOfJob(at.job)
	if at.tty {
		return strings.ReplaceAll("job % goes on: 'gpusched attach %' shows its terminal once it has started, "+
			"'gpusched cancel %' ends it", "%", name)
	}
	return strings.ReplaceAll("job % goes on: 'gpusched logs -f %' shows its output again, "+
		"'gpusched cancel %' ends it", "%", name)
}
