package sbatch

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// Submission is one call of sbatch.
type Submission struct {
	Args   []string // what follows "sbatch"; its answer is "ID" or "ID;CLUSTER"
	Script []byte   // its standard input
	LogDir string   // the directory of the output, as far as it is the same for all jobs; "" is the job's own
	Notes  []string // sentences about wishes that mean something else there
}

// Command makes the call of sbatch for a request, which is checked as the daemon checks
// one. Its key is kept in the comment (Said.Mark). Every fault and everything that this
// Slurm can't do is in one error, an *api.Error.
func Command(r api.SubmitRequest, s Site) (Submission, error) {
	m, err := mapped(r, s)
	if err != nil {
		return Submission{}, err
	}
	if m.mark = r.Key; r.DryRun {
		m.mark = ""
	}
	if m.p.TTY {
		m.refuse("a terminal is for 'gpusched run --tty', which is srun there")
	}
	m.add("parsable", "")
	m.oneTask()
	if r.DryRun {
		m.args = append(m.args, "--test-only")
	}
	m.args = append(m.args, s.Options...)
	m.addOptions()
	m.addBatchOptions()
	if err := m.err(); err != nil {
		return Submission{}, err
	}
	return Submission{Args: m.args, Script: m.script(), LogDir: m.logDir(), Notes: m.notes}, nil
}

// Run is the words that follow "srun" for a job that somebody stays with. It has a
// terminal where the request asks one. An array can't be run so.
func Run(r api.SubmitRequest, s Site) (Submission, error) {
	m, err := mapped(r, s)
	if err != nil {
		return Submission{}, err
	}
	if m.r.Array != nil || m.r.Retries > 0 {
		m.refuse("srun stays with one job, which it starts once: use submit for an array, and for --retries")
	}
	if m.p.EnvMode == contract.EnvLogin {
		m.refuse("--env login needs a job of its own: use submit, or --env inherit")
	}
	m.oneTask()
	m.args = append(m.args, s.Options...)
	m.addOptions()
	if m.p.TTY {
		m.args = append(m.args, "--pty")
	}
	if err := m.err(); err != nil {
		return Submission{}, err
	}
	args := append(m.args, "/bin/sh", "-c", string(m.script()), "gpusched")
	return Submission{Args: args, Notes: m.notes}, nil
}

// oneTask is how many of each a job here is.
func (m *mapping) oneTask() {
	m.add("nodes", "1")
	m.add("ntasks", "1")
}

// mapping is a request on its way into words for Slurm.
type mapping struct {
	site  Site
	r     job.Request
	label job.Label
	p     contract.Program
	mark  string

	args    []string // for sbatch or srun
	refused []string
	notes   []string
}

// mapped checks the form of a request.
func mapped(r api.SubmitRequest, s Site) (*mapping, error) {
	m := &mapping{site: s, r: r.Request, label: r.Label, p: r.Program.Contract()}
	var err error
	if m.r.Array, err = api.Tasks(r.Array); err != nil {
		return nil, usage(words.Error(err))
	}
	sub := job.Submission{Key: r.Key, Label: r.Label, Request: m.r, Payload: job.Payload{Program: m.p}}
	if err := sub.Validate(); err != nil {
		return nil, usage(words.Error(err))
	}
	return m, nil
}

func usage(text string) error { return &api.Error{Code: api.CodeUsage, Message: text} }

func (m *mapping) refuse(format string, args ...any) {
	m.refused = append(m.refused, fmt.Sprintf(format, args...))
}

func (m *mapping) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// err is all that was refused.
func (m *mapping) err() error {
	if len(m.refused) == 0 {
		return nil
	}
	return &api.Error{Code: api.CodeNever, Message: "on Slurm: " + strings.Join(m.refused, "; ")}
}
