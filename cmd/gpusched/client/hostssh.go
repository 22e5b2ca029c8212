package client

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/user"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// overSSH has the gpusched of another machine carry out a command, with our terminal where there is one,
// and ends as it does. What it needs there is not the scheduler's alone: the journal, a job's terminal.
func (a *app) overSSH(ctx context.Context, host string, words []string) error {
	tty := a.onTerminal()
	w := remote.Words{Argv: bytesOf(words), Leashed: !tty && words[0] != "exec", Called: host}
	word, err := w.Encode()
	if err != nil {
		return usagef("%v", err)
	}
	if words[0] != attendCommand { // its machine has just answered
		if err := a.greeted(ctx, host); err != nil {
			return err
		}
	}
	path, err := exec.LookPath("ssh")
	if err != nil {
		return refuse(api.CodeUnreachable, "it is in the package openssh-client", "there is no ssh here, by which other machines are asked")
	}
	a.out.W.Flush()
	a.err.W.Flush()
	cmd := exec.CommandContext(ctx, path)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // which gives the terminal back as it was
	cmd.WaitDelay = 2 * time.Second
	cmd.Args = remote.Command(host, tty, remote.WordsCommand, word)
	remote.NeverAsk(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if w.Leashed {
		leash, held, err := os.Pipe()
		if err != nil {
			return err
		}
		defer held.Close()
		defer leash.Close()
		cmd.Stdin = leash
	}
	return a.sshEnded(ctx, host, cmd.Run())
}

// greeted is nil once gpusched on the machine has answered: of one that hangs, or that ssh can't reach, that is said
// as by any command. That its scheduler is not there is for the command to tell.
func (a *app) greeted(ctx context.Context, host string) error {
	conn, g, err := a.ssh.Dial(ctx, host, remote.Question{})
	if conn != nil {
		conn.Close()
	}
	if g.Refused != nil {
		return nil
	}
	return a.fleet().of(host, err)
}

// How ssh, and a shell there, say that the command was not run.
const (
	sshFailed       = 255
	commandNotFound = 127
)

// sshEnded is the exit status of a command that ssh has run.
func (a *app) sshEnded(ctx context.Context, host string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &exit):
		return refuse(api.CodeUnreachable, "", "%s: start ssh: %v", host, err)
	}
	code := exit.ExitCode()
	if code == sshFailed || code == commandNotFound {
		a.note("ssh has ended with %d: where that was not the command's own, 'ssh %s gpusched version' has to work first", code, host)
	}
	if code < 0 {
		code = statusInterrupted
	}
	return exitStatus(code)
}

// dialStdio is the hidden command by which another machine asks this one's scheduler: its input and output
// are the connection.
func dialStdio(ctx context.Context, a *app, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no words", remote.DialCommand)
	}
	a.restoreLimits() // the daemon reads those of this process for a job
	err := remote.Serve(os.Stdin, os.Stdout, func(q remote.Question) (remote.Greeting, io.ReadWriteCloser) {
		g := a.greeting(ctx, q)
		if g.Refused != nil {
			return g, nil
		}
		conn, err := a.daemon().Connect(ctx)
		if err != nil {
			g.Refused = a.whyNot(ctx, err)
			return g, nil
		}
		g.Now = time.Now()
		return g, conn
	})
	if err != nil {
		return exitStatus(1) // the other side has gone
	}
	return nil
}

// greeting says who answers.
func (a *app) greeting(ctx context.Context, q remote.Question) remote.Greeting {
	g := remote.Greeting{Version: version, UID: a.uid, Home: a.getenv("HOME"), Shell: a.getenv("SHELL"), Now: time.Now()}
	if u, err := user.Current(); err == nil {
		g.User = u.Username
	}
	g.Looked = a.lookFor(ctx, q)
	return g
}

// whyNot is what a command here would be told.
func (a *app) whyNot(ctx context.Context, err error) *api.Error {
	var e *api.Error
	if _, asked := a.client.Version(ctx); errors.As(asked, &e) {
		return e
	}
	return &api.Error{Code: api.CodeUnreachable, Message: "the scheduler cannot be reached: " + err.Error()}
}

// lookingTime is for how long a machine looks for what jobs need: its answer is to come within remote.Patience.
const lookingTime = remote.Patience / 2

// lookFor looks for what jobs need of this machine besides the scheduler.
func (a *app) lookFor(ctx context.Context, q remote.Question) remote.Looked {
	ctx, cancel := context.WithTimeout(ctx, lookingTime)
	defer cancel()
	return q.Look(func() bool { return ctx.Err() == nil }, a.lacks)
}

// lacks is what is not there for a job, whose program is in a PATH if that is not nil.
func (a *app) lacks(n remote.Need, path []byte) *api.Error {
	if len(n.Argv) == 0 {
		return nil
	}
	info, err := os.Stat(string(n.Dir))
	if err != nil || !info.IsDir() {
		return refuse(api.CodeUsage, "a job runs in the same path there: make it, choose another with --chdir, or queue it all the same with --force",
			"there is no directory %q", n.Dir)
	}
	req := &api.SubmitRequest{Argv: n.Argv, Dir: n.Dir}
	if path != nil {
		req.EnvMode, req.Env = string(contract.EnvInherit), [][]byte{append([]byte("PATH="), path...)}
	}
	if n.Setup {
		req.Dir = nil // it may go elsewhere
	}
	var e *api.Error
	if err := (&jobOptions{}).checkProgram(a, req); errors.As(err, &e) {
		return e
	}
	return nil
}

// asWords is the hidden command for words from another machine.
func asWords(ctx context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("%s takes one word", remote.WordsCommand)
	}
	w, err := remote.Decode(args[0])
	if err != nil {
		return usagef("%v", err)
	}
	if w.Leashed {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(statusInterrupted) // whoever asked has gone, and jobs go on
		}()
	}
	if remote.Check(w.Called) != nil || w.Called == remote.Here && !w.Labelled {
		w.Called = ""
	}
	words, here := each(w.Argv, func(b []byte) string { return string(b) }), *a
	here.calledFromAfar, here.here, here.labelled = w.Called, true, w.Labelled
	here.getenv = func(name string) string {
		if name == hostsVariable {
			return "" // it was asked for this machine
		}
		return a.getenv(name)
	}
	if code := run(ctx, &here, words); code != 0 {
		return exitStatus(code)
	}
	return nil
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
	reply, err := a.client.Job(ctx, id.String())
	if err != nil {
		return waitError(ctx, err)
	}
	if args[0] == "tty" {
		return a.attendTerminal(ctx, reply.Job, args[1] == "quiet")
	}
	return a.attend(ctx, reply.Job, args[1] == "quiet")
}
