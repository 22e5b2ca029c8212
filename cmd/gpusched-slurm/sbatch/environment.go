package sbatch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// Environ returns the part of the caller's environment that sbatch and srun need. The job gets this
// whole part (--export=ALL): with less, Slurm 22.05 would start a login shell for each job and wait
// for it. The job's own variables are in the script. Variables that are options of sbatch are not
// passed on: SBATCH_WAIT or SBATCH_ARRAY_INX would change the request.
func Environ(environ []string) []string {
	var list []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(passed, name) {
			list = append(list, kv)
		}
	}
	return list
}

// These are the variables that Environ keeps.
var passed = []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TZ", "SLURM_CONF"}

// An environment is the set of variables that the script adds to Slurm's variables.
type environment struct {
	names  []string
	values map[string]string
	front  string   // prefix for PATH, added after the modules are loaded
	late   []string // shell words that are expanded when the script runs
}

// environment returns the variables of the request,
// with its conda and virtual environments activated.
func (m *mapping) environment() *environment {
	e := &environment{values: map[string]string{}}
	inherit := m.p.EnvMode == contract.EnvInherit
	for _, kv := range m.p.Env {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case isForeign(name, inherit):
		case name == "PWD" && inherit:
			e.set(name, m.p.Dir)
		default:
			e.set(name, value)
		}
	}
	if m.p.EnvMode == contract.EnvClean {
		e.orSet("PATH", defaultPath)
		e.orSet("LANG", "C.UTF-8")
	}
	e.enter(&m.p.Setup, m.p.EnvMode == contract.EnvLogin)
	for _, v := range []struct{ name, word string }{
		{"PYTHONUNBUFFERED", "PYTHONUNBUFFERED=1"}, {"MASTER_ADDR", "MASTER_ADDR=127.0.0.1"},
		{"MASTER_PORT", `MASTER_PORT="$gs_port"`},
	} {
		if _, set := e.values[v.name]; !set {
			e.late = append(e.late, v.word)
		}
	}
	if e.values["PET_MASTER_PORT"] == "" && e.values["MASTER_PORT"] == "" {
		e.late = append(e.late, `PET_MASTER_PORT="$gs_port"`)
	}
	return e
}

// defaultPath is the PATH that systemd gives to services.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// isForeign reports whether a variable describes another job or a session.
func isForeign(name string, inherit bool) bool {
	switch name {
	case "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "GPUSCHED_ENGINE",
		"GPUSCHED_JOB_ID", "GPUSCHED_ATTEMPT", "GPUSCHED_ARRAY_JOB", "GPUSCHED_ARRAY_TASK", contract.TerminalVariable, contract.SandboxVariable:
		return true
	case "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_SESSION_ID", "XDG_SESSION_TYPE", "XDG_SESSION_CLASS",
		"XDG_SEAT", "XDG_VTNR", "SSH_TTY", "GPG_TTY":
		return inherit
	}
	for _, prefix := range []string{"SLURM_", "SLURMD_", "GPUSCHED_GPU_", "LISTEN_", "WATCHDOG_"} {
		if strings.HasPrefix(name, prefix) && name != "SLURM_CONF" {
			return true
		}
	}
	return name == "NOTIFY_SOCKET" || name == "INVOCATION_ID" || name == "JOURNAL_STREAM" || name == setupVariable
}

func (e *environment) set(name, value string) {
	if _, known := e.values[name]; !known {
		e.names = append(e.names, name)
	}
	e.values[name] = value
}

func (e *environment) orSet(name, value string) {
	if e.values[name] == "" {
		e.set(name, value)
	}
}

func (e *environment) drop(name string) {
	e.names = slices.DeleteFunc(e.names, func(n string) bool { return n == name })
	delete(e.values, name)
}

// arguments returns the environment as arguments of env.
func (e *environment) arguments() []string {
	var list []string
	for _, name := range e.names {
		list = append(list, quote(name+"="+e.values[name]))
	}
	return append(list, e.late...)
}

// enter activates a virtual environment and a conda environment, as their activate scripts would.
// If the job uses a login shell, PATH is known only to the script.
func (e *environment) enter(s *contract.Setup, login bool) {
	if s.Conda == "" && s.Venv == "" {
		return
	}
	e.deactivate("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT")
	if s.Venv != "" {
		e.drop("PYTHONHOME")
		e.set("VIRTUAL_ENV", s.Venv)
		e.front = s.Venv + "/bin:"
	}
	if s.Conda != "" {
		e.deactivate("CONDA_PREFIX", "CONDA_PROMPT_MODIFIER")
		e.front += s.Conda + "/bin:"
	}
	switch _, known := e.values["PATH"]; {
	case len(s.Modules) > 0:
	case login && !known:
		e.late = append(e.late, "PATH="+quote(e.front)+`"$PATH"`)
	default:
		e.orSet("PATH", defaultPath)
		e.set("PATH", e.front+e.values["PATH"])
	}
}

// deactivate leaves an environment. It removes the environment's programs from PATH, and the given
// variables. The first of these variables contains the environment's directory.
func (e *environment) deactivate(names ...string) {
	if old := e.values[names[0]]; old != "" {
		path := strings.Split(e.values["PATH"], ":")
		e.set("PATH", strings.Join(slices.DeleteFunc(path, func(dir string) bool { return dir == old+"/bin" }), ":"))
	}
	for _, name := range names {
		e.drop(name)
	}
}

// setConda sets conda's variables. The name of an environment depends on files that only the script
// can read.
func (e *environment) setConda(b *strings.Builder, prefix string) {
	if prefix == "" {
		return
	}
	for n := 1; e.values["CONDA_PREFIX_"+strconv.Itoa(n)] != ""; n++ {
		e.drop("CONDA_PREFIX_" + strconv.Itoa(n))
	}
	e.drop("CONDA_EXE")
	e.set("CONDA_PREFIX", prefix)
	e.set("CONDA_SHLVL", "1")
	e.drop("CONDA_DEFAULT_ENV")
	parent, name := filepath.Dir(prefix), filepath.Base(prefix)
	if filepath.Base(parent) == "envs" {
		e.set("CONDA_DEFAULT_ENV", name)
		e.set("CONDA_EXE", filepath.Dir(parent)+"/bin/conda")
		return
	}
	p := quote(prefix)
	fmt.Fprintf(b, "gs_name=%s gs_conda=\nif [ -e %s/condabin ]; then gs_name=base gs_conda=%s/bin/conda; fi\n", p, p, p)
	e.late = append(e.late, `CONDA_DEFAULT_ENV="$gs_name"`, `CONDA_EXE="$gs_conda"`)
}
