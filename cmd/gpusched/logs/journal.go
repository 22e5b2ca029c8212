package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// lastSystemUID is the highest uid of system accounts. journald gives only
// those above it files of their own.
const lastSystemUID = 999

// journalReadable reports why the job's output cannot be read here, where that is
// certain: journalctl itself would print nothing and say nothing.
func (a *app) journalReadable(j api.Job) error {
	switch {
	case a.uid == 0 || a.openable("*/system.journal"):
		return nil
	case !a.owns(&j):
		return refuse(api.CodeForbidden, "root and the members of the groups systemd-journal and adm can read it too",
			"the output of job %s is for %s to read", nameOfJob(j), j.User)
	case !present(filepath.Join(a.journalDirs[0], "*")):
		return refuse(api.CodeForbidden,
			"give jobs a file for it with --log FILE, or have an administrator type: "+
				"mkdir -p /var/log/journal && systemctl restart systemd-journald",
			"this machine keeps its journal in memory, where users cannot read the output of their jobs")
	case a.uid <= lastSystemUID:
		return refuse(api.CodeForbidden, inFile,
			"the output of jobs of system accounts is in the system's journal, which you cannot read")
	}
	return nil // its own file, which may come only with the first line (hasJournal)
}

// hasJournal reports whether there is a file to read the job's output from. A
// user's own comes with the first line that is logged for that user, and where
// there is none to read journalctl fails.
func (a *app) hasJournal() bool {
	return a.uid == 0 || a.openable("*/system.journal") ||
		a.openable(fmt.Sprintf("*/user-%d.journal", a.uid)) || a.openable(fmt.Sprintf("*/user-%d@*.journal", a.uid))
}

// awaitJournal returns when there is a file to read, or when ctx is done.
func (a *app) awaitJournal(ctx context.Context) error {
	for ctx.Err() == nil && !a.hasJournal() {
		pause(ctx, journalPoll)
	}
	return ctx.Err()
}

// tailJournal passes on the entries of a job after one, and those that come, until over is closed, as it is when the
// job has ended, and all that it printed is here. It returns errBehind where that is not certain.
func (a *app) tailJournal(ctx context.Context, t journalTail, over <-chan struct{}) error {
	each := func(e entry) error {
		t.cursor = e.cursor
		return t.each(e)
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	exited := make(chan error, 1)
	go func() {
		err := a.awaitJournal(following)
		if err == nil {
			err = runJournal(following, t.path, t.following(), each)
		}
		exited <- err
	}()
	select {
	case err := <-exited:
		return cmp.Or(ctx.Err(), err)
	case <-over:
	}
	whole := a.printed(ctx, t.job)
	if !whole && t.job.Manager != "" {
		t.out.settle(ctx)
		whole = true // as far as anybody can tell
	}
	stop()
	<-exited // what it has read is passed on; it hears of new entries late
	if ctx.Err() == nil && a.hasJournal() {
		if err := runJournal(ctx, t.path, t.rest(), each); err != nil {
			return err
		}
	}
	if ctx.Err() == nil && !whole {
		return errBehind
	}
	return ctx.Err()
}

// printed has journald write down what a job has printed, and reports whether all of it is in the journal. While
// journald is busy, or is not there, it asks again until settleMax. It can't ask about a job of the user's own systemd,
// whose scheduler journald does not obey.
func (a *app) printed(ctx context.Context, j api.Job) bool {
	ctx, stop := context.WithTimeout(ctx, settleMax)
	defer stop()
	for j.Manager == "" && ctx.Err() == nil {
		if reply, err := api.Show(ctx, a.client, nameOfJob(j), api.JobQuery{Printed: true}); err == nil && reply.Printed {
			return true
		}
		pause(ctx, journalPoll)
	}
	return false
}

// errBehind is that journald has not said that it has written down all that a job printed.
var errBehind = errors.New("the journal is behind")

// maybeMore says it of a job.
func maybeMore(j api.Job) string {
	return fmt.Sprintf("%s and may not have all that job %s printed yet: see the rest later with 'gpusched logs %[2]s'",
		errBehind, nameOfJob(j))
}

// journalTail is what of a job's output is read.
type journalTail struct {
	job    api.Job
	path   string // of journalctl
	which  []string
	cursor string // of the last entry that has been passed on; "": none has
	each   func(entry) error
	out    *watchedWriter // where they go
}

// following are the arguments for what has not been passed on, and what comes.
func (t *journalTail) following() []string {
	return append([]string{"--follow", "--no-tail"}, t.rest()...)
}

// rest are the arguments for what has not been passed on. journalctl takes a cursor instead of a time, not besides.
func (t *journalTail) rest() []string {
	if t.cursor == "" {
		return t.which
	}
	which := slices.DeleteFunc(slices.Clone(t.which), func(arg string) bool { return strings.HasPrefix(arg, "--since=") })
	return append([]string{"--after-cursor=" + t.cursor}, which...)
}

// openable reports whether some journal file of the pattern can be read.
func (a *app) openable(pattern string) bool {
	for _, dir := range a.journalDirs {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			if f, err := os.Open(file); err == nil {
				f.Close()
				return true
			}
		}
	}
	return false
}

func present(pattern string) bool {
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}

// The end of a job and the end of its output come on different ways. The output is not waited for longer than
// settleMax; where nobody can have journald write down all of it, it is complete when nothing came for settleTime after
// the job's end.
const (
	settleTime = 500 * time.Millisecond
	settleMax  = 10 * time.Second
	lateMax    = 2 * time.Second // and how long one line is waited for where there is none
	behindMax  = time.Minute     // how long after a job's end journald is asked though something came

	journalPoll = 100 * time.Millisecond // how often a first line is looked for
)

// The uids that systemd has set aside for its own dynamic users and for containers. journald puts
// what they print into the system's journal, the latter since systemd 253, though directories give
// such uids to people; some distributions have taken that back (systemd#30846).
const (
	firstDynamicUID   = 61184
	lastDynamicUID    = 65519
	firstContainerUID = 0x80000
	lastContainerUID  = 0x6fffffff
)

// outOfReach reports whether journald puts what this user's jobs print where the user can't read it.
func (a *app) outOfReach() bool {
	switch uid := a.uid; {
	case uid >= firstDynamicUID && uid <= lastDynamicUID:
		return !a.openable("*/system.journal")
	case uid < firstContainerUID || uid > lastContainerUID || a.openable("*/system.journal"):
		return false
	}
	out, err := exec.Command("journalctl", "--version").Output()
	var version int
	_, scanned := fmt.Sscanf(string(out), "systemd %d", &version)
	return err == nil && scanned == nil && version >= 253
}

// inFile is what to do where the journal keeps what jobs print from their user.
const inFile = "give jobs a file for it with --log FILE, or have an administrator set jobs.log, " +
	"or add this account to the group systemd-journal"

// logServes reports whether the job's output is read from its log, since the journal keeps it from
// this user, or may do so.
func (a *app) logServes(j api.Job) bool {
	return j.UID == a.uid && j.Engine == "" && logOf(j) != "" && a.journalHides(j)
}

// journalHides reports whether this user can't, or perhaps can't, read in the journal what the job prints.
func (a *app) journalHides(j api.Job) bool { return a.outOfReach() || a.journalReadable(j) != nil }

// withLog asks for the job where this user has to read its log, which the answers to a submission and to a wait don't
// name.
func (a *app) withLog(ctx context.Context, j api.Job) api.Job {
	if j.Private != nil || j.Engine != "" || !a.journalHides(j) {
		return j
	}
	if reply, err := api.Show(ctx, a.client, nameOfJob(j), api.JobQuery{}); err == nil {
		return reply.Job
	}
	return j
}

// hiddenOutput is why this user can't read what jobs print, nil where that is not certain: an
// account that has a file of its own may have had it from an older systemd, or from one that
// the distribution has changed.
func (a *app) hiddenOutput() error {
	if a.hasJournal() || !a.outOfReach() {
		return nil
	}
	return refuse(api.CodeForbidden, inFile,
		"systemd puts what an account with uid %d prints into the system's journal, which you can't read", a.uid)
}

// maybeHidden is what else it can mean that nothing came, where hiddenOutput is not certain.
const maybeHidden = "its output is in the system's journal, which you can't read"

// unseen is what there is to say of a job whose output was shown as far as this user can read it, and of which nothing
// came; "": it printed nothing.
func (a *app) unseen(j api.Job) string {
	text, hidden := "", cmp.Or(a.journalReadable(j), a.hiddenOutput())
	switch {
	case a.inLog(j, api.Attempt{Attempt: job.Attempt{Number: j.Attempt, PlacedAt: j.PlacedAt}}):
	case hidden != nil:
		text = fmt.Sprintf("the output of job %s is not shown: %s", nameOfJob(j), hidden)
	case a.outOfReach():
		text = fmt.Sprintf("job %s printed nothing, or %s (%s)", nameOfJob(j), maybeHidden, inFile)
	}
	if text != "" && logOf(j) != "" {
		text += "; its log is " + logOf(j)
	}
	return text
}

// nothingPrinted says of an attempt without output in the journal what that can mean. whole is that the journal has all
// that came to it.
func (p *logPrinter) nothingPrinted(ctx context.Context, j api.Job, at api.Attempt, whole bool) string {
	text := "printed nothing"
	if at.EndedAt.IsZero() {
		text = "has printed nothing yet"
	}
	hidden := p.hiddenOutput()
	switch {
	case p.inLog(j, at): // what it prints
	case hidden != nil:
		text += " that you can read: " + hidden.Error()
	case p.outOfReach():
		text += ", or " + maybeHidden
	case !whole:
		text += ", or the journal does not have it yet: try again later"
	case !p.hasJournal():
		text += ", or the journal no longer has it (it has no file of yours)"
	case p.journalSince(at.PlacedAt) || !p.reachesBack(ctx, j.UID, at.PlacedAt):
		text += ", or the journal no longer has it"
	}
	if path := logOf(j); path != "" {
		text += "; its log is " + path
	}
	return text
}

// journalSince reports whether journald was started after then: one that is stopped drops what it has not read.
func (a *app) journalSince(then time.Time) bool {
	info, err := os.Lstat(filepath.Join(a.root, "/run/systemd/units/invocation:systemd-journald.service"))
	return err == nil && info.ModTime().After(then)
}

// reachesBack reports whether the journal is sure to have all that a user's processes printed
// since then: it has something older of the same user, and of a user the oldest goes first.
func (p *logPrinter) reachesBack(ctx context.Context, uid int, then time.Time) bool {
	older := false
	which := []string{"--reverse", "--until=" + instant(then), fmt.Sprintf("_UID=%d", uid)}
	_ = runJournal(ctx, p.path, which, func(entry) error {
		older = true
		return errEnough
	})
	return older
}

// nothingInFile says it of a job whose output is in a file.
func nothingInFile(ended time.Time) string {
	if ended.IsZero() {
		return "has printed nothing yet"
	}
	return "printed nothing"
}

// pause returns after d, or earlier when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// watchedWriter passes text on at once and remembers whether and when that was.
type watchedWriter struct {
	mu   sync.Mutex // guards everything
	w    io.Writer
	last time.Time
	some bool
}

// Write passes the text on.
func (q *watchedWriter) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last, q.some = time.Now(), true
	return q.w.Write(p)
}

// skip notes that something came that is not to be passed on.
func (q *watchedWriter) skip() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = time.Now()
}

func (q *watchedWriter) quietFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.last)
}

// settle returns when no text came for settleTime, counted from now on.
func (q *watchedWriter) settle(ctx context.Context) {
	begin := time.Now()
	for time.Since(begin) < settleMax {
		rest := settleTime - min(q.quietFor(), time.Since(begin))
		if rest <= 0 {
			return
		}
		if pause(ctx, rest); ctx.Err() != nil {
			return
		}
	}
}
