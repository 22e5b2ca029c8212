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
	Noted map[string]bool // the texts that NoteOnce has printed
	As    Manner          // the manner of the tool by whose name it was called
	Busy  *busy.Line      // says what takes so long; nil: nothing does, or nobody sees it
}

// Env is what the program was started with.
type Env struct {
	Out, Err    *term.Terminal
	Environ     []string
	Getenv      func(string) string
	Getwd       func() (string, error)
	Umask       int
	UID         int
	Interactive bool          // there is a terminal to ask questions on
	Answer      func() string // reads what the user answers
	// RestoreLimits gives this process the user's resource limits again, for the daemon to read.
	RestoreLimits func()
	Root          string   // the root of the file system that doctor checks; "" except in tests
	JournalDirs   []string // the directories of journald's files, the persistent one first
}

// Session says which schedulers the program asks.
type Session struct {
	Client     api.Engine
	Slurm      *engines.Slurm // nil: this is gpusched, which becomes gpusched-slurm to ask a Slurm
	Own        bool           // the command line asks for the user's own scheduler
	On         string         // the engine that the command line names; "": none
	Chosen     *Chosen        // the engine and machines that client.toml names; nil: not read yet
	Hosts      []string       // the machines that are asked, "." for this one; none: this one alone
	HostsGiven bool           // Hosts comes from the command line, not from the environment
	Host       string         // the machine that answers instead of this one's scheduler; "": none
	Far        []string       // the machines whose jobs the command names, and which carry it out
	Asked      *FromAfar      // set if another gpusched sent the command line; nil: it was typed here
}

// Manner is how gpusched behaves under another tool's name. The zero value is gpusched's own
// manner.
type Manner struct {
	Submitted string // printed about a job that was queued, with %d for its number
	Silent    bool   // nothing is printed about a job that was queued
	Other     bool   // the command line is in another tool's words
	NoGPU     bool   // a job that does not ask for GPUs gets none
	Caps      bool   // a priority that the caller may not have becomes normal
	// Table returns the lines of a listing.
	Table func(jobs []api.Job, now time.Time) []string
	Check func(jobs []api.Job, now time.Time) error // refuses jobs; nil refuses none
	// Strict prints nothing that the other tool would not print, since a program reads the output.
	Strict bool
	// Only selects jobs by the tool's filters, except those by state; nil selects all.
	Only   func(api.Job) bool
	States []string
	All    bool  // Only selects among the jobs of all users
	Keeps  bool  // the job gets a copy of its script
	Turns  turns // the tool's queue that the job is put into; nil: none
}

// turns is another tool's queue, in which a new job waits for its turn.
type turns interface {
	Enter(ctx context.Context, a *App, req *api.SubmitRequest) error // the job waits; nobody else enters before Leave
	Leave()
}

// ExitStatus is an error that ends the program with a status and prints nothing: all has been said,
// or the status is that of a job.
type ExitStatus int

// Error is for test logs; users never see it.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// StatusInterrupted is the exit status that shells use for SIGINT.
const StatusInterrupted = 130

// Finish prints an error and returns the exit status for it (invariant 2).
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

// Complain prints an error, each line behind the program's name.
func (a *App) Complain(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		text := term.Clean(a.from() + a.AsTyped(strings.TrimRight(line, "\n")))
		a.Say("%s %s\n", a.Err.Paint(term.Red, "gpusched:"), text)
	}
}

// from names the machine that an error comes from, unless only this machine was asked.
func (a *App) from() string {
	switch {
	case a.Host != "":
		return a.Host + ": "
	case a.Asked != nil && a.Asked.Labelled:
		return a.Asked.Called + ": "
	}
	return ""
}

// Note prints a line that is not an error.
func (a *App) Note(format string, args ...any) {
	if a.As.Strict {
		return
	}
	a.Say("gpusched: %s\n", term.Clean(a.AsTyped(fmt.Sprintf(format, args...))))
}

// Say prints a line above the progress line, which it does not overwrite.
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

// Begin tells a user at a terminal what takes so long, until end is called.
func (a *App) Begin(format string, args ...any) (end func()) {
	a.Err.W.Flush()
	a.Busy = busy.Begin(os.Stderr, a.Getenv, "gpusched: "+format, args...)
	return func() {
		a.Busy.End()
		a.Busy = nil
	}
}

// Refuse returns an error with a hint what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func Usagef(format string, args ...any) *api.Error {
	return Refuse(api.CodeUsage, "", format, args...)
}

// NotFoundf returns the error for a name or @ that finds no job.
func NotFoundf(format string, args ...any) *api.Error {
	return Refuse(api.CodeNotFound, "see 'gpusched list -a'", format, args...)
}

// Version and Commit are set by the linker.
var Version, Commit string

// Getenv is os.Getenv, except that HOME is always absolute: without one it is the account's home,
// else "/". Otherwise files of the home would be looked up in the current directory, which can be
// another user's.
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

func (a *App) CallerName() string {
	if u, err := user.LookupId(strconv.Itoa(a.UID)); err == nil {
		return u.Username
	}
	return a.Getenv("USER")
}

// WithCommand puts status in front of arguments that name no command.
func WithCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "--help-all"}, args[0]) {
		return append([]string{"status"}, args...)
	}
	return args
}

// NoteOnce prints a text once, however many jobs it is about.
func (a *App) NoteOnce(text string) {
	if !a.Noted[text] {
		a.Noted[text] = true
		a.Note("%s", text)
	}
}
