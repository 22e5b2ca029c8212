package vm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// outputLimit limits how long the background processes of a command of Run may keep the command's
// output open after its end.
const outputLimit = 2 * time.Second

// runLimit is the time limit of a command of Run, unless its context ends earlier.
const runLimit = 20 * time.Minute

// A Result is the outcome of a command in a machine.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code, or 128+N for a death by signal N
}

// Err returns nil for exit code 0. For any other code
// it returns an error with the code and both outputs.
func (r Result) Err() error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("exit code %d\n%s%s", r.Code, await.Tail(r.Stderr, 20), await.Tail(r.Stdout, 20))
}

// Run runs a command in the machine as user ("" is root) and waits for its end. If stdin is nil,
// the command has no input. When ctx ends, or after 20 minutes, Run kills the command's process
// group. A code other than 0 is not an error; an error means that the outcome of the command is
// unknown. Background processes of the command continue, but Run stops reading their output two
// seconds after the command's end.
func (m *Machine) Run(ctx context.Context, user string, stdin io.Reader, argv ...string) (Result, error) {
	ctx, stop := await.For(ctx, "the end of "+strings.Join(argv, " "), runLimit)
	defer stop()
	var stdout bytes.Buffer
	r, err := m.guest.run(ctx, asUser(user, argv), stdin, &stdout)
	r.Stdout = stdout.String()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w\n%s", strings.Join(argv, " "), err, await.Tail(r.Stderr, 10))
	}
	return r, nil
}

func (b *box) run(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) (Result, error) {
	cmd := b.command(ctx, argv, false)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	cmd.WaitDelay = outputLimit
	err := runAwake(cmd)
	r := Result{Stderr: stderr.String()}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		return r, nil
	case errors.As(err, &exit) && !b.first.hasEnded():
		r.Code = exitCode(exit)
		return r, nil
	}
	return r, err
}

// runAwake runs an nsenter command. If a program that nsenter runs is stopped, nsenter stops
// itself, and nobody else would continue it. A soft reboot stops all programs for a moment.
func runAwake(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_ = cmd.Process.Signal(syscall.SIGCONT) // a process that is not stopped ignores this
			}
		}
	}()
	return cmd.Wait()
}

// exitCode returns the exit code that a shell would report.
func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// Sh is like Run, but runs a bash script.
func (m *Machine) Sh(ctx context.Context, user, script string) (Result, error) {
	return m.Run(ctx, user, nil, "bash", "-c", script)
}

// Command returns a command like that of Run, but does not start it. Use it for programs with which
// a test communicates while they run. The command's Wait returns an *exec.ExitError as usual. On an
// emulated machine, Wait also waits for background processes that keep the output open.
func (m *Machine) Command(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), false)
}

// Terminal is like Command, but the command runs on a terminal of the machine. Use it for a program
// that talks to a person on our terminal.
func (m *Machine) Terminal(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), true)
}

// asUser returns a command that runs argv as a user. The command uses a program of
// image/customise.sh.
func asUser(user string, argv []string) []string {
	return append([]string{"/usr/local/libexec/vm-as", cmp.Or(user, "root")}, argv...)
}

// output runs a command as root and returns its output. The command must succeed.
func (m *Machine) output(ctx context.Context, argv ...string) (string, error) {
	r, err := m.Run(ctx, "", nil, argv...)
	return r.Stdout, cmp.Or(err, r.Err())
}

// quote joins a command into one line that a shell can run.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
