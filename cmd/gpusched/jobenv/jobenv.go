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

// WorkDir returns the job's working directory: the argument dir, which may be relative to the
// current directory. If $PWD is the current directory, the result begins with $PWD, so that a path
// through a link looks as the user knows it.
func WorkDir(a *cli.App, dir string) (string, error) {
	if home := a.Getenv("HOME"); home != "" && (dir == "~" || strings.HasPrefix(dir, "~/")) { // no shell replaced the ~
		dir = filepath.Join(home, dir[1:])
	}
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	here := a.Getenv("PWD")
	if !filepath.IsAbs(here) || !SameDir(here, ".") {
		var err error
		if here, err = a.Getwd(); err != nil {
			return "", cli.Usagef("the current directory can't be found: %v (choose one with --chdir)", err)
		}
	}
	return filepath.Join(here, dir), nil
}

func SameDir(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// ownVariables describe this process and its own unit or job. In another job they would be wrong.
var ownVariables = []string{
	"INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "MAINPID", "MANAGERPID",
	"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE", "NOTIFY_SOCKET", "SYSTEMD_EXEC_PID",
	"WATCHDOG_PID", "WATCHDOG_USEC", "_", contract.TasksVariable, slurm.BindVariable, slurm.PerTaskVariable,
}

// Environ returns the environment that is sent with the job. If the mode is contract.EnvInherit,
// the result begins with the caller's environment. The variables of --set-env follow.
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

// SetVariables returns the variables of --set-env as NAME=VALUE. If a name occurs twice, the later
// value counts. A name without a value gets the variable's current value. If there is no such
// variable, SetVariables returns an error or, if asSlurm is true, leaves the name out.
func SetVariables(set, environ []string, asSlurm bool) ([]string, error) {
	var out []string
	for _, entry := range set {
		name, _, hasValue := strings.Cut(entry, "=")
		if name == "" {
			return nil, cli.Usagef("%q is not a variable: use -e NAME=VALUE", entry)
		}
		if strings.ContainsFunc(name, isUnnamable) {
			return nil, cli.Usagef("%q is not a variable's name, since it contains a space or a control character: "+
				"use -e NAME=VALUE, once for each variable", name)
		}
		if !hasValue {
			i := slices.IndexFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			if i < 0 && asSlurm {
				continue
			}
			if i < 0 && strings.ContainsAny(name, "./") {
				return nil, cli.Usagef("-e sets a variable, and %q is not the name of one: for the output and errors in a file, use --log %s", name, name)
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

// isUnnamable reports whether a variable's name can't contain this character. The kernel accepts
// such names, but shells drop the variables.
func isUnnamable(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func IsSet(set []string, name string) bool {
	return slices.ContainsFunc(set, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// HintMemory prints the GPU memory that earlier runs used, and the effect of --gpu-mem auto.
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
		return "no earlier run of this command is known, so this run asks for no GPU memory; its use is recorded for the next"
	case j.GPUMemAuto:
		return known + "asked for " + job.FormatSize(j.GPUMemBytes)
	case j.GPUMemBytes == 0 && j.GPUMemKnownBytes > 0:
		return known + "--gpu-mem auto asks for a little more than that, and with a part of a GPU, such as -g 0.5, other jobs may use the rest"
	}
	return ""
}

// SearchPath returns the environment that has the PATH in which the job's program is looked up. It
// returns nil if a set-up that runs later can change the PATH.
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

// InPath reports whether a program is in the PATH of this environment.
func InPath(program string, env []string) bool {
	for _, entry := range slices.Backward(env) {
		path, ok := strings.CutPrefix(entry, "PATH=")
		if !ok {
			continue
		}
		return slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
			return Runnable(filepath.Join(dir, program))
		})
	}
	return true // without a PATH, the launcher uses a default
}

func Runnable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
