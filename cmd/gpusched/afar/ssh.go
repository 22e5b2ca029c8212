package client

import (
	"context"
	"errors"
	"os"
	"os/exec"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// overSSH has the gpusched of another machine carry out a command, with our terminal where there is one,
// and ends as it does.
func (a *app) overSSH(ctx context.Context, host string, words []string, ownInput bool) error {
	tty := a.onTerminal()
	cmd, err := remote.Command(host, tty, append([]string{remote.HereCommand, host}, words...)...)
	if err != nil {
		return asUsage(err)
	}
	if words[0] != attendCommand { // its machine has just answered
		if err := a.answersAt(ctx, host); err != nil {
			return err
		}
	}
	a.out.W.Flush()
	a.err.W.Flush()
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
	return a.sshEnded(ctx, host, remote.Run(ctx, cmd))
}

// asUsage is an error about a command line.
func asUsage(err error) error {
	var e *api.Error
	if errors.As(err, &e) {
		return e
	}
	return usagef("%v", err)
}

// answersAt is nil once gpusched on the machine has answered: of one that hangs, or that ssh can't reach, that is said
// as by any command. That its scheduler is not there is for the command to tell.
func (a *app) answersAt(ctx context.Context, host string) error {
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	_, err := a.askHost(limited, host, remote.Typed{Words: api.Words{"version"}}, 1)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return of(host, err)
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
