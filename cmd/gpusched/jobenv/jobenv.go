package client

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// workDir is the directory the job runs in: the current one, or dir seen from
// there. $PWD is believed where it is the current directory, so that a path
// through a link stays as the user knows it.
func (a *app) workDir(dir string) (string, error) {
	if home := a.getenv("HOME"); home != "" && (dir == "~" || strings.HasPrefix(dir, "~/")) { // no shell has seen to it
		dir = filepath.Join(home, dir[1:])
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	here := a.getenv("PWD")
	if !filepath.IsAbs(here) || !sameDir(here, ".") {
		var err error
		if here, err = a.getwd(); err != nil {
			return "", usagef("the current directory cannot be named: %v (choose one with --chdir)", err)
		}
	}
	return filepath.Join(here, dir), nil
}

func sameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// ownVariables tell a process about itself and its unit or job, so that they would be
// wrong in any other.
var ownVariables = []string{
	"INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "MAINPID", "MANAGERPID",
	"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "NOTIFY_SOCKET", "SYSTEMD_EXEC_PID",
	"WATCHDOG_PID", "WATCHDOG_USEC", "_", contract.TasksVariable, slurm.BindVariable, slurm.PerTaskVariable,
}

// jobEnv is what is sent along as environment: all of ours for inherit, and
// what was set with --set-env.
func jobEnv(mode contract.EnvMode, set, environ []string) []string {
	var env []string
	if mode == contract.EnvInherit {
		for _, entry := range environ {
			name, _, ok := strings.Cut(entry, "=")
			if ok && name != "" && !slices.Contains(ownVariables, name) && !isSet(set, name) {
				env = append(env, entry)
			}
		}
	}
	return append(env, set...)
}

// settings are the variables of --set-env as NAME=VALUE. A later one wins; one without a value gets its present
// one. One that is not set is refused, or left out, as Slurm does.
func settings(set, environ []string, asSlurm bool) ([]string, error) {
	var out []string
	for _, entry := range set {
		name, _, hasValue := strings.Cut(entry, "=")
		if name == "" {
			return nil, usagef("%q is not a variable: use -e NAME=VALUE", entry)
		}
		if strings.ContainsFunc(name, unnamable) {
			return nil, usagef("%q can't be the name of a variable, as there is a space or a control character in it: "+
				"use -e NAME=VALUE, and -e again for each further one", name)
		}
		if !hasValue {
			i := slices.IndexFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			if i < 0 && asSlurm {
				continue
			}
			if i < 0 {
				return nil, usagef("variable %q is not set here: use -e %s=VALUE", name, name)
			}
			entry = environ[i]
		}
		out = slices.DeleteFunc(out, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		out = append(out, entry)
	}
	return out, nil
}

// unnamable reports what no program can name a variable with. The kernel would take
// it, but shells drop such a variable.
func unnamable(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func isSet(set []string, name string) bool {
	return slices.ContainsFunc(set, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// hint warns about what will probably not work. The job is queued all the same:
// it may be made to work until it starts.
func (a *app) hint(req api.SubmitRequest) {
	if req.Array != nil {
		a.hintParams(req)
	}
	dir := string(req.Dir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		a.note("warning: there is no directory %q yet", dir)
	}
}

// hintParams warns of parameters that the command does not use.
func (a *app) hintParams(req api.SubmitRequest) {
	for _, name := range unused(req.Array.Params, req.Argv) {
		a.note("warning: the command does not say {%s}, so its values make no difference", name)
	}
}

// hintMisplaced warns of a number of GPUs behind the program, which is the program's, where
// no option stands before it and the job gets one GPU.
func (c *submitCmd) hintMisplaced(a *app) {
	if len(c.Command) < 2 || c.Command[0] == "--" || len(a.words) > len(c.Command)+1 {
		return
	}
	for i, word := range c.Command[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok && i+2 < len(c.Command) {
			value = c.Command[i+2]
		}
		n, err := job.ParseGPUs(value)
		if (name == "-g" || name == "--gpus") && err == nil && n != job.WholeGPU {
			a.note("warning: %s %s is for %s, and the job asks for 1 GPU: options of gpusched come before the command", name, value, c.Command[0])
			return
		}
	}
}

// asksNoGPU reports whether the job has no GPU because no option asks for one, as under other tools' names.
func (c *jobOptions) asksNoGPU(a *app) bool {
	return a.as.noGPU && c.Request.GPUMilli < 0 && len(c.Request.GPUIDs) == 0
}

// hintQueued says of a job that is queued what its user may not expect: that it has no GPU, and what only a time limit
// would bring about, where it has none, neither its own nor the site's. A preemptible job gets its signal also before
// it makes room for another.
func (a *app) hintQueued(c *jobOptions, j api.Job) {
	if c.asksNoGPU(a) {
		a.noteOnce("no GPU is asked for, so the job gets none (--gpus=1 asks for one)")
	}
	if j.TimeLimit > 0 {
		return
	}
	if c.Signal.signal > 0 && !j.Preemptible {
		a.note("warning: the job has no time limit, so --signal sends nothing (give it a --time)")
	}
	if c.Request.OnTimeout == job.TimeoutRequeue {
		a.note("warning: the job has no time limit, so --on-timeout makes no difference (give it a --time)")
	}
}

// hintMemory says what is known of the GPU memory that earlier runs of the command took,
// and what became of --gpu-mem auto.
func (a *app) hintMemory(j api.Job) {
	if hint := memoryHint(j); hint != "" {
		a.note("%s", hint)
	}
}

func memoryHint(j api.Job) string {
	known := "earlier runs of this command took up to " + job.FormatSize(j.GPUMemKnownBytes) + " of a GPU's memory: "
	switch {
	case j.GPUMilli == 0:
		return ""
	case j.GPUMemAuto && j.GPUMemBytes == 0 && j.GPUMemKnownBytes > 0:
		return known + "this machine's GPUs have none of their own, so none is asked for"
	case j.GPUMemAuto && j.GPUMemBytes == 0:
		return "no earlier run of this command is known, so no GPU memory is asked for it this time; what it takes is remembered"
	case j.GPUMemAuto:
		return known + "asked for " + job.FormatSize(j.GPUMemBytes)
	case j.GPUMemBytes == 0 && j.GPUMemKnownBytes > 0:
		return known + "--gpu-mem auto asks for that and some more, and with a part of a GPU, such as -g 0.5, others may use the rest"
	}
	return ""
}

// searched is the environment in which the job's program is looked up: without PATH
// where only its set-up will know.
func searched(req api.SubmitRequest) []string {
	s := req.Setup
	switch {
	case s.Command != "" || len(s.Modules) > 0:
		return nil
	case s.Conda == "" && s.Venv == "":
		return req.Env
	}
	path := s.Venv + "/bin:" + s.Conda + "/bin"
	for _, entry := range slices.Backward(req.Env) {
		if rest, ok := strings.CutPrefix(entry, "PATH="); ok {
			path += ":" + rest
			break
		}
	}
	return []string{"PATH=" + path}
}

// inPath looks the program up in the PATH that the job will have.
func (a *app) inPath(program string, env []string) bool {
	for _, entry := range slices.Backward(env) {
		path, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if runnable(filepath.Join(dir, program)) {
				return true
			}
		}
		return false
	}
	return true // without PATH the launcher has its own
}

func runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
