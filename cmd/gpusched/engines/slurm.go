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

// Slurm has the functions that gpusched-slurm has and gpusched does not.
type Slurm struct {
	// New returns the Slurm that an environment leads to, without running anything. Names stands
	// before the numbers of its jobs, as in slurm:12; "" is nothing. Note is called with each
	// request that has another meaning on Slurm.
	New func(environ []string, uid int, names string, note func(string)) Other

	// Manual returns the manual's entries: the options that Slurm does not support, and the reasons
	// that only its jobs wait for.
	Manual func() (options, reasons []manual.Entry)

	// Migrate moves waiting jobs to Slurm. The code, already printed, is that of the first job that
	// could not be moved.
	Migrate func(ctx context.Context, s Shell, m Move) (stays api.Code, err error)
	// Export writes the configuration of a Slurm that is set up like this machine.
	Export func(ctx context.Context, s Shell, e Export) error
}

// Other is an engine that is not a gpusched scheduler.
type Other interface {
	api.Engine

	// Refusal says why the engine does not support an option, such as "logs --attempt", and what to
	// do instead. It returns nil if the engine supports it.
	Refusal(option string) *api.Error
	// With returns the engine with further options for jobs, which only this engine knows.
	With(options ...string) Other
	// Run returns the program to become for a job that has the caller's terminal, input and
	// signals. Within returns the program to become for a command in a running job.
	Run(ctx context.Context, r api.SubmitRequest) (Program, error)
	Within(j api.Job, tty bool, argv ...string) (Program, error)
	// OutputFile returns the path of a job's output, "" if it is unknown.
	OutputFile(j api.Job) string
	// Submitted returns a function that finds the job with a request key, 0 if none is known.
	Submitted(ctx context.Context) (func(key string) job.ID, error)
	// Meant names the GPUs that the next calls are about. Slurm can only take whole nodes out of
	// service.
	Meant(indexes []int)
}

// Gap is a command or option that Slurm does not support.
type Gap struct {
	What string // as it is typed after "gpusched"; "" if the declaring command implies it
	Why  string // a sentence without a full stop
	Next string // what to do instead; "": it is not refused, but has another meaning
}

// Text returns the entry for the manual, one or two sentences.
func (g Gap) Text() string {
	if g.Next == "" {
		return "Different on Slurm: " + g.Why + "."
	}
	return "Refused: " + g.Why + ". Instead: " + g.Next + "."
}

// Program is a program for this process to become. Argv begins with its name.
type Program struct {
	Path    string
	Argv    []string
	Environ []string
	Notes   []string // sentences about requests that have another meaning on Slurm
}

// Shell is what the commands of gpusched-slurm use of the command line.
type Shell struct {
	Environ []string
	Home    string // the account's home if the environment names none
	UID     int
	Root    string      // the root of the file system that is read; "" except in tests
	Here    *api.Client // this machine's scheduler

	Printf, Note, Complain func(format string, args ...any)
	NoteOnce               func(text string)

	// Resolve turns words for jobs of this machine into their numbers.
	Resolve func(ctx context.Context, words []string) (ids []string, err error)
	// Request returns a request for the same job again; for an array, for all of its waiting tasks.
	Request func(of api.JobReply) (api.SubmitRequest, error)
	// Settings returns this machine's settings and the origin of each.
	Settings func() (config.Config, config.Origins, error)
}

// Refuse returns an error with a hint what to do next.
func Refuse(code api.Code, hint, format string, args ...any) *api.Error {
	return &api.Error{Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Variable returns a variable of an environment, "" if it is not set.
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

// Gpusched returns the path of gpusched, also when this process is gpusched-slurm.
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
