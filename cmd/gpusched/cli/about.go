package cli

import (
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// About is what a command declares about itself, in a method of its struct. Code that treats
// commands differently goes by it, never by the command's word. A group of commands declares for
// all of them.
type About struct {
	Host  Host         // how it is carried out on another machine
	Hosts Hosts        // how it is carried out on several machines
	Jobs  Hosts        // the same where it names jobs of several machines; only for commands that take ids
	Slurm *engines.Gap // ForSlurm, or the reason that it is not for Slurm

	OwnInput bool // it reads the standard input, whose end therefore does not end it on another machine

	Usual    bool                  // 'gpusched --help' lists it
	Options  string                // the options that its --help lists, with blanks between them; "": as many as fit
	Examples []string              // the examples in its --help
	Habits   *manual.Habits        // the names that other tools have for its options
	Section  func() manual.Section // a further section of its manual page; nil: none

	Offers  Offers                // the jobs that completion offers
	Columns func(a *App) []string // the columns that completion offers for -o cols=
}

// Host says how a command is carried out on another machine.
type Host int

const (
	ShownHere Host = iota + 1 // the gpusched there answers with a document, which this one shows with the machine's name
	RunThere                  // the gpusched there carries out the command line as it was typed
	OnlyHere                  // not at all: it is about the machine on which it was typed
)

// Hosts says how a command is carried out on several machines.
type Hosts int

const (
	OneAtATime Hosts = iota + 1 // not at all
	InTurn                      // on one after the other, except if the output is for programs
	Together                    // one screen shows them all
	Divided                     // each machine carries it out for its own jobs
	OnOne                       // it submits a new job to one of them
)

// ForSlurm is the value of About.Slurm for a command that works on Slurm.
var ForSlurm = &engines.Gap{}

// NotForSlurm is the value of About.Slurm for a command that does not work on Slurm: why, without a
// full stop, and what to do instead.
func NotForSlurm(why, next string) *engines.Gap { return &engines.Gap{Why: why, Next: next} }

// Refusal returns the reason that a command does not work on Slurm, nil if it does.
func (about About) Refusal() *engines.Gap {
	if about.Slurm == ForSlurm {
		return nil
	}
	return about.Slurm
}

// Offers selects the jobs that completion offers for a command. A nil Fits selects every job, ended
// ones included.
type Offers struct {
	Fits  func(api.Job) bool
	Ended bool // also jobs that have ended
	Own   bool // only the caller's
}

// Acting returns the declaration of a command that acts on jobs.
func Acting(fits func(api.Job) bool) About {
	return About{Host: RunThere, Hosts: OneAtATime, Jobs: Divided, Slurm: ForSlurm, Offers: Offers{Fits: fits, Own: true}}
}
