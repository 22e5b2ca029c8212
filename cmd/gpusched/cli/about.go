package cli

import (
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// About is what a command says about itself, in a method beside its struct. Whatever treats commands differently goes
// by it and knows no command by its word. A group of commands speaks for all of them.
type About struct {
	Host  Host         // how it is carried out on another machine
	Hosts Hosts        // how on several machines
	Jobs  Hosts        // how on several machines because it names jobs of them; only where it takes ids
	Slurm *engines.Gap // why it is not for Slurm, or ForSlurm

	OwnInput bool // it reads the standard input, which therefore does not end it on another machine

	Usual    bool                  // 'gpusched --help' lists it
	Options  string                // what its --help lists, with blanks between them; "": as many as there is room for
	Examples []string              // what its --help shows
	Habits   *manual.Habits        // what other tools call its options
	Section  func() manual.Section // what its manual page has besides; nil: nothing

	Offers  Offers                // the jobs that completion offers
	Columns func(a *App) []string // the columns that completion offers for -o cols=
}

// Host is how a command is carried out on another machine.
type Host int

const (
	ShownHere Host = iota + 1 // gpusched there answers with a document, which this one shows with the machine's name
	RunThere                  // gpusched there carries out the command line as it is typed
	OnlyHere                  // not at all: it is about the machine on which it is typed
)

// Hosts is how a command is carried out on several machines.
type Hosts int

const (
	OneAtATime Hosts = iota + 1 // not at all
	InTurn                      // on one after the other, unless the output is for programs
	Together                    // one picture has them all, see together
	Divided                     // each machine does it to its own jobs
	OnOne                       // it is a new job, and one machine gets it
)

// ForSlurm is About's Slurm of a command that can be carried out there.
var ForSlurm = &engines.Gap{}

// NotForSlurm says why a command can't be carried out on Slurm, without a full stop, and what to do instead.
func NotForSlurm(why, next string) *engines.Gap { return &engines.Gap{Why: why, Next: next} }

// Refusal is why a command can't be carried out on Slurm; nil: it can.
func (about About) Refusal() *engines.Gap {
	if about.Slurm == ForSlurm {
		return nil
	}
	return about.Slurm
}

// Offers are the jobs that completion offers for a command: nil Fits is all, also ended ones.
type Offers struct {
	Fits  func(api.Job) bool
	Ended bool // also jobs that have ended
	Own   bool // the caller's only
}

// Acting is what a command says that does something to jobs.
func Acting(fits func(api.Job) bool) About {
	return About{Host: RunThere, Hosts: OneAtATime, Jobs: Divided, Slurm: ForSlurm, Offers: Offers{Fits: fits, Own: true}}
}
