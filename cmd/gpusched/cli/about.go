package cli

import (
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// About is what a command declares about itself, in a method of its struct. Code that treats
// commands differently reads the About, never the name of the command. A group of commands declares
// one About for all its commands.
type About struct {
	Host  Host         // how the command works on another machine
	Hosts Hosts        // how the command works on several machines
	Jobs  Hosts        // how the command works if the ids name several machines; only for commands that take ids
	Slurm *engines.Gap // ForSlurm, or the reason why the command does not work on Slurm

	OwnInput bool // the command reads standard input; on another machine, it continues after the input's end

	Usual    bool                  // listed in 'gpusched --help'
	Options  string                // the options in its --help, separated by blanks; "": as many as fit
	Examples []string              // the examples in its --help
	Habits   manual.Habits         // other tools' names for its options
	Section  func() manual.Section // an additional section of its manual page; nil: none

	Offers  Offers                // the jobs that shell completion offers
	Columns func(a *App) []string // the columns that shell completion offers after -o cols=
}

// Host says how a command works on another machine.
type Host int

const (
	ShownHere Host = iota + 1 // the other gpusched answers with a document; this gpusched prints it with machine names
	RunThere                  // the other machine's gpusched runs the command line as it was typed
	OnlyHere                  // never on another machine: the command is about the machine on which it was typed
)

// Hosts says how a command works on several machines.
type Hosts int

const (
	OneAtATime Hosts = iota + 1 // the command takes one machine only
	InTurn                      // one machine after another; refused if the output is for programs
	Together                    // one screen shows all machines
	Divided                     // each machine runs the command for its own jobs
	OnOne                       // one of the machines gets the new job
)

// ForSlurm is the value of About.Slurm in a command that works on Slurm.
var ForSlurm = &engines.Gap{}

// NotForSlurm is the value of About.Slurm in a command that does not work on Slurm. The argument
// reason has no full stop. The argument advice says what to do instead.
func NotForSlurm(reason, advice string) *engines.Gap { return &engines.Gap{Why: reason, Next: advice} }

// Refusal returns the reason why a command does not work on Slurm, or nil if it does.
func (about About) Refusal() *engines.Gap {
	if about.Slurm == ForSlurm {
		return nil
	}
	return about.Slurm
}

// Offers selects the jobs that shell completion offers for a command. If Fits is nil, completion
// offers all jobs, including ended ones.
type Offers struct {
	Fits  func(api.Job) bool
	Ended bool // include jobs that have ended
	Own   bool // only the caller's jobs
}

// Acting returns the About of a command that acts on jobs.
func Acting(fits func(api.Job) bool) About {
	return About{Host: RunThere, Hosts: OneAtATime, Jobs: Divided, Slurm: ForSlurm, Offers: Offers{Fits: fits, Own: true}}
}
