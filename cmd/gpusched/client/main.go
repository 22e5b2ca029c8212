package client

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// Main is the program: it runs what this process was called with, and returns the exit status. A nil Slurm is that
// of gpusched.
func Main(itsVersion, itsCommit string, slurm *engines.Slurm) int {
	cli.Version, cli.Commit = itsVersion, itsCommit
	a := hostApp()
	a.Slurm = slurm
	return runUntilSignal(a)
}

// runUntilSignal runs what this process was called with. A signal ends it in order.
func runUntilSignal(a *cli.App) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return runAs(ctx, a, filepath.Base(os.Args[0]), os.Args[1:])
}

// hostApp takes what a run needs from the process. It is the one place that
// reads the environment.
func hostApp() *cli.App {
	// There is no way to read the umask alone; nothing else runs yet.
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

// restoreLimits puts the soft limit on open files back to what the user has.
// Go raises it in its own processes, and the daemon reads ours for the job. The
// only thing in Go that undoes that is an exec, also one that fails.
func restoreLimits() { syscall.Exec("", nil, nil) }
