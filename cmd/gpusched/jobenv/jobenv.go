package jobenv

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// WorkDir is the directory the job runs in: the current one, or dir seen from
// there. $PWD is believed where it is the current directory, so that a path
// through a link stays as the user knows it.
func WorkDir(a *cli.App, dir string) (string, error) {
	if home := a.Getenv("HOME"); home != "" && (dir == "~" || strings.HasPrefix(dir, "~/")) { // no shell has seen to it
		dir = filepath.Join(home, dir[1:])
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	here := a.Getenv("PWD")
	if !filepath.IsAbs(here) || !SameDir(here, ".") {
		var err error
		if here, err = a.Getwd(); err != nil {
			return "", cli.Usagef("the current directory cannot be named: %v (choose one with --chdir)", err)
		}
	}
	return filepath.Join(here, dir), nil
}

func SameDir(a, b string) bool {
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

// Environ is what is sent along as environment: all of ours for inherit, and
// what was set with --set-env.
func Environ(mode contract.EnvMode, set, environ []string) []string {
	var env []string
	if mode == contract.EnvInherit {
		for _, entry := range environ {
			name, _, ok := strings.Cut(entry, "=")
			if ok && name != "" && !slices.Contains(ownVariables, name) && !IsSet(set, name) {
				env = append(env, entry)
			}
		}
	}
	return append(env, set...)
}

// SetVariables are the variables of --set-env as NAME=VALUE. A later one wins; one without a value gets its present
// one. One that is not set is refused, or left out, as Slurm does.
func SetVariables(set, environ []string, asSlurm bool) ([]string, error) {
	var out []string
	for _, entry := range set {
		name, _, hasValue := strings.Cut(entry, "=")
		if name == "" {
			return nil, cli.Usagef("%q is not a variable: use -e NAME=VALUE", entry)
		}
		if strings.ContainsFunc(name, unnamable) {
			return nil, cli.Usagef("%q can't be the name of a variable, as there is a space or a control character in it: "+
				"use -e NAME=VALUE, and -e again for each further one", name)
		}
		if !hasValue {
			i := slices.IndexFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			if i < 0 && asSlurm {
				continue
			}
			if i < 0 {
				return nil, cli.Usagef("variable %q is not set here: use -e %s=VALUE", name, name)
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

func IsSet(set []string, name string) bool {
	return slices.ContainsFunc(set, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// HintMemory says what is known of the GPU memory that earlier runs of the command took,
// and what became of --gpu-mem auto.
func HintMemory(a *cli.App, j api.Job) {
	if hint := memoryHint(j); hint != "" {
		a.Note("%s", hint)
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

// SearchPath is the environment in which the job's program is looked up: without PATH
// where only its set-up will know.
func SearchPath(req api.SubmitRequest) []string {
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

// InPath looks the program up in the PATH that the job will have.
func InPath(a *cli.App, program string, env []string) bool {
	for _, entry := range slices.Backward(env) {
		path, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			if Runnable(filepath.Join(dir, program)) {
				return true
			}
		}
		return false
	}
	return true // without PATH the launcher has its own
}

func Runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
