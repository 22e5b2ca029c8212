package editor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// ServeCommand is a hidden command, which proxy runs inside the job. Its standard input and output
// are one connection of ssh.
const ServeCommand = "serve-ssh"

// Serve runs an sshd for one connection. The settings are kept in the memory of this process, since
// they contain the job's environment, which nobody else may read.
func Serve(ctx context.Context, a *cli.App, _ []string) error {
	path, err := sshd()
	if err != nil {
		return err
	}
	key, err := hostKey(ctx, a)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("sshd_config", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("make the settings of sshd: %w", err)
	}
	f := os.NewFile(uintptr(fd), "sshd_config")
	defer f.Close()
	if _, err := f.WriteString(settings(key, a.Environ)); err != nil {
		return fmt.Errorf("make the settings of sshd: %w", err)
	}
	cmd := exec.Command(path, "-i", "-f", fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cli.ExitStatus(max(exit.ExitCode(), 1))
	}
	return err
}

// ready returns an error if no sshd can run in a job. It is called before a job is queued.
func ready(ctx context.Context, a *cli.App) error {
	_, err := sshd()
	if err == nil {
		_, err = hostKey(ctx, a)
	}
	return err
}

// sshd returns the path of the program, which is not in the PATH of most users.
func sshd() (string, error) {
	for _, path := range []string{"/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"} {
		if _, err := exec.LookPath(path); err == nil {
			return path, nil
		}
	}
	return "", cli.Refuse(api.CodeConflict, "ask an administrator to install the package openssh-server",
		"sshd, which lets ssh into a job, is not installed here")
}

// settings returns the sshd_config for a job. Only keys of the user's own authorized_keys are
// accepted. sshd drops its environment, so SetEnv sets the variables of the job.
func settings(key string, environ []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HostKey \"%s\"\n", key)
	b.WriteString(`AuthorizedKeysFile .ssh/authorized_keys
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes yes
PidFile none
PrintMotd no
PrintLastLog no
Subsystem sftp internal-sftp
ClientAliveInterval 5m
ClientAliveCountMax 3
`)
	if vars := passedOn(environ); len(vars) > 0 {
		b.WriteString("SetEnv")
		for _, kv := range vars {
			b.WriteString(" \"" + kv + "\"")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// ofSession lists the variables that sshd sets itself, or that belong to another session.
var ofSession = []string{
	"HOME", "USER", "LOGNAME", "SHELL", "MAIL", "TERM", "PWD", "OLDPWD", "SHLVL", "_", "DISPLAY", "XAUTHORITY",
	"STY", "TMUX", "MAINPID", "NOTIFY_SOCKET", "JOURNAL_STREAM",
}

const variableLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// passedOn returns the variables of the job that a session in it gets. It leaves out values with
// quotation marks, backslashes or control characters, which releases of sshd read differently.
func passedOn(environ []string) (vars []string) {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		other := slices.Contains(ofSession, name) || strings.HasPrefix(name, "SSH_") || strings.HasPrefix(name, "XDG_SESSION")
		if ok && name != "" && strings.Trim(name, variableLetters) == "" && !other && !strings.ContainsFunc(kv, odd) {
			vars = append(vars, kv)
		}
	}
	return vars
}
