package submit

import (
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// Surround gives a new job what was around its command line. What the environment says of the account is true of the
// one here, unless an option has set it.
func Surround(a *cli.App, n *remote.NewJob) {
	a.Umask = n.Umask
	dir := string(n.Dir)
	_ = os.Chdir(dir) // a directory that is not here is told as any is
	a.Getwd = func() (string, error) { return dir, nil }
	if n.Environ == nil {
		return
	}
	environ := slices.Clone(n.Environ)
	for _, entry := range a.Environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(ofAccount, name) && !jobenv.IsSet(environ, name) {
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

// ofAccount are the variables that say who somebody is on a machine.
var ofAccount = []string{"HOME", "USER", "LOGNAME", "SHELL"}

// boundVariables lead to sockets, screens and sessions of a machine.
var boundVariables = strings.Fields("DBUS_SESSION_BUS_ADDRESS DISPLAY GPUSCHED_HOSTS GPUSCHED_SOCKET HOSTNAME SSH_AUTH_SOCK SSH_CLIENT " +
	"SSH_CONNECTION SSH_TTY STY TMUX TMUX_PANE WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_ID")

// environFor is what a new job of another machine gets of an environment: nothing that leads to something of this
// machine, and nothing of the account here, unless an option (-e) names it. Where that machine is only asked, it gets
// no secret: of what it does not need to answer the names alone.
func environFor(environ, set []string, dryRun bool) []string {
	out := []string{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch named := slices.Contains(set, name); {
		case !named && (slices.Contains(ofAccount, name) || slices.Contains(boundVariables, name)):
		case !dryRun || slices.Contains(toFindPrograms, name):
			out = append(out, entry)
		case named:
			out = append(out, name+"=")
		}
	}
	return out
}

// setsVariable reports whether what stands before a value, in the word before or in its own, is -e.
func setsVariable(before string) bool {
	short, is := strings.CutPrefix(before, "-")
	return before == "--set-env" || before == "--set-env=" || is && !strings.HasPrefix(short, "-") && strings.HasSuffix(short, "e")
}

// withoutValues are the words of a new job for a machine that is only asked: of the variables that it sets the names
// alone, but for those by which a program is found.
func withoutValues(words, set []string) []string {
	out := slices.Clone(words)
	for i, word := range words {
		for _, entry := range set {
			before, is := strings.CutSuffix(word, entry)
			name, value, has := strings.Cut(entry, "=")
			if !is || !has || slices.Contains(toFindPrograms, name) {
				continue
			}
			if setsVariable(before) || before == "" && i > 0 && setsVariable(words[i-1]) {
				out[i] = strings.TrimSuffix(word, value)
			}
		}
	}
	return out
}

// toFindPrograms are the variables by which a program, or the set-up of a job, is found.
var toFindPrograms = strings.Fields("PATH PWD CONDA_ENVS_DIRS CONDA_ENVS_PATH CONDA_EXE HF_HOME HF_HUB_CACHE MAMBA_ROOT_PREFIX MODULEPATH " +
	"MODULESHOME WORKON_HOME")
