package launch

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// enter makes the environment that of the conda and the virtual environment of
// the set-up, as their own activate scripts would, but for the scripts that
// packages add (activateScripts). What the submitter had activated is left first.
// It returns what has to be in front of PATH, with a colon at its end, or "".
func (e *environment) enter(s *contract.Setup) (front string) {
	if s.Conda == "" && s.Venv == "" {
		return ""
	}
	e.leave("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT")
	if s.Venv != "" {
		e.unset("PYTHONHOME")
		e.set("VIRTUAL_ENV", s.Venv)
		front = s.Venv + "/bin:"
	}
	if s.Conda != "" {
		e.leave("CONDA_PREFIX", "CONDA_PROMPT_MODIFIER")
		e.enterConda(s.Conda)
		front += s.Conda + "/bin:"
	}
	return front
}

func (e *environment) enterConda(prefix string) {
	for n := 1; e.get("CONDA_PREFIX_"+strconv.Itoa(n)) != ""; n++ {
		e.unset("CONDA_PREFIX_" + strconv.Itoa(n))
	}
	name, root := condaName(prefix)
	e.set("CONDA_PREFIX", prefix)
	e.set("CONDA_DEFAULT_ENV", name)
	e.set("CONDA_SHLVL", "1")
	if conda := root + "/bin/conda"; root != "" && unix.Faccessat(unix.AT_FDCWD, conda, unix.X_OK, 0) == nil {
		e.set("CONDA_EXE", conda)
	}
}

// condaName is what conda calls the environment, and the installation it belongs
// to, or "": an environment in the directory "envs" of its installation goes by
// its name, the installation itself is base, and any other goes by its path.
func condaName(prefix string) (name, root string) {
	if parent, dir := filepath.Dir(prefix), filepath.Base(prefix); filepath.Base(parent) == "envs" {
		return dir, filepath.Dir(parent)
	}
	if unix.Faccessat(unix.AT_FDCWD, prefix+"/condabin", unix.F_OK, 0) == nil {
		return "base", prefix
	}
	return prefix, ""
}

// leave takes the programs of an environment that is active out of PATH, and the
// variables that speak of it, the first of which is its directory.
func (e *environment) leave(names ...string) {
	if old := e.get(names[0]); old != "" {
		path := strings.Split(e.get("PATH"), ":")
		e.set("PATH", strings.Join(slices.DeleteFunc(path, func(dir string) bool { return dir == old+"/bin" }), ":"))
	}
	for _, name := range names {
		e.unset(name)
	}
}

// activateScripts reports whether packages of a conda environment have scripts
// that belong to its activation.
func activateScripts(prefix string, list func(dir string) ([]string, error)) bool {
	names, err := list(prefix + activateDir)
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sh") })
}

const activateDir = "/etc/conda/activate.d"
