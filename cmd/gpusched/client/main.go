package client

import (
	"bufio"
	"context"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// What the program was linked with.
var version, commit string

// Main is the program: it runs what this process was called with, and returns the exit status. A nil Slurm is that
// of gpusched.
func Main(itsVersion, itsCommit string, slurm *engines.Slurm) int {
	version, commit = itsVersion, itsCommit
	a := hostApp()
	a.slurm = slurm
	return runUntilSignal(a)
}

// runUntilSignal runs what this process was called with. A signal ends it in order.
func runUntilSignal(a *app) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return runAs(ctx, a, filepath.Base(os.Args[0]), os.Args[1:])
}

// hostApp takes what a run needs from the process. It is the one place that
// reads the environment.
func hostApp() *app {
	// There is no way to read the umask alone; nothing else runs yet.
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	return &app{
		startedWith: startedWith{
			out:     term.New(os.Stdout, os.Getenv, time.Now()),
			err:     term.New(os.Stderr, os.Getenv, time.Now()),
			environ: os.Environ(), getenv: getenv, getwd: os.Getwd, umask: umask, uid: os.Getuid(),
			interactive: term.IsTerminal(os.Stdin),
			answer: func() string {
				line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
				return strings.TrimSpace(line)
			},
			restoreLimits: restoreLimits,
			journalDirs:   []string{"/var/log/journal", "/run/log/journal"},
		},
		whomAsked: whomAsked{client: clientFor(os.Getenv, os.Getuid(), api.SocketPath, enabledSocket)},
	}
}

// getenv is os.Getenv with a HOME that is always absolute: without one, the account's home, else "/". What this program
// reads and keeps in the home must not be taken from the current directory, which can be another user's.
func getenv(name string) string {
	value := os.Getenv(name)
	if name != "HOME" || filepath.IsAbs(value) {
		return value
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return "/"
}

// restoreLimits puts the soft limit on open files back to what the user has.
// Go raises it in its own processes, and the daemon reads ours for the job. The
// only thing in Go that undoes that is an exec, also one that fails.
func restoreLimits() { syscall.Exec("", nil, nil) }
