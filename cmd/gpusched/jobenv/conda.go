package jobenv

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// conda returns the directory of a conda environment, given by its name or path. The empty name
// means the environment base.
func (at Surroundings) conda(typed string) (string, error) {
	if strings.Contains(typed, "/") {
		prefix := at.absolute(typed)
		if fault := condaFault(prefix); fault != "" && !at.force {
			return "", cli.Refuse(api.CodeUsage, at.otherEnvs(""), "the conda environment %q %s", typed, fault)
		}
		return prefix, nil
	}
	name := typed
	if name == "" {
		name = "base"
	}
	envs := at.CondaEnvs()
	if len(envs) == 0 {
		return "", cli.Refuse(api.CodeUsage, "name the environment's directory: --conda PATH",
			"no conda installation was found through CONDA_EXE, PATH, ~/.conda/environments.txt or in the usual places")
	}
	for _, e := range envs {
		if e.Name == name {
			if fault := condaFault(e.Prefix); fault != "" {
				return "", cli.Refuse(api.CodeUsage, at.otherEnvs(e.Prefix), "the conda environment %q (%s) %s", name, e.Prefix, fault)
			}
			return e.Prefix, nil
		}
	}
	hint := at.otherEnvs("")
	if near := job.Nearest(name, job.Each(envs, func(e CondaEnv) string { return e.Name })); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return "", cli.Refuse(api.CodeUsage, hint, "there is no conda environment %q", name)
}

// condaFault returns why a directory is not a usable conda environment. The text is meant to follow
// the directory's name.
func condaFault(prefix string) string {
	if fault := NotDir(prefix); fault != "" {
		return fault
	}
	switch {
	case IsThere(prefix, "conda-meta"):
		return ""
	case IsThere(prefix, "pyvenv.cfg"):
		return "is a Python virtual environment: use --venv"
	}
	return "has no conda-meta directory, so it is not a conda environment"
}

// CondaEnv is a conda environment: its name and its directory.
type CondaEnv struct{ Name, Prefix string }

// otherEnvs lists the usable environments, without the one that has this directory.
func (at Surroundings) otherEnvs(but string) string {
	var names []string
	for _, e := range at.CondaEnvs() {
		if e.Prefix != but && condaFault(e.Prefix) == "" && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	if len(names) == 0 {
		return "no other was found"
	}
	return "there is " + FirstOf(names)
}

// CondaEnvs lists the environments. conda searches them for a name in the same order.
func (at Surroundings) CondaEnvs() []CondaEnv {
	var list []CondaEnv
	add := func(name, prefix string) {
		if !slices.ContainsFunc(list, func(e CondaEnv) bool { return e.Prefix == prefix }) {
			list = append(list, CondaEnv{name, prefix})
		}
	}
	roots := at.condaRoots()
	for _, root := range roots {
		add("base", root)
	}
	dirs := filepath.SplitList(at.Getenv("CONDA_ENVS_PATH"))
	dirs = append(dirs, filepath.SplitList(at.Getenv("CONDA_ENVS_DIRS"))...)
	for _, root := range roots {
		dirs = append(dirs, filepath.Join(root, "envs"))
	}
	for _, dir := range append(dirs, filepath.Join(at.Getenv("HOME"), ".conda/envs")) {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if prefix := filepath.Join(dir, e.Name()); !strings.HasPrefix(e.Name(), ".") && IsThere(prefix, "conda-meta") {
				add(e.Name(), prefix)
			}
		}
	}
	for _, prefix := range at.knownToConda() {
		add(filepath.Base(prefix), prefix)
	}
	return list
}

// condaRoots returns the directories of the conda installations, the user's current one first.
func (at Surroundings) condaRoots() []string {
	var list []string
	add := func(root string) {
		if filepath.IsAbs(root) && !slices.Contains(list, root) && IsThere(root, "conda-meta") {
			list = append(list, root)
		}
	}
	for _, exe := range []string{at.Getenv("CONDA_EXE"), at.inPath("conda"), at.inPath("mamba")} {
		if exe == "" {
			continue
		}
		add(filepath.Dir(filepath.Dir(exe)))
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			add(filepath.Dir(filepath.Dir(real)))
		}
	}
	add(at.Getenv("MAMBA_ROOT_PREFIX"))
	for _, prefix := range at.knownToConda() {
		if parent := filepath.Dir(prefix); filepath.Base(parent) == "envs" {
			add(filepath.Dir(parent))
		} else if IsThere(prefix, "condabin") {
			add(prefix)
		}
	}
	for _, name := range []string{"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"} {
		add(filepath.Join(at.Getenv("HOME"), name))
	}
	for _, root := range []string{"/opt/conda", "/opt/miniconda3", "/opt/anaconda3", "/opt/miniforge3"} {
		add(root)
	}
	return list
}

// knownToConda reads the list of the user's environments that conda keeps.
func (at Surroundings) knownToConda() []string {
	text, _ := ReadAtMost(filepath.Join(at.Getenv("HOME"), ".conda/environments.txt"), 1<<20)
	var list []string
	for line := range strings.Lines(string(text)) {
		if prefix := filepath.Clean(strings.TrimSpace(line)); filepath.IsAbs(prefix) && IsThere(prefix, "conda-meta") {
			list = append(list, prefix)
		}
	}
	return list
}

// inPath looks up a program in the caller's PATH.
func (at Surroundings) inPath(program string) string {
	for _, dir := range filepath.SplitList(at.Getenv("PATH")) {
		if path := filepath.Join(dir, program); filepath.IsAbs(dir) && Runnable(path) {
			return path
		}
	}
	return ""
}

// unsetByConda is the value that conda gives to variables that an environment unsets.
const unsetByConda = "***unset***"

// condaVars returns the variables of a conda environment as NAME=VALUE, sorted by name. Users set
// such variables with 'conda env config vars set', and packages set some, too.
func condaVars(prefix string) []string {
	vars := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(prefix, "etc/conda/env_vars.d/*.json"))
	for _, file := range files {
		text, _ := ReadAtMost(file, 1<<20)
		_ = json.Unmarshal(text, &vars) // if a package's file is damaged, conda itself reports it
	}
	var state struct {
		Vars map[string]string `json:"env_vars"`
	}
	text, _ := ReadAtMost(filepath.Join(prefix, "conda-meta/state"), 1<<20)
	_ = json.Unmarshal(text, &state)
	for name, value := range state.Vars {
		vars[strings.ToUpper(name)] = value
	}
	var list []string
	for name, value := range vars {
		if name != "" && !strings.ContainsAny(name, "=\x00") && !strings.Contains(value, "\x00") && value != unsetByConda {
			list = append(list, name+"="+value)
		}
	}
	slices.Sort(list)
	return list
}
