package vm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// outputLimit is how long Run waits, after the command has ended, for what it left running to close its output.
const outputLimit = 2 * time.Second

// runLimit is for a command of Run's in a context without a nearer limit.
const runLimit = 20 * time.Minute

// A Result is how a command in a machine ended.
type Result struct {
	Stdout, Stderr string
	Code           int // exit code, or 128+N for a death by signal N
}

// Err is nil for exit code 0, and else an error that shows the code and both outputs.
func (r Result) Err() error {
	if r.Code == 0 {
		return nil
	}
	return fmt.Errorf("exit code %d\n%s%s", r.Code, await.Tail(r.Stderr, 20), await.Tail(r.Stdout, 20))
}

// Run runs a command in the machine as user ("" is root) and waits for its end. stdin nil is empty. When ctx ends, or
// after 20 minutes, the command's process group is killed. A code other than 0 is not an error; an error means that
// the command's fate is unknown. What a command leaves running in the background lives on, its output is lost two
// seconds after the command's end.
func (m *Machine) Run(ctx context.Context, user string, stdin io.Reader, argv ...string) (Result, error) {
	var stdout bytes.Buffer
	r, err := m.run(ctx, user, stdin, &stdout, argv)
	r.Stdout = stdout.String()
	return r, err
}

// run is Run with the output going to a writer instead of the result.
func (m *Machine) run(ctx context.Context, user string, stdin io.Reader, stdout io.Writer, argv []string) (Result,
	error) {
	ctx, stop := await.For(ctx, "the end of "+strings.Join(argv, " "), runLimit)
	defer stop()
	r, err := m.guest.run(ctx, cmp.Or(user, "root"), argv, stdin, stdout)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w\n%s", strings.Join(argv, " "), err, await.Tail(r.Stderr, 10))
	}
	return r, nil
}

func (b *box) run(ctx context.Context, user string, argv []string, stdin io.Reader, stdout io.Writer) (Result, error) {
	in, err := source(stdin)
	if err != nil {
		return Result{}, err
	}
	defer in.Close()
	var stderr bytes.Buffer
	var drained sync.WaitGroup
	out, fromOut, err := drain(&drained, stdout)
	if err != nil {
		return Result{}, err
	}
	defer fromOut.Close()
	defer out.Close()
	errs, fromErrs, err := drain(&drained, &stderr)
	if err != nil {
		return Result{}, err
	}
	defer fromErrs.Close()
	defer errs.Close()
	reply, err := b.call(call{user, argv}, in, out, errs)
	if err != nil {
		return Result{}, err
	}
	defer reply.Close()
	for _, f := range []*os.File{in, out, errs} {
		f.Close()
	}
	stop := context.AfterFunc(ctx, func() { reply.Close() })
	defer stop()
	var a answer
	err = json.NewDecoder(reply).Decode(&a)
	late := time.AfterFunc(outputLimit, func() {
		fromOut.Close()
		fromErrs.Close()
	})
	drained.Wait()
	late.Stop()
	r := Result{Stderr: stderr.String() + a.Err, Code: a.Code}
	if err != nil && !b.first.ended() {
		r.Code, err = 128+int(syscall.SIGKILL), nil // the agent was killed, as all of the box is by a soft reboot
	}
	return r, err
}

// source is a file that reads as r does, for another program; nil is empty.
func source(r io.Reader) (*os.File, error) {
	if r == nil {
		return os.Open(os.DevNull)
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	go func() {
		io.Copy(ours, r) // ends when they close theirs
		ours.Close()
	}()
	return theirs, nil
}

// drain copies what another program writes to theirs to w, until nobody has that open or ours is closed.
func drain(drained *sync.WaitGroup, w io.Writer) (theirs, ours *os.File, err error) {
	ours, theirs, err = os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("output: %w", err)
	}
	drained.Go(func() { io.Copy(w, ours) })
	return theirs, ours, nil
}

// exitCode is the code as a shell would give it.
func exitCode(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// plain is a script that calls one program with words that mean nothing to a shell.
var plain = regexp.MustCompile(`^(gpusched|systemctl|journalctl)( [A-Za-z0-9_./:=@%+,-]+)*$`)

// Sh runs a script by bash in the machine; otherwise as Run. Where bash would only start a program it is left out:
// most of what tests do is to look at something again and again.
func (m *Machine) Sh(ctx context.Context, user, script string) (Result, error) {
	if plain.MatchString(script) {
		return m.Run(ctx, user, nil, strings.Split(script, " ")...)
	}
	return m.Run(ctx, user, nil, "bash", "-c", script)
}

// Command is the command that Run would run, not started: for programs that are talked to while they run. Its Wait
// gives an *exec.ExitError as usual; on an emulated machine it waits for background processes with the output too.
func (m *Machine) Command(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), false)
}

// Terminal is Command on a terminal of the machine's own, for a program that talks to a person through our terminal.
func (m *Machine) Terminal(ctx context.Context, user string, argv ...string) *exec.Cmd {
	return m.guest.command(ctx, asUser(user, argv), true)
}

// asUser is the command that runs argv as user; image/customise.sh has the program.
func asUser(user string, argv []string) []string {
	if user == "" {
		user = "root"
	}
	return append([]string{"/usr/local/libexec/vm-as", user}, argv...)
}

// Journal runs journalctl as root with args and returns what it printed.
func (m *Machine) Journal(ctx context.Context, args ...string) (string, error) {
	out, err := m.output(ctx, append([]string{"journalctl", "--no-pager"}, args...)...)
	if err != nil {
		return "", fmt.Errorf("journal: %w", err)
	}
	return out, nil
}

// output is what a command of root's prints, which must succeed.
func (m *Machine) output(ctx context.Context, argv ...string) (string, error) {
	r, err := m.Run(ctx, "", nil, argv...)
	return r.Stdout, cmp.Or(err, r.Err())
}

// quote makes one line for a shell out of a command.
func quote(argv []string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}
