package slurmexec

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Time limits of Slurm's programs. Queries are answered quickly unless the controller is
// overloaded. A submission waits for the plugins of the site.
const (
	askTime    = 60 * time.Second
	submitTime = 120 * time.Second
)

// A Runner runs Slurm's programs as the user and asks only one
// cluster. New makes a Runner. It is safe for concurrent use.
type Runner struct {
	// Options are sbatch options for every job. Those from the environment come first.
	Options []string

	full         []string // the caller's environment
	neutral      []string // full, but without the variables that change the output of the programs
	otherCluster string   // variable that names another cluster, as NAME=VALUE
	name         *clusterName
}

// New returns a Runner for an environment. It runs nothing and returns no error. If a program is
// missing, the first call that needs the program returns the error.
func New(environ []string) Runner {
	r := Runner{full: environ, otherCluster: clusterOf(environ), name: &clusterName{}}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if i := slices.IndexFunc(jobVariables, func(v [2]string) bool { return v[0] == name }); i >= 0 && value != "" {
			r.Options = append(r.Options, jobVariables[i][1]+"="+value)
		}
		if !changesOutput(name) {
			r.neutral = append(r.neutral, line)
		}
	}
	return r
}

// jobVariables are the environment variables with the account, the partition and similar options of
// a user's jobs (sbatch(1), INPUT ENVIRONMENT VARIABLES), each with the option of sbatch that
// replaces it. The variables are not passed on, because some would also change the output of the
// programs.
var jobVariables = [][2]string{
	{"SBATCH_PARTITION", "--partition"}, {"SBATCH_ACCOUNT", "--account"}, {"SBATCH_QOS", "--qos"},
	{"SBATCH_RESERVATION", "--reservation"}, {"SBATCH_TIMELIMIT", "--time"}, {"SBATCH_CONSTRAINT", "--constraint"},
}

// Variable returns the value of an environment variable, or "".
func (r *Runner) Variable(name string) string { return engines.Variable(r.full, name) }

// Program returns a program with the caller's whole environment. The caller can exec it.
func (r *Runner) Program(name string, args ...string) (engines.Program, error) {
	path, err := r.Find(name)
	return engines.Program{Path: path, Argv: append([]string{name}, args...), Environ: slices.Clone(r.full)}, err
}

// changesOutput reports whether a variable changes the output or the default query of Slurm's
// programs, or describes the job in which the caller runs.
func changesOutput(name string) bool {
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

// Find returns the path of one of Slurm's programs. It
// skips a gpusched that has the name of that program.
func (r *Runner) Find(name string) (string, error) {
	var mine []os.FileInfo // gpusched, and the program that is running now
	program, _ := engines.Gpusched()
	for _, path := range []string{"/proc/self/exe", program} {
		if info, err := os.Stat(path); err == nil {
			mine = append(mine, info)
		}
	}
	for _, dir := range append(filepath.SplitList(r.Variable("PATH")), "/usr/bin", "/usr/local/bin", "/opt/slurm/bin") {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) {
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || isOurs(path) ||
			slices.ContainsFunc(mine, func(of os.FileInfo) bool { return os.SameFile(of, info) }) {
			continue
		}
		return path, nil
	}
	return "", engines.Refuse(api.CodeUnreachable, "install slurm-client, or ask the scheduler of this machine with --on local",
		"Slurm's program %s is not in PATH", name)
}

// isOurs reports whether a path leads to a gpusched program.
func isOurs(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	return err == nil && strings.HasPrefix(filepath.Base(real), "gpusched")
}

// environFor returns the environment for a program.
// sbatch gets only variables that the job may see.
func (r *Runner) environFor(name string) []string {
	if name == "sbatch" {
		return sbatch.Environ(r.full)
	}
	return append(slices.Clip(r.neutral), "LC_ALL=C", "SLURM_TIME_FORMAT=%s")
}

// Ask runs a program and returns its output. If the
// output is empty, Ask returns the standard error.
func (r *Runner) Ask(ctx context.Context, name string, args ...string) ([]byte, error) {
	if err := r.OneCluster(ctx); err != nil {
		return nil, err
	}
	return r.output(ctx, askTime, nil, name, args...)
}

// Sbatch runs sbatch with a job script and returns its output.
func (r *Runner) Sbatch(ctx context.Context, script []byte, args ...string) ([]byte, error) {
	if err := r.OneCluster(ctx); err != nil {
		return nil, err
	}
	return r.output(ctx, submitTime, script, "sbatch", args...)
}

// Read runs a program and writes its output to w as it arrives. It returns the program's standard
// error.
func (r *Runner) Read(ctx context.Context, w io.Writer, name string, args ...string) (talk string, err error) {
	if err := r.OneCluster(ctx); err != nil {
		return "", err
	}
	return r.stream(ctx, askTime, nil, w, name, args...)
}

// Config returns the cluster's settings, as 'scontrol show config' prints them.
func (r *Runner) Config(ctx context.Context) (map[string]string, error) {
	out, err := r.Ask(ctx, "scontrol", "show", "config")
	return Settings(string(out)), err
}

// output is like Ask, with a time limit and an input. It does not check which cluster answers.
func (r *Runner) output(
	ctx context.Context, limit time.Duration, stdin []byte, name string, args ...string,
) ([]byte, error) {
	var out bytes.Buffer
	talk, err := r.stream(ctx, limit, stdin, &out, name, args...)
	if out.Len() == 0 && err == nil {
		return []byte(talk), nil
	}
	return out.Bytes(), err
}

// stream runs a program and returns its standard error.
func (r *Runner) stream(
	ctx context.Context, limit time.Duration, stdin []byte, to io.Writer, name string, args ...string,
) (talk string, err error) {
	path, err := r.Find(name)
	if err != nil {
		return "", err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(limited, path, args...)
	var stderr bytes.Buffer
	answer := bounded{to: to, room: mostAnswer}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &answer, &bounded{to: &stderr, room: mostTalk}
	cmd.Env, cmd.WaitDelay = r.environFor(name), time.Second
	err = cmd.Run()
	switch {
	case answer.over:
		return "", engines.Refuse(api.CodeUnavailable, "ask for less, such as one user's jobs or a later --since",
			"Slurm's %s printed more than %s, which is too much to read", name, job.FormatSize(mostAnswer))
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", &api.Error{Code: api.CodeUnreachable, Message: fmt.Sprintf("Slurm's %s has not answered for %s", name, limit),
			Hint: "see 'scontrol ping'"}
	case err != nil:
		return stderr.String(), Refusal(name, stderr.String(), err)
	}
	return stderr.String(), refusedAll(name, stderr.String())
}

// The maximum output that is read from a program. A longer
// answer is an error. A longer standard error is cut off.
const (
	mostAnswer = 256 << 20
	mostTalk   = 1 << 20
)

// bounded passes on the beginning of what a program prints, and drops the rest.
type bounded struct {
	to   io.Writer
	room int  // number of bytes that it still passes on
	over bool // some bytes were dropped
}

// Write always accepts the whole text, so that the program can run to its end.
func (b *bounded) Write(text []byte) (int, error) {
	n := min(len(text), b.room)
	b.room -= n
	b.over = b.over || n < len(text)
	_, err := b.to.Write(text[:n])
	return len(text), err
}
