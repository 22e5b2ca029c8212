package client

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// fromAfar is a command line that comes from the gpusched of another machine. It is about this machine alone, whatever
// the settings and --host say.
type fromAfar struct {
	called   string // what this machine is called there; ids and proposed commands are given with it
	plain    bool   // ids that name no machine are of this one
	labelled bool   // what is printed says whose it is: it is shown with that of other machines
	document bool   // the answer is the document of the command, whatever form it has
	job      *remote.NewJob
}

// documents reports whether another gpusched wants the document of the command.
func (a *app) documents() bool { return a.asked != nil && a.asked.document }

// called is what this machine is called where the command was typed; "": it was typed here, or is called ".".
func (a *app) called() string {
	if a.asked == nil || a.asked.called == remote.Here && !a.asked.labelled {
		return ""
	}
	return a.asked.called
}

// answerDocument is the hidden command by which another gpusched gets the document of a command.
func answerDocument(ctx context.Context, a *app, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no words", remote.DocCommand)
	}
	t, err := remote.Begin(os.Stdin, os.Stdout, gone)
	if err != nil {
		return usagef("%v", err)
	}
	here := *a
	here.asked = &fromAfar{called: t.Called, plain: t.Plain, document: true, job: t.Job}
	here.interactive = false
	if t.Job != nil {
		here.surround(t.Job)
	}
	return here.carryOut(ctx, t.Words)
}

// gone ends this process: whoever asked has gone, and jobs go on.
func gone() { os.Exit(statusInterrupted) }

// answerHere is the hidden command for a command line of another machine that is carried out here, on a terminal there
// or with what comes from there.
func answerHere(ctx context.Context, a *app, args []string) error {
	return a.answerFor(ctx, args, false)
}

// answerLabelled is answerHere with lines that say whose they are.
func answerLabelled(ctx context.Context, a *app, args []string) error {
	return a.answerFor(ctx, args, true)
}

func (a *app) answerFor(ctx context.Context, args []string, labelled bool) error {
	if len(args) < 2 {
		return usagef("%s takes the name of this machine and a command line", remote.HereCommand)
	}
	if err := remote.Check(args[0]); err != nil {
		return usagef("%v", err)
	}
	if leashed(args[1], term.IsTerminal(os.Stdin)) {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			gone()
		}()
	}
	here := *a
	here.asked = &fromAfar{called: args[0], plain: true, labelled: labelled}
	return here.carryOut(ctx, args[1:])
}

// leashed reports whether a command of another machine is to end with its input. Without a terminal nothing else tells
// it that nobody reads any more.
func leashed(command string, onTerminal bool) bool {
	return !onTerminal && !aboutWord(command).OwnInput
}

func (a *app) carryOut(ctx context.Context, words []string) error {
	if code := run(ctx, a, words); code != 0 {
		return exitStatus(code)
	}
	return nil
}

// surround gives a new job what was around its command line. What the environment says of the account is true of the
// one here, unless an option has set it.
func (a *app) surround(n *remote.NewJob) {
	a.umask = n.Umask
	dir := string(n.Dir)
	_ = os.Chdir(dir) // a directory that is not here is told as any is
	a.getwd = func() (string, error) { return dir, nil }
	if n.Environ == nil {
		return
	}
	environ := slices.Clone(n.Environ)
	for _, entry := range a.environ {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(ofAccount, name) && !isSet(environ, name) {
			environ = append(environ, entry)
		}
	}
	a.environ = environ
	a.getenv = func(name string) string {
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

// ownWords are those of words for jobs that are about this machine, as it knows them.
func (q *fromAfar) ownWords(words []string) (list []string) {
	for _, w := range words {
		var mine []string
		for _, p := range placedWords(w) {
			if p.host == q.called || p.host == "" && q.plain {
				mine = append(mine, p.word)
			}
		}
		if len(mine) > 0 {
			list = append(list, strings.Join(mine, ","))
		}
	}
	return list
}

// bare is a word for jobs without the name that this machine has where it was typed.
func (a *app) bare(word string) string {
	if a.asked == nil {
		return word
	}
	parts := placedWords(word)
	if slices.ContainsFunc(parts, func(p placed) bool { return p.host != "" && p.host != a.asked.called }) {
		return word
	}
	return joined(parts, ",", func(p placed) string { return p.word })
}

// attendCommand is the hidden command with which 'run --host' stays with its job, on the job's machine.
const attendCommand = "stay-with"

// attendAgain is "stay-with tty|output loud|quiet ID".
func attendAgain(ctx context.Context, a *app, args []string) error {
	if len(args) != 3 {
		return usagef("%s takes three words", attendCommand)
	}
	id, err := job.ParseID(args[2])
	if err != nil {
		return usagef("%v", err)
	}
	reply, err := api.Show(ctx, a.client, id.String(), api.JobQuery{})
	if err != nil {
		return waitError(ctx, err)
	}
	if args[0] == "tty" {
		return a.attendTerminal(ctx, reply.Job, args[1] == "quiet")
	}
	return a.attend(ctx, reply.Job, args[1] == "quiet")
}
