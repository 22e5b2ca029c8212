package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	busy "github.com/gpusched/gpusched/cmd/progress"
	"github.com/gpusched/gpusched/daemon/api"
)

// app is one run of the program.
type app struct {
	startedWith
	whomAsked

	words []string        // the command line, byte for byte
	noted map[string]bool // what noteOnce has said
	as    manner          // of the tool by whose name it was called
	busy  *busy.Line      // about what takes long; nil: nothing, or nobody sees it
}

// startedWith is what the program was started with.
type startedWith struct {
	out, err    *term.Terminal
	environ     []string
	getenv      func(string) string
	getwd       func() (string, error)
	umask       int
	uid         int
	interactive bool          // there is a terminal to ask on
	answer      func() string // what they say
	// restoreLimits makes our resource limits the user's again, for the daemon
	// to read.
	restoreLimits func()
	root          string   // of the file system that doctor looks at; "" but in tests
	journalDirs   []string // where journald keeps its files, the one on disk first
}

// whomAsked is whom the program asks.
type whomAsked struct {
	client     api.Engine
	slurm      *engines.Slurm // nil: this is gpusched, which becomes gpusched-slurm where one is asked
	own        bool           // the user's own scheduler was asked for by name
	on         string         // the engine that the command line names; "": it names none
	chosen     *chosen        // what the files of settings say of whom to ask; nil: they have not been read
	hosts      []string       // the machines that are asked, "." for this one; none: this one alone
	hostsGiven bool           // by the command line, not the environment
	host       string         // the machine that answers in place of this one's scheduler; "": none does
	far        []string       // the machines whose jobs are named, and that do what is asked
	asked      *fromAfar      // by another gpusched, for its user; nil: this was typed here
}

// manner is how another tool does what was asked; the zero value is how gpusched does.
type manner struct {
	submitted string // what is printed of a job that was queued, with %d for its number
	silent    bool   // nothing is printed of it
	other     bool   // the words are another tool's
	noGPU     bool   // a job that names no GPU gets none
	caps      bool   // a priority that may not be raised counts as normal
	// table makes the lines for jobs.
	table func(jobs []api.Job, now time.Time) []string
	check func(jobs []api.Job, now time.Time) error // refuses jobs; nil refuses none
	// strict is that nothing is said but what that tool would say: a program reads it.
	strict bool
	// only are the jobs that its filters leave, besides states; nil is all.
	only   func(api.Job) bool
	states []string
	all    bool  // only chooses among the jobs of all users
	keeps  bool  // the job has a copy of its script
	turns  turns // of the queue that a job is put in; nil is none
}

// turns is a queue of another tool's, in which a new job waits for its turn.
type turns interface {
	enter(ctx context.Context, a *app, req *api.SubmitRequest) error // makes the job wait; nobody else enters until leave
	leave()
}

// exitStatus ends the program with a status about which everything has been
// said, such as that of a job.
type exitStatus int

// Error is for logs of tests; people never see it.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// statusInterrupted is what a shell gives for SIGINT.
const statusInterrupted = 130

// finish says what went wrong, and gives the exit status for it (invariant 2).
func (a *app) finish(err error) int {
	var status exitStatus
	var own *failure
	var e *api.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.As(err, &own):
		a.complain(own.cause.Text(a.err.Reader()))
		return statusFailure
	case errors.As(err, &e):
		a.complain(e.Text(a.err.Reader()))
		return e.Code.ExitStatus()
	}
	a.complain(err.Error())
	return 1
}

// complain prints an error, each line under the program's name.
func (a *app) complain(text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		text := term.Clean(a.from() + a.asTyped(strings.TrimRight(line, "\n")))
		a.say("%s %s\n", a.err.Paint(term.Red, "gpusched:"), text)
	}
}

// from says whose error it is, where another machine's scheduler is asked.
func (a *app) from() string {
	switch {
	case a.host != "":
		return a.host + ": "
	case a.asked != nil && a.asked.labelled:
		return a.asked.called + ": "
	}
	return ""
}

// note says something that is not an error.
func (a *app) note(format string, args ...any) {
	if a.as.strict {
		return
	}
	a.say("gpusched: %s\n", term.Clean(a.asTyped(fmt.Sprintf(format, args...))))
}

// say prints a line that stays.
func (a *app) say(format string, args ...any) {
	if a.busy == nil {
		a.err.Printf(format, args...)
		return
	}
	a.busy.Aside(func() {
		a.err.Printf(format, args...)
		a.err.W.Flush()
	})
}

// begin says what takes long, to somebody who waits at a terminal, until end.
func (a *app) begin(format string, args ...any) (end func()) {
	a.err.W.Flush()
	a.busy = busy.Begin(os.Stderr, a.getenv, "gpusched: "+format, args...)
	return func() {
		a.busy.End()
		a.busy = nil
	}
}

// refuse is an error with what to do next.
func refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

func usagef(format string, args ...any) *api.Error {
	return refuse(api.CodeUsage, "", format, args...)
}

// notFoundf is for jobs that a name or @ does not find.
func notFoundf(format string, args ...any) *api.Error {
	return refuse(api.CodeNotFound, "see 'gpusched list -a'", format, args...)
}
