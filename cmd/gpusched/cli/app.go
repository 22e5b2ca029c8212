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
	Noted map[string]bool // the texts that NoteOnce has already printed
	As    Manner          // how to behave under another tool's name
	Busy  *busy.Line      // shows what the user is waiting for; nil: nothing takes long, or nobody would see it
}

// Env is what the program gets from its environment at the start.
type Env struct {
	Out, Err    *term.Terminal
	Environ     []string
	Getenv      func(string) string
	Getwd       func() (string, error)
	Umask       int
	UID         int
	Interactive bool          // there is a terminal to ask questions on
	Answer      func() string // reads the user's answer to a question
	// RestoreLimits restores the user's resource limits in this process for the daemon to read.
	RestoreLimits func()
	Root          string   // the root of the file system that doctor checks; "" except in tests
	JournalDirs   []string // the directories with journald's files, the persistent one first
}

// Session says which schedulers this run asks.
type Session struct {
	Client     api.Engine
	Slurm      *engines.Slurm // nil: this program is gpusched, which becomes gpusched-slurm when it must ask a Slurm
	Own        bool           // the command line asks for the user's own scheduler
	On         string         // the engine named on the command line; "": none
	Chosen     *Chosen        // the engine and machines named in client.toml; nil: not read yet
	Hosts      []string       // the machines to ask, where "." is this one; empty: only this one
	HostsGiven bool           // Hosts comes from the command line, not from the environment
	Host       string         // the machine to ask instead of this machine's scheduler; "": none
	Far        []string       // the machines that carry out the command, since it names their jobs
	Asked      *FromAfar      // set if another gpusched sent the command line; nil: it was typed here
}

// Manner says how gpusched behaves under another tool's name. The zero value is the behaviour under
// its own name.
type Manner struct {
	Submitted string // the message for a queued job, with %d for its number
	Silent    bool   // print nothing for a queued job
	Other     bool   // the command line is in another tool's words
	NoGPU     bool   // a job that does not ask for GPUs gets none
	Log       string // the file for the output of a job whose options name none; "": none
	Caps      bool   // a priority that the caller is not allowed becomes normal
	// Table returns the lines of a listing.
	Table func(jobs []api.Job, now time.Time) []string
	Check func(jobs []api.Job, now time.Time) error // returns an error that refuses the jobs; nil: no check
	// Strict suppresses messages that the other tool does not print, since programs read the
	// output.
	Strict bool
	// This function reports whether a job matches the tool's filters. It does not apply the filters
	// by state. nil means that every job matches.
	Only   func(api.Job) bool
	States []string
	All    bool      // the filters choose among the jobs of all users
	Keeps  bool      // the job runs a copy of its script
	Turns  turnQueue // the tool's queue that new jobs enter; nil: none
}

// A turnQueue is another tool's queue. A new job in it waits for its turn.
type turnQueue interface {
	Enter(ctx context.Context, a *App, req *api.SubmitRequest) error // no other job enters before Leave
	Leave()
}

// ExitStatus is an error that sets the program's exit status and prints nothing. Either the error
// was printed already, or the status is that of a job.
type ExitStatus int

// Error returns a text for test logs. Users never see it.
func (e ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// StatusInterrupted is the exit status that shells report after SIGINT.
const StatusInterrupted = 130

// Finish prints an error and returns the matching exit status (invariant 2).
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

// Complain prints an error. Each line begins with the program's name.
func (a *App) Complain(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		text := term.Clean(a.hostOfError() + a.AsTyped(strings.TrimRight(line, "\n")))
		a.Say("%s %s\n", a.Err.Paint(term.Red, "gpusched:"), text)
	}
}

// hostOfError returns the name of the machine that an error comes from. If only this machine was
// asked, it returns "".
func (a *App) hostOfError() string {
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

// Say prints a line without overwriting the progress line.
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

// Begin tells a user at a terminal what the program is waiting for, until the returned function is
// called.
func (a *App) Begin(format string, args ...any) (end func()) {
	a.Err.W.Flush()
	a.Busy = busy.Begin(os.Stderr, a.Getenv, "gpusched: "+format, args...)
	return func() {
		a.Busy.End()
		a.Busy = nil
	}
}

// Refuse returns an error. The hint tells the user what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func Usagef(format string, args ...any) *api.Error {
	return Refuse(api.CodeUsage, "", format, args...)
}

// NotFoundf returns the error for a name that no job has, or for an @ that finds no job.
func NotFoundf(format string, args ...any) *api.Error {
	return Refuse(api.CodeNotFound, "see 'gpusched list -a'", format, args...)
}

// Version and Commit are set by the linker.
var Version, Commit string

// Getenv is like os.Getenv, except that HOME is always an absolute path. If HOME is not absolute,
// Getenv returns the home of the account, or else "/". With a relative HOME, files of the home
// would be looked up in the current directory, which may belong to another user.
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

// WithCommand adds the command status to arguments that name no command.
func WithCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "--help-all"}, args[0]) {
		return append([]string{"status"}, args...)
	}
	return args
}

// NoteOnce prints a text the first time only, however many jobs it concerns.
func (a *App) NoteOnce(text string) {
	if !a.Noted[text] {
		a.Noted[text] = true
		a.Note("%s", text)
	}
}

// TypedCommand returns the words of a command as they were typed, without a leading --. The parser,
// whose words are the argument, passes them through JSON, which changes bytes that are not text.
func (a *App) TypedCommand(parsed []string) []string {
	words := a.Words[len(a.Words)-len(parsed):]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	return words
}
