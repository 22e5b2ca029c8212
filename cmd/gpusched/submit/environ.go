package submit

import (
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// Surround gives a job that was sent from another machine its directory, umask and environment
// there. Variables that describe the account keep this machine's values unless an option set them.
func Surround(a *cli.App, n *remote.NewJob) {
	a.Umask = n.Umask
	dir := string(n.Dir)
	_ = os.Chdir(dir) // a missing directory is reported later, as for any job
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

// accountVariables describe the user's account on a machine.
var accountVariables = []string{"HOME", "USER", "LOGNAME", "SHELL"}

// sessionVariables lead to sockets, displays and sessions of one machine.
var sessionVariables = strings.Fields("DBUS_SESSION_BUS_ADDRESS DISPLAY GPUSCHED_HOSTS GPUSCHED_SOCKET HOSTNAME SSH_AUTH_SOCK SSH_CLIENT " +
	"SSH_CONNECTION SSH_TTY STY TMUX TMUX_PANE WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_ID")

// environFor returns the part of the environment that another machine gets: without variables of
// this machine's sessions and of the account here, unless -e names them. A dry run sends no
// secrets: it keeps values only where they help to find programs, and sends the other variables of
// -e by name alone.
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

// setsVariable reports whether the text before a value (the word before it, or the start of its own
// word) is the option -e or --set-env.
func setsVariable(before string) bool {
	short, is := strings.CutPrefix(before, "-")
	return before == "--set-env" || before == "--set-env=" || is && !strings.HasPrefix(short, "-") && strings.HasSuffix(short, "e")
}

// withoutValues removes the values of -e from the command line of a dry run, except of the
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

// searchVariables help to find a program or the set-up of a job.
var searchVariables = strings.Fields("PATH PWD CONDA_ENVS_DIRS CONDA_ENVS_PATH CONDA_EXE HF_HOME HF_HUB_CACHE MAMBA_ROOT_PREFIX MODULEPATH " +
	"MODULESHOME WORKON_HOME")
