package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	busy "github.com/gpusched/gpusched/cmd/progress"
	"github.com/gpusched/gpusched/daemon/api"
)

// App is one run of the program.
type App struct {
	Env
	Session

	Words []string        // the command line, byte for byte
	Noted map[string]bool // what NoteOnce has said
	As    Manner          // of the tool by whose name it was called
	Busy  *busy.Line      // about what takes long; nil: nothing, or nobody sees it
}

// Env is what the program was started with.
type Env struct {
	Out, Err    *term.Terminal
	Environ     []string
	Getenv      func(string) string
	Getwd       func() (string, error)
	Umask       int
	UID         int
	Interactive bool          // there is a terminal to ask on
	Answer      func() string // what they say
	// RestoreLimits makes our resource limits the user's again, for the daemon
	// to read.
	RestoreLimits func()
	Root          string   // of the file system that doctor looks at; "" but in tests
	JournalDirs   []string // where journald keeps its files, the one on disk first
}

// Session is whom the program asks.
type Session struct {
	Client     api.Engine
	Slurm      *engines.Slurm // nil: this is gpusched, which becomes gpusched-slurm where one is asked
	Own        bool           // the user's own scheduler was asked for by name
	On         string         // the engine that the command line names; "": it names none
	Chosen     *Chosen        // what the files of settings say of whom to ask; nil: they have not been read
	Hosts      []string       // the machines that are asked, "." for this one; none: this one alone
	HostsGiven bool           // by the command line, not the environment
	Host       string         // the machine that answers in place of this one's scheduler; "": none does
	Far        []string       // the machines whose jobs are named, and that do what is asked
	Asked      *FromAfar      // by another gpusched, for its user; nil: this was typed here
}

// Manner is how another tool does what was asked; the zero value is how gpusched does.
type Manner struct {
	Submitted string // what is printed of a job that was queued, with %d for its number
	Silent    bool   // nothing is printed of it
	Other     bool   // the words are another tool's
	NoGPU     bool   // a job that names no GPU gets none
	Caps      bool   // a priority that may not be raised counts as normal
	// Table makes the lines for jobs.
	Table func(jobs []api.Job, now time.Time) []string
	Check func(jobs []api.Job, now time.Time) error // refuses jobs; nil refuses none
	// Strict is that nothing is said but what that tool would say: a program reads it.
	Strict bool
	// Only are the jobs that its filters leave, besides states; nil is all.
	Only   func(api.Job) bool
	States []string
	All    bool  // only chooses among the jobs of all users
	Keeps  bool  // the job has a copy of its script
	Turns  turns // of the queue that a job is put in; nil is none
}

// turns is a queue of another tool's, in which a new job waits for its turn.
type turns interface {
	Enter(ctx context.Context, a *App, req *api.SubmitRequest) error // makes the job wait; nobody else enters until leave
	Leave()
}

// ExitStatus ends the program with a status about which everything has been
// said, such as that of a job.
type ExitStatus int

// Error is for logs of tests; people never see it.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// StatusInterrupted is what a shell gives for SIGINT.
const StatusInterrupted = 130

// Finish says what went wrong, and gives the exit status for it (invariant 2).
func (a *App) Finish(err error) int {
	var status ExitStatus
	var own *Failure
	var e *api.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, context.Canceled):
		return StatusInterrupted
	case errors.As(err, &own):
		a.Complain(own.Cause.Text(a.Err.Reader()))
		return StatusFailure
	case errors.As(err, &e):
		a.Complain(e.Text(a.Err.Reader()))
		return e.Code.ExitStatus()
	}
	a.Complain(err.Error())
	return 1
}

// Complain prints an error, each line under the program's name.
func (a *App) Complain(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		text := term.Clean(a.from() + a.AsTyped(strings.TrimRight(line, "\n")))
		a.Say("%s %s\n", a.Err.Paint(term.Red, "gpusched:"), text)
	}
}

// from says whose error it is, where another machine's scheduler is asked.
func (a *App) from() string {
	switch {
	case a.Host != "":
		return a.Host + ": "
	case a.Asked != nil && a.Asked.Labelled:
		return a.Asked.Called + ": "
	}
	return ""
}

// Note says something that is not an error.
func (a *App) Note(format string, args ...any) {
	if a.As.Strict {
		return
	}
	a.Say("gpusched: %s\n", term.Clean(a.AsTyped(fmt.Sprintf(format, args...))))
}

// Say prints a line that stays.
func (a *App) Say(format string, args ...any) {
	if a.Busy == nil {
		a.Err.Printf(format, args...)
		return
	}
	a.Busy.Aside(func() {
		a.Err.Printf(format, args...)
		a.Err.W.Flush()
	})
}

// Begin says what takes long, to somebody who waits at a terminal, until end.
func (a *App) Begin(format string, args ...any) (end func()) {
	a.Err.W.Flush()
	a.Busy = busy.Begin(os.Stderr, a.Getenv, "gpusched: "+format, args...)
	return func() {
		a.Busy.End()
		a.Busy = nil
	}
}

// Refuse is an error with what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func Usagef(format string, args ...any) *api.Error {
	return Refuse(api.CodeUsage, "", format, args...)
}

// NotFoundf is for jobs that a name or @ does not find.
func NotFoundf(format string, args ...any) *api.Error {
	return Refuse(api.CodeNotFound, "see 'gpusched list -a'", format, args...)
}

// What the program was linked with.
var Version, Commit string

// Getenv is os.Getenv with a HOME that is always absolute: without one, the account's home, else "/". What this program
// reads and keeps in the home must not be taken from the current directory, which can be another user's.
func Getenv(name string) string {
	value := os.Getenv(name)
	if name != "HOME" || filepath.IsAbs(value) {
		return value
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return "/"
}

// CallerName is the name of the account that called.
func (a *App) CallerName() string {
	if u, err := user.LookupId(strconv.Itoa(a.UID)); err == nil {
		return u.Username
	}
	return a.Getenv("USER")
}

// WithCommand puts in the command that is meant where none is named: status,
// also before its options.
func WithCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "--help-all"}, args[0]) {
		return append([]string{"status"}, args...)
	}
	return args
}

// NoteOnce says something once, however many jobs it is about.
func (a *App) NoteOnce(text string) {
	if !a.Noted[text] {
		a.Noted[text] = true
		a.Note("%s", text)
	}
}
