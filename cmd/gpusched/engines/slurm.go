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

// Slurm has the functions that only gpusched-slurm has.
type Slurm struct {
	// New returns the Slurm that the environment selects. It runs nothing. The argument names is a
	// prefix for each job number, as in slurm:12; it may be "". The engine calls note for each
	// request that has a different meaning on Slurm.
	New func(environ []string, uid int, names string, note func(string)) Other

	// Manual returns entries for the manual: options that Slurm does not support, and reasons for
	// waiting that only Slurm has.
	Manual func() (options, reasons []manual.Entry)

	// Migrate moves waiting jobs to Slurm. If some jobs could not be moved, Migrate prints the
	// errors, and the first result is the error code of the first of these jobs.
	Migrate func(ctx context.Context, s Shell, m Move) (stays api.Code, err error)
	// Export writes the configuration for a Slurm that is set up like this machine.
	Export func(ctx context.Context, s Shell, e Export) error
}

// Other is an engine that is not a gpusched scheduler.
type Other interface {
	api.Engine

	// Refusal returns an error if the engine does not support an option, such as "logs --attempt".
	// The error says why and what to do instead. If the engine supports the option, Refusal returns
	// nil.
	Refusal(option string) *api.Error
	// With returns the engine with additional options for jobs, which only this engine knows.
	With(options ...string) Other
	// Run returns the program that runs a job with the caller's terminal, input and signals. Within
	// returns the program that runs a command in a running job. This process becomes the returned
	// program.
	Run(ctx context.Context, r api.SubmitRequest) (Program, error)
	Within(j api.Job, tty bool, argv ...string) (Program, error)
	// OutputFile returns the path of a job's output file, or "" if it is unknown.
	OutputFile(j api.Job) string
	// Submitted returns a function that finds a job by its request key. The function returns 0 if
	// there is no such job.
	Submitted(ctx context.Context) (func(key string) job.ID, error)
	// Meant sets the GPUs that the following calls are about. It is needed because Slurm can only
	// take whole nodes out of service.
	Meant(indexes []int)
}

// Gap is a command or option that Slurm does not support.
type Gap struct {
	What string // as typed after "gpusched"; "" if the declaring command implies it
	Why  string // a sentence without a full stop
	Next string // what to do instead; "": the option is accepted, but has a different meaning
}

// Text returns the entry for the manual, in one or two sentences.
func (g Gap) Text() string {
	if g.Next == "" {
		return "Different on Slurm: " + g.Why + "."
	}
	return "Refused: " + g.Why + ". Instead: " + g.Next + "."
}

// Program is a program that this process becomes. Argv begins with the program's name.
type Program struct {
	Path    string
	Argv    []string
	Environ []string
	Notes   []string // sentences about requests that have a different meaning on Slurm
}

// Shell gives the commands of gpusched-slurm access to the command line.
type Shell struct {
	Environ []string
	Home    string // the account's home, if the environment names no home
	UID     int
	Root    string      // the root of the file system to read; "" except in tests
	Here    *api.Client // this machine's scheduler

	Printf, Note, Complain func(format string, args ...any)
	NoteOnce               func(text string)

	// Resolve turns words for jobs of this machine into their numbers.
	Resolve func(ctx context.Context, words []string) (ids []string, err error)
	// Request returns a request for the same job again. For an array, the request covers all
	// waiting tasks.
	Request func(of api.JobReply) (api.SubmitRequest, error)
	// Settings returns this machine's settings and the origin of each.
	Settings func() (config.Config, config.Origins, error)
}

// Refuse returns an error. The hint tells the user what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Variable returns the value of a variable in an environment, or "" if it is not set.
func Variable(environ []string, name string) string {
	for _, line := range environ {
		if key, value, _ := strings.Cut(line, "="); key == name {
			return value
		}
	}
	return ""
}

// Move has the arguments of 'gpusched migrate'.
type Move struct {
	To     string   `name:"to" placeholder:"ENGINE" required:"" enum:"slurm" group:"self"`
	Mine   bool     `name:"mine" group:"self"`
	DryRun bool     `name:"dry-run" group:"self"`
	IDs    []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// Export has the arguments of 'gpusched export slurm'.
type Export struct {
	Add     []string `name:"add" sep:"none" placeholder:"HOST"`
	Cluster string   `name:"cluster" placeholder:"NAME" default:"gpus"`
	Dir     string   `name:"dir" placeholder:"DIR" xor:"where"`
	Node    bool     `name:"node" xor:"where"`
}

// SlurmProgram is the name of the program that can ask Slurm.
const SlurmProgram = "gpusched-slurm"

// Gpusched returns the path of gpusched, even if this process is gpusched-slurm.
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
