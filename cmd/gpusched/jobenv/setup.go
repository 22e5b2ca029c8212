package jobenv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// SetupOptions say what runs in the job's unit before the job's command.
type SetupOptions struct {
	Conda   *string  `name:"conda" placeholder:"ENV" group:"around"`
	Venv    *string  `name:"venv" placeholder:"DIR" group:"around"`
	Modules []string `name:"modules" placeholder:"NAMES" group:"around"`
	Setup   string   `name:"setup" placeholder:"CMD" group:"around"`
	CUDAArg bool     `name:"cuda-arg" group:"around"`
	Compat  string   `name:"compat" placeholder:"WHOSE" enum:",slurm" default:"" group:"around"`
}

// Surroundings are the places that are searched for the parts of a set-up. If the field force is
// true, missing files are accepted.
type Surroundings struct {
	Dir    string
	Getenv func(string) string
	force  bool
}

// SetUp finds what the options name. If something is missing, the error lists what exists. The
// second result has the variables of the conda environment.
func (o *SetupOptions) SetUp(a *cli.App, dir string, force bool) (s contract.Setup, vars []string, err error) {
	at := Surroundings{dir, a.Getenv, force}
	s = contract.Setup{Modules: o.Modules, Command: o.Setup, CUDAArg: o.CUDAArg, Compat: o.Compat}
	if o.Conda != nil {
		if s.Conda, err = at.conda(*o.Conda); err != nil {
			return s, nil, err
		}
		vars = condaVars(s.Conda)
	}
	if o.Venv != nil {
		if s.Venv, err = at.venv(*o.Venv); err != nil {
			return s, nil, err
		}
	}
	if len(s.Modules) > 0 && !force {
		if err := at.checkModules(a, s.Modules); err != nil {
			return s, nil, err
		}
	}
	s.Command = at.withConda(s.Command)
	for _, path := range []string{s.Conda, s.Venv} {
		if !utf8.ValidString(path) || strings.Contains(path, ":") {
			return s, nil, cli.Refuse(api.CodeUsage, "move it, or make a link to it", "%q can't be in PATH: it contains a colon, or is not UTF-8", path)
		}
	}
	return s, vars, nil
}

// WithVars puts the variables of a set-up before the variables of --set-env, so that --set-env
// overrides the set-up.
func WithVars(vars, set []string) []string {
	own := slices.DeleteFunc(slices.Clone(vars), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return IsSet(set, name)
	})
	return append(own, set...)
}

// absolute returns the absolute form of a path relative to the job's directory. It replaces ~/.
func (at Surroundings) absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && at.Getenv("HOME") != "" {
		return filepath.Join(at.Getenv("HOME"), rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(at.Dir, path)
}

// NotDir returns why a path is not a usable directory, or "". The text is meant to follow the path.
func NotDir(path string) (fault string) {
	info, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return "is not there"
	case err != nil:
		if os.IsPermission(err) {
			return "can't be looked at: permission denied"
		}
		return "can't be looked at: " + err.Error()
	case !info.IsDir():
		return "is not a directory"
	}
	dir, err := os.Open(path) // os.ReadDir would read all names in the directory
	if err != nil {
		return "can't be read: permission denied"
	}
	dir.Close()
	return ""
}

func IsThere(parts ...string) bool {
	_, err := os.Stat(filepath.Join(parts...))
	return err == nil
}

// venv returns the directory of a usable virtual environment.
func (at Surroundings) venv(typed string) (string, error) {
	no := func(format string, args ...any) (string, error) {
		return "", cli.Refuse(api.CodeUsage, at.otherVenvs(), "the virtual environment %q "+format, append([]any{typed}, args...)...)
	}
	if typed == "" {
		return no("has no name")
	}
	dir := at.absolute(typed)
	if at.force {
		return dir, nil
	}
	if fault := NotDir(dir); fault != "" {
		if up := filepath.Dir(filepath.Dir(dir)); filepath.Base(filepath.Dir(dir)) == "bin" && IsThere(up, "pyvenv.cfg") {
			return no("is a file in an environment: name the environment's directory, %q", up)
		}
		return no("%s", fault)
	}
	python := filepath.Join(dir, "bin/python")
	switch {
	case IsThere(dir, "conda-meta"):
		return no("is a conda environment: use --conda %s", dir)
	case !IsThere(dir, "pyvenv.cfg") && !IsThere(dir, "bin/activate"):
		return no("is a directory, but not one made by 'python3 -m venv' or the like")
	case Runnable(python):
		return dir, nil
	}
	if target, err := os.Readlink(python); err == nil {
		return no("has lost its interpreter: bin/python points to %q; make the environment again", target)
	}
	return no("has no interpreter: there is no program bin/python in it")
}

// maxListed is the largest number of environments that an error lists.
const maxListed = 12

// otherVenvs lists virtual environments near the job's directory and in the home directory.
func (at Surroundings) otherVenvs() string {
	home := at.Getenv("HOME")
	var found []string
	for _, pattern := range []string{
		at.Dir + "/pyvenv.cfg", at.Dir + "/*/pyvenv.cfg", at.Dir + "/.*/pyvenv.cfg", filepath.Dir(at.Dir) + "/*/pyvenv.cfg",
		at.Getenv("WORKON_HOME") + "/*/pyvenv.cfg", home + "/.virtualenvs/*/pyvenv.cfg", home + "/.venvs/*/pyvenv.cfg", home + "/*/pyvenv.cfg",
	} {
		list, _ := filepath.Glob(pattern)
		for _, file := range list {
			if dir := filepath.Dir(file); !slices.Contains(found, dir) && Runnable(dir+"/bin/python") {
				found = append(found, dir)
			}
		}
	}
	if len(found) == 0 {
		return "python3 -m venv DIR makes one"
	}
	return "there is " + FirstOf(found)
}

// FirstOf joins the first maxListed names and says how many more there are.
func FirstOf(list []string) string {
	more := ""
	if n := len(list) - maxListed; n > 0 {
		list, more = list[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(list, ", ") + more
}

// checkModules returns an error if no module system is installed. It prints a warning if the first
// module is not in MODULEPATH. It does not check the other modules, since the first module may make
// them available.
func (at Surroundings) checkModules(a *cli.App, names []string) error {
	inits := contract.ModuleInits(at.Getenv("MODULESHOME"), "bash")
	if !slices.ContainsFunc(inits, func(file string) bool { return IsThere(file) }) {
		return cli.Refuse(api.CodeUsage, "leave --modules out, or load what is needed with --setup",
			"neither Environment Modules nor Lmod is installed on this machine")
	}
	path := at.Getenv("MODULEPATH")
	if first := names[0]; path != "" && !slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		return IsThere(dir, first) || IsThere(dir, first+".lua")
	}) && !strings.Contains(first, "/") {
		a.Note("warning: MODULEPATH has no module %q (see 'module avail')", first)
	}
	return nil
}

// condaShell finds the first conda command that needs a prepared shell, such as 'conda activate'.
// It returns the command's program, or "".
func condaShell(command string) string {
	begins := func(r rune) bool { return strings.ContainsRune(" \t\n\f\r;&|(", r) }
	blank := func(r rune) bool { return strings.ContainsRune(" \t\n\f\r", r) }
	for at := 0; at < len(command); at++ {
		if at > 0 && !begins(rune(command[at-1])) {
			continue
		}
		for _, program := range []string{"conda", "mamba"} {
			rest, ok := strings.CutPrefix(command[at:], program)
			verb := strings.TrimLeftFunc(rest, blank)
			if !ok || verb == rest {
				continue
			}
			verb = verb[:len(verb)-len(strings.TrimLeftFunc(verb, wordRune))]
			if verb == "activate" || verb == "deactivate" {
				return program
			}
		}
	}
	return ""
}

func wordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// withConda puts the initialization of conda before a set-up that needs it. The job's shell has not
// run what 'conda init' adds to the start-up files.
func (at Surroundings) withConda(command string) string {
	program := condaShell(command)
	if program == "" {
		return command
	}
	for _, root := range at.condaRoots() {
		if file := filepath.Join(root, "etc/profile.d", program+".sh"); IsThere(file) && utf8.ValidString(file) {
			return ". " + api.Quote(file) + " && " + command
		}
	}
	return command
}
