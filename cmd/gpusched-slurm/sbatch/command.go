package sbatch

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// A Submission is one call of sbatch or srun.
type Submission struct {
	Args   []string // arguments; with them, sbatch answers "ID" or "ID;CLUSTER"
	Script []byte   // standard input of the call
	LogDir string   // directory of the output, up to the part that depends on the job; "" is the job's directory
	Notes  []string // sentences about options that have another meaning on Slurm
}

// Command returns the call of sbatch for a request. It validates the request as the daemon would.
// The key of the request goes into the comment (CommentData.Mark). A single error, an *api.Error,
// lists all mistakes and everything that this Slurm cannot do.
func Command(r api.SubmitRequest, s Site) (Submission, error) {
	m, err := newMapping(r, s)
	if err != nil {
		return Submission{}, err
	}
	if m.mark = r.Key; r.DryRun {
		m.mark = ""
	}
	if m.p.TTY {
		m.refuse("sbatch gives no terminal: use 'gpusched run --tty'")
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

// Run returns the call of srun for a job in the foreground. The job has a terminal if the request
// asks for one. Run refuses arrays.
func Run(r api.SubmitRequest, s Site) (Submission, error) {
	m, err := newMapping(r, s)
	if err != nil {
		return Submission{}, err
	}
	if m.r.Array != nil || m.r.Retries > 0 {
		m.refuse("srun starts one job, once: use submit for an array or --retries")
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

// oneTask requests one task on one node. Every job of gpusched has this form.
func (m *mapping) oneTask() {
	m.add("nodes", "1")
	m.add("ntasks", "1")
}

// A mapping translates one request.
type mapping struct {
	site  Site
	r     job.Request
	label job.Label
	p     contract.Program
	mark  string

	singleton string // the dependency that is a lane of one with the job's name; "": none

	args    []string // arguments of sbatch or srun
	refused []string
	notes   []string
}

// newMapping validates a request and returns its mapping.
func newMapping(r api.SubmitRequest, s Site) (*mapping, error) {
	m := &mapping{site: s, r: r.Request, label: r.Label, p: r.Program.Contract()}
	if m.r.Lane.Name() == m.label.Name && m.r.Lane.Limit(false) == 1 {
		m.r.Lane, m.singleton = "", slurm.Singleton
	}
	if m.p.Container.Image != "" {
		return nil, &api.Error{Code: api.CodeNever, Message: "on Slurm: " + otherImage.text()}
	}
	if r.Program.Snapshot.Source != "" {
		return nil, &api.Error{Code: api.CodeNever, Message: "on Slurm: " + otherSnapshot.text()}
	}
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

// err returns one error about everything that was refused.
func (m *mapping) err() error {
	if len(m.refused) == 0 {
		return nil
	}
	return &api.Error{Code: api.CodeNever, Message: "on Slurm: " + strings.Join(m.refused, "; ")}
}
