package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// Slurm is what gpusched-slurm has, and gpusched has not.
type Slurm struct {
	// New is the Slurm that an environment leads to, for a user. It runs nothing. The numbers of its jobs stand
	// behind names, as in slurm:12; "" is nothing. Note is told which wishes mean something else there.
	New func(environ []string, uid int, names string, note func(string)) Other

	// Manual is what the manual says of it: the options that it has no place for, and the reasons that only its jobs
	// wait for.
	Manual func() (options, reasons []manual.Entry)

	// Migrate moves waiting jobs there. The code is that of the first job that stays, which has been said.
	Migrate func(ctx context.Context, s Shell, m Move) (stays api.Code, err error)
	// Export writes the files of a Slurm that is as this machine.
	Export func(ctx context.Context, s Shell, e Export) error
}

// Other is an engine that is no scheduler of gpusched's.
type Other interface {
	api.Engine

	// Refusal says why an option, as in "logs --attempt", is not for it, and what can be done instead; nil: it is.
	Refusal(option string) *api.Error
	// With is the engine for jobs with further options, which mean something there alone.
	With(options ...string) Other
	// Run is the program to become for a job that has the caller's terminal, input and signals, and Within that for
	// a command in a job that runs.
	Run(ctx context.Context, r api.SubmitRequest) (Program, error)
	Within(j api.Job, tty bool, argv ...string) (Program, error)
	// OutputFile is where the output of a job is; "" is that nobody knows.
	OutputFile(j api.Job) string
	// Submitted finds what was submitted with a request key, as far as it is known there; 0 is none.
	Submitted(ctx context.Context) (func(key string) job.ID, error)
	// Meant names the GPUs that the next calls are about, as only whole nodes can be taken out of service there.
	Meant(indexes []int)
}

// Gap is a command or an option that is not for Slurm.
type Gap struct {
	What string // as it is typed after "gpusched"; "" where whoever has the gap says it
	Why  string // a sentence without its full stop
	Next string // what to do instead; "": it is not refused, but means something else
}

// Text is the row for the manual: a sentence or two.
func (g Gap) Text() string {
	if g.Next == "" {
		return "Different on Slurm: " + g.Why + "."
	}
	return "Refused: " + g.Why + ". Instead: " + g.Next + "."
}

// Program is one to become: its path, its words with its name first, and its environment.
type Program struct {
	Path    string
	Argv    []string
	Environ []string
	Notes   []string // sentences about wishes that mean something else there
}

// Shell is what the commands of gpusched-slurm alone have of the command line.
type Shell struct {
	Environ []string
	Home    string // the account's where the environment names none
	UID     int
	Root    string      // of the file system that is looked at; "" but in tests
	Here    *api.Client // the scheduler of this machine

	Printf, Note, Complain func(format string, args ...any)
	NoteOnce               func(text string)

	// Resolve turns words for jobs of this machine into numbers.
	Resolve func(ctx context.Context, words []string) (ids []string, err error)
	// Request asks for a job once more, of an array for all tasks that wait.
	Request func(of api.JobReply) (api.SubmitRequest, error)
	// Settings are those of this machine, and where each comes from.
	Settings func() (config.Config, config.Origins, error)
}

// Refuse is an error with what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Variable is one of an environment, "" where it is not set.
func Variable(environ []string, name string) string {
	for _, line := range environ {
		if key, value, _ := strings.Cut(line, "="); key == name {
			return value
		}
	}
	return ""
}

// Move is what 'gpusched migrate' is asked.
type Move struct {
	To     string   `name:"to" placeholder:"ENGINE" required:"" enum:"slurm" group:"self"`
	Mine   bool     `name:"mine" group:"self"`
	DryRun bool     `name:"dry-run" group:"self"`
	IDs    []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// Export is what 'gpusched export slurm' is asked.
type Export struct {
	Add     []string `name:"add" sep:"none" placeholder:"HOST"`
	Cluster string   `name:"cluster" placeholder:"NAME" default:"gpus"`
	Dir     string   `name:"dir" placeholder:"DIR" xor:"where"`
	Node    bool     `name:"node" xor:"where"`
}

// SlurmProgram is the name of the program that has a Slurm.
const SlurmProgram = "gpusched-slurm"

// Gpusched is the path of gpusched, of which this process may be the part that asks Slurm.
func Gpusched() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if self, err = filepath.EvalSymlinks(self); err != nil || filepath.Base(self) != SlurmProgram {
		return self, err
	}
	dir := filepath.Dir(self)
	for _, place := range []string{dir, filepath.Join(dir, "../../bin")} {
		path := filepath.Join(place, "gpusched")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", errors.New("gpusched is not where " + SlurmProgram + " is")
}
