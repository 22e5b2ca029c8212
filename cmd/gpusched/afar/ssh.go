package afar

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// OverSSH sends a command to the gpusched of another machine, which runs the command. If we have a
// terminal, the command uses it. OverSSH returns the command's exit status.
func OverSSH(ctx context.Context, a *cli.App, host string, words []string, ownInput bool) error {
	tty := a.OnTerminal()
	cmd, err := remote.Command(host, tty, append([]string{remote.HereCommand, host}, words...)...)
	if err != nil {
		return AsUsage(err)
	}
	if words[0] != AttendCommand { // a machine that is sent AttendCommand has just answered
		if err := AnswersAt(ctx, a, host); err != nil {
			return err
		}
	}
	a.Out.W.Flush()
	a.Err.W.Flush()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if !tty && !ownInput {
		leash, held, err := os.Pipe()
		if err != nil {
			return err
		}
		defer held.Close()
		defer leash.Close()
		cmd.Stdin = leash
	}
	return SSHEnded(ctx, a, host, remote.Run(ctx, cmd))
}

// AsUsage turns an error without a code into a usage error.
func AsUsage(err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return cli.Usagef("%v", err)
}

// AnswersAt returns nil once the machine's gpusched has answered. If the machine hangs or ssh can't
// reach it, AnswersAt returns the error that every command returns in that case. If only the
// scheduler is missing, AnswersAt returns nil, since the next command will report this itself.
func AnswersAt(ctx context.Context, a *cli.App, host string) error {
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	_, err := AskHost(limited, a, host, remote.Typed{Words: api.Words{"version"}}, 1)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrorOf(host, err)
}

// If ssh ends with one of these exit statuses, the command was not run. The statuses come from ssh
// and from the other machine's shell.
const (
	sshFailed       = 255
	commandNotFound = 127
)

// SSHEnded returns the exit status of a command that ssh ran.
func SSHEnded(ctx context.Context, a *cli.App, host string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &exit):
		return cli.Refuse(api.CodeUnreachable, "", "%s: start ssh: %v", host, err)
	}
	code := exit.ExitCode()
	if code == sshFailed || code == commandNotFound {
		a.Note("ssh ended with status %d: unless that is the command's own status, make 'ssh %s gpusched version' work first", code, host)
	}
	if code < 0 {
		code = cli.StatusInterrupted
	}
	return cli.ExitStatus(code)
}

// AttendCommand is a hidden command, which 'run --host' runs on the job's machine.
const AttendCommand = "stay-with"

// ErrorOf puts the machine's name in front of each line of an error, so that no line seems to come
// from another machine.
func ErrorOf(host string, err error) error {
	var e *api.Error
	if !errors.As(err, &e) {
		return err
	}
	its := func(text string) string { return strings.ReplaceAll(text, "\n", "\n"+host+": ") }
	return &api.Error{Code: e.Code, Message: host + ": " + its(e.Message), Hint: its(e.Hint)}
}
