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

// LastSystemUID is the highest uid of system accounts. journald gives only
// those above it files of their own.
const LastSystemUID = 999

// JournalReadable reports why the job's output cannot be read here, where that is
// certain: journalctl itself would print nothing and say nothing.
func JournalReadable(a *cli.App, j api.Job) error {
	switch {
	case a.UID == 0 || openable(a, "*/system.journal"):
		return nil
	case !a.Owns(&j):
		return cli.Refuse(api.CodeForbidden, "root and the members of the groups systemd-journal and adm can read it too",
			"the output of job %s is for %s to read", cli.NameOfJob(j), j.User)
	case !cli.Exists(filepath.Join(a.JournalDirs[0], "*")):
		return cli.Refuse(api.CodeForbidden,
			"give jobs a file for it with --log FILE, or have an administrator type: "+
				"mkdir -p /var/log/journal && systemctl restart systemd-journald",
			"this machine keeps its journal in memory, where users cannot read the output of their jobs")
	case a.UID <= LastSystemUID:
		return cli.Refuse(api.CodeForbidden, InFile,
			"the output of jobs of system accounts is in the system's journal, which you cannot read")
	}
	return nil // its own file, which may come only with the first line (HasJournal)
}

// HasJournal reports whether there is a file to read the job's output from. A
// user's own comes with the first line that is logged for that user, and where
// there is none to read journalctl fails.
func HasJournal(a *cli.App) bool {
	return a.UID == 0 || openable(a, "*/system.journal") ||
		openable(a, fmt.Sprintf("*/user-%d.journal", a.UID)) || openable(a, fmt.Sprintf("*/user-%d@*.journal", a.UID))
}

// awaitJournal returns when there is a file to read, or when ctx is done.
func awaitJournal(ctx context.Context, a *cli.App) error {
	for ctx.Err() == nil && !HasJournal(a) {
		Pause(ctx, JournalPoll)
	}
	return ctx.Err()
}

// TailJournal passes on the entries of a job after one, and those that come, until over is closed, as it is when the
// job has ended, and all that it printed is here. It returns ErrBehind where that is not certain.
func TailJournal(ctx context.Context, a *cli.App, t JournalTail, over <-chan struct{}) error {
	each := func(e Entry) error {
		t.cursor = e.cursor
		return t.Each(e)
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	exited := make(chan error, 1)
	go func() {
		err := awaitJournal(following, a)
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
		whole = true // as far as anybody can tell
	}
	stop()
	<-exited // what it has read is passed on; it hears of new entries late
	if ctx.Err() == nil && HasJournal(a) {
		if err := RunJournal(ctx, t.Path, t.rest(), each); err != nil {
			return err
		}
	}
	if ctx.Err() == nil && !whole {
		return ErrBehind
	}
	return ctx.Err()
}

// Printed has journald write down what a job has printed, and reports whether all of it is in the journal. While
// journald is busy, or is not there, it asks again until SettleMax. It can't ask about a job of the user's own systemd,
// whose scheduler journald does not obey.
func Printed(ctx context.Context, a *cli.App, j api.Job) bool {
	ctx, stop := context.WithTimeout(ctx, SettleMax)
	defer stop()
	for j.Manager == "" && ctx.Err() == nil {
		if reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{Printed: true}); err == nil && reply.Printed {
			return true
		}
		Pause(ctx, JournalPoll)
	}
	return false
}

// ErrBehind is that journald has not said that it has written down all that a job printed.
var ErrBehind = errors.New("the journal is behind")

// MaybeMore says it of a job.
func MaybeMore(j api.Job) string {
	return fmt.Sprintf("%s and may not have all that job %s printed yet: see the rest later with 'gpusched logs %[2]s'",
		ErrBehind, cli.NameOfJob(j))
}

// JournalTail is what of a job's output is read.
type JournalTail struct {
	Job    api.Job
	Path   string // of journalctl
	Which  []string
	cursor string // of the last entry that has been passed on; "": none has
	Each   func(Entry) error
	Out    *WatchedWriter // where they go
}

// following are the arguments for what has not been passed on, and what comes.
func (t *JournalTail) following() []string {
	return append([]string{"--follow", "--no-tail"}, t.rest()...)
}

// rest are the arguments for what has not been passed on. journalctl takes a cursor instead of a time, not besides.
func (t *JournalTail) rest() []string {
	if t.cursor == "" {
		return t.Which
	}
	which := slices.DeleteFunc(slices.Clone(t.Which), func(arg string) bool { return strings.HasPrefix(arg, "--since=") })
	return append([]string{"--after-cursor=" + t.cursor}, which...)
}

// openable reports whether some journal file of the pattern can be read.
func openable(a *cli.App, pattern string) bool {
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

// The end of a job and the end of its output come on different ways. The output is not waited for longer than
// SettleMax; where nobody can have journald write down all of it, it is complete when nothing came for settleTime after
// the job's end.
const (
	settleTime = 500 * time.Millisecond
	SettleMax  = 10 * time.Second
	LateMax    = 2 * time.Second // and how long one line is waited for where there is none
	behindMax  = time.Minute     // how long after a job's end journald is asked though something came

	JournalPoll = 100 * time.Millisecond // how often a first line is looked for
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

// OutOfReach reports whether journald puts what this user's jobs print where the user can't read it.
func OutOfReach(a *cli.App) bool {
	switch uid := a.UID; {
	case uid >= firstDynamicUID && uid <= lastDynamicUID:
		return !openable(a, "*/system.journal")
	case uid < firstContainerUID || uid > lastContainerUID || openable(a, "*/system.journal"):
		return false
	}
	out, err := exec.Command("journalctl", "--version").Output()
	var version int
	_, scanned := fmt.Sscanf(string(out), "systemd %d", &version)
	return err == nil && scanned == nil && version >= 253
}

// InFile is what to do where the journal keeps what jobs print from their user.
const InFile = "give jobs a file for it with --log FILE, or have an administrator set jobs.log, " +
	"or add this account to the group systemd-journal"

// LogServes reports whether the job's output is read from its log, since the journal keeps it from
// this user, or may do so.
func LogServes(a *cli.App, j api.Job) bool {
	return j.UID == a.UID && j.Engine == "" && PathOf(j) != "" && JournalHides(a, j)
}

// JournalHides reports whether this user can't, or perhaps can't, read in the journal what the job prints.
func JournalHides(a *cli.App, j api.Job) bool { return OutOfReach(a) || JournalReadable(a, j) != nil }

// WithLog asks for the job where this user has to read its log, which the answers to a submission and to a wait don't
// name.
func WithLog(ctx context.Context, a *cli.App, j api.Job) api.Job {
	if j.Private != nil || j.Engine != "" || !JournalHides(a, j) {
		return j
	}
	if reply, err := api.Show(ctx, a.Client, cli.NameOfJob(j), api.JobQuery{}); err == nil {
		return reply.Job
	}
	return j
}

// HiddenOutput is why this user can't read what jobs print, nil where that is not certain: an
// account that has a file of its own may have had it from an older systemd, or from one that
// the distribution has changed.
func HiddenOutput(a *cli.App) error {
	if HasJournal(a) || !OutOfReach(a) {
		return nil
	}
	return cli.Refuse(api.CodeForbidden, InFile,
		"systemd puts what an account with uid %d prints into the system's journal, which you can't read", a.UID)
}

// maybeHidden is what else it can mean that nothing came, where HiddenOutput is not certain.
const maybeHidden = "its output is in the system's journal, which you can't read"

// Unseen is what there is to say of a job whose output was shown as far as this user can read it, and of which nothing
// came; "": it printed nothing.
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

// nothingPrinted says of an attempt without output in the journal what that can mean. whole is that the journal has all
// that came to it.
func (p *Printer) nothingPrinted(ctx context.Context, j api.Job, at api.Attempt, whole bool) string {
	text := "printed nothing"
	if at.EndedAt.IsZero() {
		text = "has printed nothing yet"
	}
	hidden := HiddenOutput(p.App)
	switch {
	case inLog(p.App, j, at): // what it prints
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

// journalSince reports whether journald was started after then: one that is stopped drops what it has not read.
func journalSince(a *cli.App, then time.Time) bool {
	info, err := os.Lstat(filepath.Join(a.Root, "/run/systemd/units/invocation:systemd-journald.service"))
	return err == nil && info.ModTime().After(then)
}

// reachesBack reports whether the journal is sure to have all that a user's processes printed
// since then: it has something older of the same user, and of a user the oldest goes first.
func (p *Printer) reachesBack(ctx context.Context, uid int, then time.Time) bool {
	older := false
	which := []string{"--reverse", "--until=" + cli.Instant(then), fmt.Sprintf("_UID=%d", uid)}
	_ = RunJournal(ctx, p.Path, which, func(Entry) error {
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

// Pause returns after d, or earlier when ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// WatchedWriter passes text on at once and remembers whether and when that was.
type WatchedWriter struct {
	mu   sync.Mutex // guards everything
	W    io.Writer
	Last time.Time
	Some bool
}

// Write passes the text on.
func (q *WatchedWriter) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.Last, q.Some = time.Now(), true
	return q.W.Write(p)
}

// Skip notes that something came that is not to be passed on.
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

// Settle returns when no text came for settleTime, counted from now on.
func (q *WatchedWriter) Settle(ctx context.Context) {
	begin := time.Now()
	for time.Since(begin) < SettleMax {
		rest := settleTime - min(q.quietFor(), time.Since(begin))
		if rest <= 0 {
			return
		}
		if Pause(ctx, rest); ctx.Err() != nil {
			return
		}
	}
}
