package onslurm

import (
	"context"
	"slices"

	"github.com/gpusched/gpusched/cmd/gpusched/sbatch"
	"github.com/gpusched/gpusched/daemon/api"
)

// Program is one of Slurm's to become: its path, its words with its name first, and its environment.
type Program struct {
	Path    string
	Argv    []string
	Environ []string
	Notes   []string // sentences about wishes that mean something else there
}

// Run is srun for a request: the job has the caller's input, output and, where the request asks one,
// terminal, and its exit status is the job's.
func (e *Engine) Run(ctx context.Context, r api.SubmitRequest) (Program, error) {
	s, err := e.submission(ctx, r, sbatch.Run)
	if err != nil {
		return Program{}, err
	}
	p, err := e.program("srun", s.Args...)
	p.Notes, p.Environ = s.Notes, sbatch.Environ(e.full)
	return p, err
}

// Within is srun for a command in a job that runs, beside what it does, with or without a terminal.
func (e *Engine) Within(j api.Job, tty bool, argv ...string) (Program, error) {
	args := []string{"--jobid=" + j.ID.String(), "--overlap", "--ntasks=1"}
	if tty {
		args = append(args, "--pty")
	}
	return e.program("srun", append(args, argv...)...)
}

func (e *Engine) program(name string, args ...string) (Program, error) {
	path, err := e.find(name)
	return Program{Path: path, Argv: append([]string{name}, args...), Environ: slices.Clone(e.full)}, err
}
