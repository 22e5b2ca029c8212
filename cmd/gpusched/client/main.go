package client

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// Main runs the program and returns the exit status. The program behaves according to the name by
// which it was called. The argument slurm is nil in gpusched and set in gpusched-slurm.
func Main(itsVersion, itsCommit string, slurm *engines.Slurm) int {
	cli.Version, cli.Commit = itsVersion, itsCommit
	a := hostApp()
	a.Slurm = slurm
	return runUntilSignal(a)
}

// runUntilSignal runs the program until it ends or a signal cancels it.
func runUntilSignal(a *cli.App) (code int) {
	return runAs(cli.UntilSignal(), a, filepath.Base(os.Args[0]), os.Args[1:])
}

// hostApp returns the App of this process. No other function reads the environment.
func hostApp() *cli.App {
	// The umask can only be read by setting it. Nothing else runs yet.
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	return &cli.App{
		Env: cli.Env{
			Out:     term.New(os.Stdout, os.Getenv, time.Now()),
			Err:     term.New(os.Stderr, os.Getenv, time.Now()),
			Environ: os.Environ(), Getenv: cli.Getenv, Getwd: os.Getwd, Umask: umask, UID: os.Getuid(),
			Interactive: term.IsTerminal(os.Stdin),
			Answer: func() string {
				line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
				return strings.TrimSpace(line)
			},
			RestoreLimits: restoreLimits,
			JournalDirs:   []string{"/var/log/journal", "/run/log/journal"},
		},
		Session: cli.Session{Client: cli.ClientFor(os.Getenv, os.Getuid(), api.SocketPath, cli.EnabledSocket)},
	}
}

// restoreLimits resets the soft limit on open files. Go raises that limit in its own processes, and
// the daemon would copy the raised limit to the job. Go restores the limit only in exec, even if
// exec fails.
func restoreLimits() { syscall.Exec("", nil, nil) }
