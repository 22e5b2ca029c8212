package submit

import (
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// Surround takes a job that another machine has sent here, and gives it the directory, umask and
// environment that it had there. Variables that describe the account keep this machine's values,
// unless an option set them.
func Surround(a *cli.App, n *remote.NewJob) {
	a.Umask = n.Umask
	dir := string(n.Dir)
	_ = os.Chdir(dir) // if the directory is missing, that is reported later, as for any job
	a.Getwd = func() (string, error) { return dir, nil }
	if n.Environ == nil {
		return
	}
	environ := slices.Clone(n.Environ)
	for _, entry := range a.Environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(accountVariables, name) && !jobenv.IsSet(environ, name) {
			environ = append(environ, entry)
		}
	}
	a.Environ = environ
	a.Getenv = func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// accountVariables describe the user's account on this machine.
var accountVariables = []string{"HOME", "USER", "LOGNAME", "SHELL"}

// sessionVariables name sockets, displays and sessions, which exist on one machine only.
var sessionVariables = strings.Fields("DBUS_SESSION_BUS_ADDRESS DISPLAY GPUSCHED_HOSTS GPUSCHED_SOCKET HOSTNAME SSH_AUTH_SOCK SSH_CLIENT " +
	"SSH_CONNECTION SSH_TTY STY TMUX TMUX_PANE WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_ID")

// environFor returns the variables that another machine gets. It leaves out variables of this
// machine's sessions and of the account here, unless -e names them. A dry run must not send
// secrets. So it sends the values of variables that help to find programs, and only the names of
// other variables in -e.
func environFor(environ, set []string, dryRun bool) []string {
	out := []string{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch named := slices.Contains(set, name); {
		case !named && (slices.Contains(accountVariables, name) || slices.Contains(sessionVariables, name)):
		case !dryRun || slices.Contains(searchVariables, name):
			out = append(out, entry)
		case named:
			out = append(out, name+"=")
		}
	}
	return out
}

// setsVariable reports whether a value belongs to the option -e or --set-env. The argument prefix
// is the text before the value: the previous word, or the beginning of the same word.
func setsVariable(prefix string) bool {
	short, is := strings.CutPrefix(prefix, "-")
	return prefix == "--set-env" || prefix == "--set-env=" || is && !strings.HasPrefix(short, "-") && strings.HasSuffix(short, "e")
}

// withoutValues removes the values of -e from the command line of a dry run. It keeps the values of
// variables that help to find programs.
func withoutValues(words, set []string) []string {
	out := slices.Clone(words)
	for i, word := range words {
		for _, entry := range set {
			before, is := strings.CutSuffix(word, entry)
			name, value, has := strings.Cut(entry, "=")
			if !is || !has || slices.Contains(searchVariables, name) {
				continue
			}
			if setsVariable(before) || before == "" && i > 0 && setsVariable(words[i-1]) {
				out[i] = strings.TrimSuffix(word, value)
			}
		}
	}
	return out
}

// searchVariables help to find a job's program or set-up.
var searchVariables = strings.Fields("PATH PWD CONDA_ENVS_DIRS CONDA_ENVS_PATH CONDA_EXE HF_HOME HF_HUB_CACHE MAMBA_ROOT_PREFIX MODULEPATH " +
	"MODULESHOME WORKON_HOME")
