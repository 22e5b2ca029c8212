package onslurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// How long a program of Slurm's may take: to read, which is quick unless the controller is overloaded, and
// to submit, which waits for plugins of the site.
const (
	readTime   = 60 * time.Second
	submitTime = 120 * time.Second
)

// separator is the unit separator of ASCII; see parting.
const separator = "\x1f"

// Engine is Slurm as one user sees it. Make one with New. It may be used by several goroutines.
type Engine struct {
	full    []string // the environment
	environ []string // the same without what changes the form of an answer
	path    string   // where programs are looked for
	uid     int
	note    func(string)
	options []string // of sbatch and srun

	// Names is what the numbers of jobs are to stand behind, as in slurm:12 (api.Job.Engine); "" is nothing.
	Names string

	meant      []int    // the GPUs that an administrator acts on
	controlled []string // the nodes of which that has been asked

	otherCluster string // the variable that names one
	name         *clusterName
}

// clusterName is that of the cluster, where it has been asked.
type clusterName struct {
	sync.Mutex
	text string
}

// New returns the Slurm that an environment leads to, for the user uid. It runs nothing, and finds no
// fault; what is missing is said by the first call that needs it. Note is told, in sentences, which wishes of
// a request mean something else there.
func New(environ []string, uid int, note func(string)) *Engine {
	e := &Engine{full: environ, uid: uid, note: note, otherCluster: clusterOf(environ), name: &clusterName{}}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if name == "PATH" {
			e.path = value
		}
		if i := slices.IndexFunc(wishes, func(w [2]string) bool { return w[0] == name }); i >= 0 && value != "" {
			e.options = append(e.options, wishes[i][1]+"="+value)
		}
		if !shapes(name) {
			e.environ = append(e.environ, line)
		}
	}
	return e
}

// Other is New for the command line; names are those of Engine.Names.
func Other(environ []string, uid int, names string, note func(string)) engines.Other {
	e := New(environ, uid, note)
	e.Names = names
	return e
}

// With is the engine for jobs that have further options, which only Slurm has a meaning for, as from the lines of
// their script. The engine itself makes jobs without them.
func (e *Engine) With(options ...string) engines.Other {
	with := *e
	with.options = slices.Concat(e.options, options)
	return &with
}

// shapes reports whether a variable changes what Slurm's programs print or ask by default, or belongs to
// the job that the caller is in.
func shapes(name string) bool {
	if name == "SLURM_CONF" || name == "SLURM_JWT" {
		return false
	}
	for _, prefix := range []string{
		"SLURM_", "SLURMD_", "SBATCH_", "SQUEUE_", "SINFO_", "SACCT_", "SCANCEL_", "SCONTROL_", "SRUN_", "SALLOC_", "SATTACH_",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "LC_ALL" || name == "LANG" || name == "LC_TIME"
}

// find returns the path of a program of Slurm's. One that is gpusched under another's name is passed over.
func (e *Engine) find(name string) (string, error) {
	var mine []os.FileInfo // gpusched, and what it has become
	program, _ := engines.Gpusched()
	for _, path := range []string{"/proc/self/exe", program} {
		if info, err := os.Stat(path); err == nil {
			mine = append(mine, info)
		}
	}
	for _, dir := range append(filepath.SplitList(e.path), "/usr/bin", "/usr/local/bin", "/opt/slurm/bin") {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || ours(path) ||
			slices.ContainsFunc(mine, func(of os.FileInfo) bool { return os.SameFile(of, info) }) {
			continue
		}
		return path, nil
	}
	return "", engines.Refuse(api.CodeUnreachable, "install slurm-client, or ask the scheduler of this machine with --on local",
		"%s, a program of Slurm, is not in PATH", name)
}

// ours reports whether a path leads to gpusched.
func ours(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && strings.HasPrefix(filepath.Base(real), "gpusched")
}

// environFor is that of a program: of those that make jobs nothing may be in it that is not for the job.
func (e *Engine) environFor(name string) []string {
	if name == "sbatch" {
		return sbatch.Environ(e.full)
	}
	return e.neutral()
}

// neutral is the environment of a program whose answer is read.
func (e *Engine) neutral() []string {
	return append(slices.Clip(e.environ), "LC_ALL=C", "SLURM_TIME_FORMAT=%s")
}

// ask runs a program and returns what it printed.
func (e *Engine) ask(ctx context.Context, name string, args ...string) ([]byte, error) {
	return e.run(ctx, readTime, nil, name, args...)
}

// run is ask with what the program reads and how long it may take. What one printed that has talk alone is
// the talk.
func (e *Engine) run(
	ctx context.Context, most time.Duration, stdin []byte, name string, args ...string,
) ([]byte, error) {
	if err := e.thisCluster(ctx); err != nil {
		return nil, err
	}
	return e.execute(ctx, most, stdin, name, args...)
}

// execute is run for whichever cluster it is.
func (e *Engine) execute(
	ctx context.Context, most time.Duration, stdin []byte, name string, args ...string,
) ([]byte, error) {
	out := kept{most: mostAnswer}
	talk, err := e.stream(ctx, most, stdin, &out, name, args...)
	if out.text.Len() == 0 && err == nil {
		return []byte(talk), nil
	}
	return out.text.Bytes(), err
}

// read is run for an answer that is read while it is printed. It returns what the program said besides.
func (e *Engine) read(
	ctx context.Context, most time.Duration, stdin []byte, to reader, name string, args ...string,
) (talk string, err error) {
	if err := e.thisCluster(ctx); err != nil {
		return "", err
	}
	return e.stream(ctx, most, stdin, to, name, args...)
}

// reader takes what a program prints. Its Write fails never, so that the program ends by itself; full reports
// whether it was more than is read.
type reader interface {
	io.Writer
	full() bool
}

// stream runs a program, with what it prints told while it does.
func (e *Engine) stream(
	ctx context.Context, most time.Duration, stdin []byte, to reader, name string, args ...string,
) (talk string, err error) {
	path, err := e.find(name)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(limited, path, args...)
	stderr := kept{most: mostTalk}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), to, &stderr
	cmd.Env, cmd.WaitDelay = e.environFor(name), time.Second
	err = cmd.Run()
	switch {
	case to.full():
		return "", engines.Refuse(api.CodeUnavailable, "ask for less, such as one user's jobs or a later --since",
			"Slurm's %s printed more than %s, which is too much to read", name, job.FormatSize(mostAnswer))
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", &api.Error{Code: api.CodeUnreachable, Message: fmt.Sprintf("Slurm's %s has not answered for %s", name, most),
			Hint: "see 'scontrol ping'"}
	case err != nil:
		return stderr.text.String(), e.refusal(name, stderr.text.String(), err)
	}
	return stderr.text.String(), refusedAll(name, stderr.text.String())
}

// How much of what a program prints is kept: an answer, which is an error where it is longer, and talk, of
// which the beginning counts.
const (
	mostAnswer = 256 << 20
	mostTalk   = 1 << 20
)

// kept is what a program has printed, up to a length.
type kept struct {
	text bytes.Buffer // no method of which is kept's: exec would read into it past Write
	most int
	over bool
}

func (k *kept) full() bool { return k.over }

// Write keeps what there is room for. It takes all of it, so that the program ends by itself.
func (k *kept) Write(text []byte) (int, error) {
	room := k.most - k.text.Len()
	k.over = k.over || len(text) > room
	k.text.Write(text[:min(len(text), room)])
	return len(text), nil
}

// refusal is what a program said when it failed.
func (e *Engine) refusal(name, said string, err error) error {
	text := saidBy(name, said)
	if text == "" {
		text = err.Error()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Success() {
			return nil
		}
	}
	r := &api.Error{Code: codeOf(text), Message: "Slurm's " + name + ": " + text}
	if r.Code == api.CodeForbidden {
		r.Hint = "operators and administrators of Slurm's may do it"
	}
	if r.Code == api.CodeNever {
		r.Message = "can never start: no node has what it asks (Slurm's " + name + ": " + text + ")"
		r.Hint = "see 'gpusched gpus', and 'sinfo -o \"%N %c %m %G %f\"' for what the nodes have"
	}
	if name == "sbatch" && r.Code == api.CodeNotFound {
		r.Code = api.CodeUsage // of a job that another one names
	}
	if r.Code == api.CodeUnreachable {
		r.Hint = "see 'scontrol ping'; --on local asks the scheduler of this machine"
	}
	if errors.Is(err, syscall.E2BIG) {
		r.Code, r.Message = api.CodeUsage, "the request is too long to be passed to Slurm's "+name
	}
	return r
}

// refusedAll is an error of a program that says so and ends as if all were well, as scancel does.
func refusedAll(name, said string) error {
	if name != "scancel" || !strings.Contains(said, "error:") {
		return nil
	}
	text := saidBy(name, said)
	return &api.Error{Code: codeOf(text), Message: "Slurm's scancel: " + text}
}

// saidBy is the sentence of an error, without the program's name, its lines in one.
func saidBy(name, said string) string {
	var parts []string
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		line = strings.TrimPrefix(line, name+": ")
		line = strings.TrimPrefix(line, "error: ")
		line = strings.TrimPrefix(line, "Batch job submission failed: ")
		if call, rest, ok := strings.Cut(line, " error: "); ok && !strings.Contains(call, " ") { // slurm_load_jobs error:
			line = rest
		}
		said := func(part string) bool { return strings.HasPrefix(part, line) }
		if line != "" && !slices.ContainsFunc(parts, said) {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// sentences are parts of what Slurm says (slurm_strerror), each with what kind of error it is. The first
// that is found counts.
var sentences = []struct {
	text string
	code api.Code
}{
	{"Invalid job id", api.CodeNotFound},
	{"Invalid job array specification", api.CodeNotFound},
	{"Access/permission denied", api.CodeForbidden},
	{"Invalid user id", api.CodeForbidden},
	{"already finished", api.CodeConflict},
	{"already completing", api.CodeConflict},
	{"no longer pending", api.CodeConflict},
	{"Job is pending execution", api.CodeConflict},
	{"not in expected state", api.CodeConflict},
	{"Requested operation is presently disabled", api.CodeConflict},
	{"Requested node configuration is not available", api.CodeNever},
	{"Memory specification can not be satisfied", api.CodeNever},
	{"More processors requested than permitted", api.CodeNever},
	{"Invalid generic resource (gres) specification", api.CodeNever},
	{"Invalid feature specification", api.CodeNever},
	{"Node count specification invalid", api.CodeNever},
	{"Unable to contact slurm controller", api.CodeUnreachable},
	{"Connection refused", api.CodeUnreachable},
	{"Socket timed out", api.CodeUnreachable},
	{"Zero Bytes were transmitted", api.CodeUnreachable},
	{"Unable to process configuration file", api.CodeUnreachable},
	{"Could not establish a configuration source", api.CodeUnreachable},
	{"Could not resolve hostname", api.CodeUnreachable},
	{"authentication", api.CodeUnreachable},
	{"munge", api.CodeUnreachable},
	{"Resource temporarily unavailable", api.CodeUnavailable},
	{"controller in standby", api.CodeUnavailable},
	{"Job violates accounting/QOS policy", api.CodePolicy},
	{"limit", api.CodePolicy},
	{"Invalid account", api.CodePolicy},
	{"Job dependency problem", api.CodeUsage},
	{"Invalid qos", api.CodePolicy},
	{"not permitted", api.CodePolicy},
	{"unrecognized option", api.CodeUsage},
	{"Invalid", api.CodeUsage},
	{"invalid", api.CodeUsage},
}

func codeOf(text string) api.Code {
	for _, s := range sentences {
		if strings.Contains(text, s.text) {
			return s.code
		}
	}
	return api.CodeInternal
}
