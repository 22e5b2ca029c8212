package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/gpusched/gpusched/daemon/api"
)

// Set when the program is linked, by -X main.version and -X main.commit.
var (
	version = "dev"
	commit  = ""
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, hostApp(), os.Args[1:])
	stop()
	os.Exit(code)
}

// hostApp takes what a run needs from the process. It is the one place that
// reads the environment.
func hostApp() *app {
	// There is no way to read the umask alone; nothing else runs yet.
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	return &app{
		out:     newTerminal(os.Stdout, os.Getenv, time.Now()),
		err:     newTerminal(os.Stderr, os.Getenv, time.Now()),
		environ: os.Environ(), getenv: os.Getenv, getwd: os.Getwd, umask: umask, uid: os.Getuid(),
		interactive: term.IsTerminal(int(os.Stdin.Fd())),
		answer: func() string {
			line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
			return strings.TrimSpace(line)
		},
		client:        &api.Client{Socket: os.Getenv("GPUSCHED_SOCKET")},
		restoreLimits: restoreLimits,
		journalDirs:   []string{"/var/log/journal", "/run/log/journal"},
	}
}

// restoreLimits puts the soft limit on open files back to what the user has.
// Go raises it in its own processes, and the daemon reads ours for the job. The
// only thing in Go that undoes that is an exec, also one that fails.
func restoreLimits() { syscall.Exec("", nil, nil) }

// newTerminal describes an output. What is not a terminal has width 0 and no
// colour.
func newTerminal(f *os.File, getenv func(string) string, now time.Time) *terminal {
	t := &terminal{w: bufio.NewWriter(f), now: now}
	if !term.IsTerminal(int(f.Fd())) {
		return t
	}
	t.tty, t.width = true, 80
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		t.width = w
	}
	var columns int
	if _, err := fmt.Sscan(getenv("COLUMNS"), &columns); err == nil && columns > 0 {
		t.width = columns
	}
	t.colour = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return t
}
