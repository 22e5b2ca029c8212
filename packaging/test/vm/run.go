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

// outputLimit is the time after a command's end that Run allows its background processes to close
// the output.
const outputLimit = 2 * time.Second

// runLimit bounds a command of Run whose context has no earlier deadline.
const runLimit = 20 * time.Minute

// A Result is the outcome of a command in a machine.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code, or 128+N for a death by signal N
}

// Err returns nil for exit code 0, and otherwise an error with the code and both outputs.
func (r Result) Err() error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("exit code %d\n%s%s", r.Code, await.Tail(r.Stderr, 20), await.Tail(r.Stdout, 20))
}

// Run runs a command in the machine as user ("" is root) and waits for its end. A nil stdin is
// empty. When ctx ends, or after 20 minutes, Run kills the command's process group. A code other
// than 0 is not an error; an error means that the command's outcome is unknown. Background
// processes of the command live on; their output is lost two seconds after the command's end.
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
	case errors.As(err, &exit) && !b.first.ended():
		r.Code = exitCode(exit)
		return r, nil
	}
	return r, err
}

// runAwake runs an nsenter command. nsenter stops itself when the program inside is stopped; a soft
// reboot stops all programs for a moment, and nobody else would continue nsenter.
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
				_ = cmd.Process.Signal(syscall.SIGCONT) // a running process ignores it
			}
		}
	}()
	return cmd.Wait()
}

// exitCode returns the exit code as a shell reports it.
func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// Sh runs a bash script in the machine; otherwise it is like Run.
func (m *Machine) Sh(ctx context.Context, user, script string) (Result, error) {
	return m.Run(ctx, user, nil, "bash", "-c", script)
}

// Command returns the command of Run without starting it, for programs that a test talks to while
// they run. Its Wait returns an *exec.ExitError as usual; on an emulated machine Wait also waits
// for background processes that hold the output open.
func (m *Machine) Command(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), false)
}

// Terminal is like Command, on a terminal of the machine, for a program that talks to a person
// through our terminal.
func (m *Machine) Terminal(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), true)
}

// asUser returns the command that runs argv as user with a program of image/customise.sh.
func asUser(user string, argv []string) []string {
	return append([]string{"/usr/local/libexec/vm-as", cmp.Or(user, "root")}, argv...)
}

// output returns what a command prints as root; it must succeed.
func (m *Machine) output(ctx context.Context, argv ...string) (string, error) {
	r, err := m.Run(ctx, "", nil, argv...)
	return r.Stdout, cmp.Or(err, r.Err())
}

// quote joins a command into one line for a shell.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
