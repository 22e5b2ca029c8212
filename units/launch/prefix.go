package launch

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// enter activates the conda and virtual environment of the set-up as their own scripts would. It
// does not run the scripts that packages add (activateScripts). First it deactivates what the
// submitter had activated. The result front goes in front of PATH and ends with a colon, or is "".
func (e *environment) enter(s *contract.Setup) (front string) {
	if s.Conda == "" && s.Venv == "" {
		return ""
	}
	e.deactivate("VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT")
	if s.Venv != "" {
		e.remove("PYTHONHOME")
		e.set("VIRTUAL_ENV", s.Venv)
		front = s.Venv + "/bin:"
	}
	if s.Conda != "" {
		e.deactivate("CONDA_PREFIX", "CONDA_PROMPT_MODIFIER")
		e.enterConda(s.Conda)
		front += s.Conda + "/bin:"
	}
	return front
}

func (e *environment) enterConda(prefix string) {
	for n := 1; e.get("CONDA_PREFIX_"+strconv.Itoa(n)) != ""; n++ {
		e.remove("CONDA_PREFIX_" + strconv.Itoa(n))
	}
	name, root := condaName(prefix)
	e.set("CONDA_PREFIX", prefix)
	e.set("CONDA_DEFAULT_ENV", name)
	e.set("CONDA_SHLVL", "1")
	if conda := root + "/bin/conda"; root != "" && unix.Faccessat(unix.AT_FDCWD, conda, unix.X_OK, 0) == nil {
		e.set("CONDA_EXE", conda)
	}
}

// condaName returns conda's name of an environment and the installation that the environment
// belongs to, or "". An environment in the directory "envs" of its installation is named after its
// own directory. The installation itself is named base, and any other environment has its path as
// its name.
func condaName(prefix string) (name, root string) {
	if parent, dir := filepath.Dir(prefix), filepath.Base(prefix); filepath.Base(parent) == "envs" {
		return dir, filepath.Dir(parent)
	}
	if unix.Faccessat(unix.AT_FDCWD, prefix+"/condabin", unix.F_OK, 0) == nil {
		return "base", prefix
	}
	return prefix, ""
}

// deactivate deactivates an environment: it removes the environment's programs from PATH, and
// unsets the named variables. The first of these variables has the directory of the environment.
func (e *environment) deactivate(names ...string) {
	if old := e.get(names[0]); old != "" {
		path := strings.Split(e.get("PATH"), ":")
		e.set("PATH", strings.Join(slices.DeleteFunc(path, func(dir string) bool { return dir == old+"/bin" }), ":"))
	}
	for _, name := range names {
		e.remove(name)
	}
}

// activateScripts reports whether packages of a conda environment have scripts that its activation
// runs.
func activateScripts(prefix string, list func(dir string) ([]string, error)) bool {
	names, err := list(prefix + activateDir)
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, ".sh") })
}

const activateDir = "/etc/conda/activate.d"
