package logs

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

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// LastSystemUID is the highest uid of a system account. journald keeps separate files only for
// users with a higher uid.
const LastSystemUID = 999

// JournalReadable returns an error if it is certain that the user can't read the job's output in
// the journal. (journalctl itself would just print nothing.) If the result is nil, the user may be
// able to read the output.
func JournalReadable(a *cli.App, j api.Job) error {
	switch {
	case a.UID == 0 || canRead(a, "*/system.journal"):
		return nil
	case !a.Owns(&j):
		return cli.Refuse(api.CodeForbidden, "root and the members of the groups systemd-journal and adm can read it too",
			"the output of job %s belongs to %s", cli.NameOfJob(j), j.User)
	case !cli.Exists(filepath.Join(a.JournalDirs[0], "*")):
		return cli.Refuse(api.CodeForbidden,
			"use --log FILE, or ask an administrator to run: "+
				"mkdir -p /var/log/journal && systemctl restart systemd-journald",
			"this machine keeps its journal in memory, where users cannot read the output of their jobs")
	case a.UID <= LastSystemUID:
		return cli.Refuse(api.CodeForbidden, InFile,
			"the output of jobs of system accounts is in the system's journal, which you cannot read")
	}
	return nil // the user's own journal file may not exist before the first line (HasJournal)
}

// HasJournal reports whether the user can read any journal file that may contain the output.
// journald creates a user's file when it logs the first line for the user. If there is no readable
// file, journalctl fails.
func HasJournal(a *cli.App) bool {
	return a.UID == 0 || canRead(a, "*/system.journal") ||
		canRead(a, fmt.Sprintf("*/user-%d.journal", a.UID)) || canRead(a, fmt.Sprintf("*/user-%d@*.journal", a.UID))
}

// awaitJournal waits until a readable journal file exists or ctx is done.
func awaitJournal(ctx context.Context, a *cli.App) error {
	for ctx.Err() == nil && !HasJournal(a) {
		_ = api.Pause(ctx, JournalPoll)
	}
	return ctx.Err()
}

// firstTail is the delay before TailJournal first starts journalctl. The output of a job that ends
// sooner is then read only once. journalctl takes longer to start than such a job runs.
const firstTail = 50 * time.Millisecond

// TailJournal calls t.Each for the job's entries, old and new. When the job has ended, the caller
// closes the channel. TailJournal then passes on the remaining entries and returns. If some entries
// may be missing, it returns ErrBehind.
func TailJournal(ctx context.Context, a *cli.App, t JournalTail, over <-chan struct{}) error {
	each := func(e Entry) error {
		t.cursor = e.cursor
		return t.Each(e)
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	exited := make(chan error, 1)
	go func() {
		err := api.Pause(following, firstTail)
		if err == nil {
			err = awaitJournal(following, a)
		}
		if err == nil {
			err = RunJournal(following, t.Path, t.following(), each)
		}
		exited <- err
	}()
	select {
	case err := <-exited:
		return cmp.Or(ctx.Err(), err)
	case <-over:
	}
	whole := Printed(ctx, a, t.Job)
	if !whole && t.Job.Manager != "" {
		t.Out.Settle(ctx)
		whole = true // for a user's own systemd, a pause in the output is the best test
	}
	stop()
	<-exited // the first reader has ended; newer entries may exist
	if ctx.Err() == nil && HasJournal(a) {
		if err := RunJournal(ctx, t.Path, t.restArguments(), each); err != nil {
			return err
		}
	}
	if ctx.Err() == nil && !whole {
		return ErrBehind
	}
	return ctx.Err()
}

// Printed makes journald write out what a job printed. It reports whether all of this output is now
// in the journal. While journald is busy or down, Printed retries for up to SettleMax. For a job of
// the user's own systemd it returns false, since that user's scheduler may not tell journald to
// synchronize.
func Printed(ctx context.Context, a *cli.App, j api.Job) bool {
	ctx, stop := context.WithTimeout(ctx, SettleMax)
	defer stop()
	for j.Manager == "" && ctx.Err() == nil {
		if reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{Printed: true}); err == nil && reply.Printed {
			return true
		}
		_ = api.Pause(ctx, JournalPoll)
	}
	return false
}

// ErrBehind means that journald may not have written all output of a job yet.
var ErrBehind = errors.New("the journal is behind")

// MaybeMore returns the message that users see for ErrBehind.
func MaybeMore(j api.Job) string {
	return fmt.Sprintf("%s and may lack part of the output of job %s: see the rest later with 'gpusched logs %[2]s'",
		ErrBehind, cli.NameOfJob(j))
}

// A JournalTail says which output of a job to read.
type JournalTail struct {
	Job    api.Job
	Path   string // path of journalctl
	Which  []string
	cursor string // cursor of the last entry that was passed on; "" if none was
	Each   func(Entry) error
	Out    *WatchedWriter // the writer that Each writes to
}

// following returns the arguments that make journalctl print the entries that were not passed on
// yet, and then new ones as they come.
func (t *JournalTail) following() []string {
	return append([]string{"--follow", "--no-tail"}, t.restArguments()...)
}

// restArguments returns the arguments that make journalctl print only the entries that were not
// passed on yet. journalctl does not accept a cursor together with a time.
func (t *JournalTail) restArguments() []string {
	if t.cursor == "" {
		return t.Which
	}
	which := slices.DeleteFunc(slices.Clone(t.Which), func(arg string) bool { return strings.HasPrefix(arg, "--since=") })
	return append([]string{"--after-cursor=" + t.cursor}, which...)
}

// canRead reports whether the user can read any journal file that matches the pattern.
func canRead(a *cli.App, pattern string) bool {
	for _, dir := range a.JournalDirs {
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

// A job's end and its last output arrive in different ways. SettleMax is the longest wait for the
// output. If journald can't be told to write everything, the output counts as complete when no line
// has come for settleTime.
const (
	settleTime = 500 * time.Millisecond
	SettleMax  = 10 * time.Second
	LateMax    = 2 * time.Second // how long to wait for a first line if there is none
	behindMax  = time.Minute     // how long after a job's end journald is told to synchronize even if there is output

	JournalPoll = 100 * time.Millisecond // time between two looks for a first line
)

// systemd reserves these uids for its dynamic users and for containers. journald writes the output
// of such uids to the system's journal (for containers since systemd 253). But directory services
// give such uids to people. Some distributions have reverted the change of systemd 253
// (systemd#30846).
const (
	firstDynamicUID   = 61184
	lastDynamicUID    = 65519
	firstContainerUID = 0x80000
	lastContainerUID  = 0x6fffffff
)

// OutOfReach reports whether journald writes the output of this user's jobs to a journal that the
// user can't read.
func OutOfReach(a *cli.App) bool {
	switch uid := a.UID; {
	case uid >= firstDynamicUID && uid <= lastDynamicUID:
		return !canRead(a, "*/system.journal")
	case uid < firstContainerUID || uid > lastContainerUID || canRead(a, "*/system.journal"):
		return false
	}
	out, err := exec.Command("journalctl", "--version").Output()
	var version int
	_, scanned := fmt.Sscanf(string(out), "systemd %d", &version)
	return err == nil && scanned == nil && version >= 253
}

// InFile is the advice for users who can't read the output of their jobs in the journal.
const InFile = "use --log FILE, or ask an administrator to set jobs.log " +
	"or to add this account to the group systemd-journal"

// LogServes reports whether the job's output is read from its log file. The log file is read if the
// user certainly or possibly can't read the output in the journal.
func LogServes(a *cli.App, j api.Job) bool {
	return j.UID == a.UID && j.Engine == "" && PathOf(j) != "" && JournalHides(a, j)
}

// JournalHides reports whether the user can't read the output in the journal, or may be unable to.
func JournalHides(a *cli.App, j api.Job) bool { return OutOfReach(a) || JournalReadable(a, j) != nil }

// WithLog returns the job with the path of its log. It asks the scheduler again if the log must be
// read, since the answers to a submission and to a wait don't contain the path.
func WithLog(ctx context.Context, a *cli.App, j api.Job) api.Job {
	if j.Private != nil || j.Engine != "" || !JournalHides(a, j) {
		return j
	}
	if reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{}); err == nil {
		return reply.Job
	}
	return j
}

// HiddenOutput returns an error if it is certain that the user can't read the output of any job. If
// the account has a journal file of its own, nothing is certain: the file may come from an older
// systemd, or from a systemd that the distribution changed.
func HiddenOutput(a *cli.App) error {
	if HasJournal(a) || !OutOfReach(a) {
		return nil
	}
	return cli.Refuse(api.CodeForbidden, InFile,
		"systemd puts what an account with uid %d prints into the system's journal, which you can't read", a.UID)
}

// maybeHidden is a possible reason for missing output. It is used if HiddenOutput returns no error.
const maybeHidden = "its output is in the system's journal, which you can't read"

// Unseen explains why a job's output was not shown. It returns "" if the job printed nothing.
func Unseen(a *cli.App, j api.Job) string {
	text, hidden := "", cmp.Or(JournalReadable(a, j), HiddenOutput(a))
	switch {
	case inLog(a, j, api.Attempt{Attempt: job.Attempt{Number: j.Attempt, PlacedAt: j.PlacedAt}}):
	case hidden != nil:
		text = fmt.Sprintf("the output of job %s is not shown: %s", cli.NameOfJob(j), hidden)
	case OutOfReach(a):
		text = fmt.Sprintf("job %s printed nothing, or %s (%s)", cli.NameOfJob(j), maybeHidden, InFile)
	}
	if text != "" && PathOf(j) != "" {
		text += "; its log is " + PathOf(j)
	}
	return text
}

// nothingPrinted explains why the journal has no output of an attempt. The last argument says
// whether the journal is up to date.
func (p *Printer) nothingPrinted(ctx context.Context, j api.Job, at api.Attempt, whole bool) string {
	text, hidden := nothingInFile(at.EndedAt), HiddenOutput(p.App)
	switch {
	case inLog(p.App, j, at): // the output is in the log
	case hidden != nil:
		text += " that you can read: " + hidden.Error()
	case OutOfReach(p.App):
		text += ", or " + maybeHidden
	case !whole:
		text += ", or the journal does not have it yet: try again later"
	case !HasJournal(p.App):
		text += ", or the journal no longer has it (it has no file of yours)"
	case journalSince(p.App, at.PlacedAt) || !p.reachesBack(ctx, j.UID, at.PlacedAt):
		text += ", or the journal no longer has it"
	}
	if path := PathOf(j); path != "" {
		text += "; its log is " + path
	}
	return text
}

// journalSince reports whether journald was started after this time. When journald stops, it loses
// output that it has not read.
func journalSince(a *cli.App, then time.Time) bool {
	info, err := os.Lstat(filepath.Join(a.Root, "/run/systemd/units/invocation:systemd-journald.service"))
	return err == nil && info.ModTime().After(then)
}

// reachesBack reports whether the journal certainly has all of the user's output since this time.
// journald deletes the oldest entries first, so an older entry of the user proves it.
func (p *Printer) reachesBack(ctx context.Context, uid int, then time.Time) bool {
	older := false
	which := []string{"--reverse", "--until=" + cli.Instant(then), fmt.Sprintf("_UID=%d", uid)}
	_ = RunJournal(ctx, p.Path, which, func(Entry) error {
		older = true
		return errEnough
	})
	return older
}

// nothingInFile is like nothingPrinted, but for a job whose output goes to a file.
func nothingInFile(ended time.Time) string {
	if ended.IsZero() {
		return "has printed nothing yet"
	}
	return "printed nothing"
}

// A WatchedWriter passes text on. It remembers whether any text came, and when.
type WatchedWriter struct {
	mu    sync.Mutex // guards the fields below
	W     io.Writer
	Last  time.Time
	Wrote bool
}

// Write passes the text on.
func (q *WatchedWriter) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Last, q.Wrote = time.Now(), true
	return q.W.Write(p)
}

// Skip records that text came, but does not pass it on.
func (q *WatchedWriter) Skip() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Last = time.Now()
}

func (q *WatchedWriter) quietFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.Last)
}

// Settle waits until no text has come for settleTime, but at most for SettleMax.
func (q *WatchedWriter) Settle(ctx context.Context) {
	begin := time.Now()
	for time.Since(begin) < SettleMax {
		rest := settleTime - min(q.quietFor(), time.Since(begin))
		if rest <= 0 {
			return
		}
		if api.Pause(ctx, rest) != nil {
			return
		}
	}
}
