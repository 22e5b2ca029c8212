package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// lineLimit is the time limit of each line of a step. Natively a line takes a second.
const lineLimit = 2 * time.Minute

// A step shows one thing. It has lines to type and says what each line must do.
type step struct {
	shows string // a sentence for the reader
	lines []line
}

// A line is a command line that one user types.
type line struct {
	user   string // "" is root
	typed  string
	code   int      // expected exit status
	prints []string // expected parts of its output; several spaces or line breaks count as one space
	again  bool     // the output must equal the earlier output of the same line
	once   string   // shell condition that must hold before the line is typed
}

// A typist types a line as a user and returns its exit
// status. The line's output goes to out as it is printed.
type typist func(ctx context.Context, user, line string, out io.Writer) (code int, err error)

// typistIn returns a typist for a machine.
func typistIn(m *vm.Machine) typist {
	return func(ctx context.Context, user, line string, out io.Writer) (int, error) {
		cmd := m.Command(ctx, user, "bash", "-c", line)
		cmd.Stdout, cmd.Stderr = out, out
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Exited() && ctx.Err() == nil {
			return exit.ExitCode(), nil
		}
		return 0, await.Cause(ctx, err)
	}
}

// demo plays the steps in a machine. It returns 0 if all steps worked as expected.
func demo(ctx context.Context, m *vm.Machine) (int, error) {
	p := player{typist: typistIn(m), out: os.Stdout, printed: map[string]string{}}
	steps := demoSteps(m.Kind())
	if m.HasControllers() {
		steps = append(steps, memoryStep)
	}
	began := time.Now()
	wrong, err := p.play(ctx, steps)
	if err != nil {
		return 0, err
	}
	missed := ""
	if !m.HasControllers() {
		fmt.Printf("\n[%2d] %s\n", len(steps)+1, memoryNotShown)
		missed = "; not shown here: the host memory limit"
	}
	fmt.Printf("\ndemo: %d steps as they should be, %d not, in %.1f s%s\n", len(steps)-wrong, wrong,
		time.Since(began).Seconds(), missed)
	if os.Getenv("KEEP") != "" {
		err = openShell(ctx, m)
	}
	return min(wrong, 1), err
}

// A player plays steps and shows them as they happen.
type player struct {
	typist  typist
	out     io.Writer
	printed map[string]string // earlier output of each line
}

// play plays the steps in order and returns how many of them failed. It returns an error only if
// ctx ends.
func (p *player) play(ctx context.Context, steps []step) (wrong int, err error) {
	for i, s := range steps {
		fmt.Fprintf(p.out, "\n[%2d] %s\n", i+1, s.shows)
		began, word := time.Now(), "ok"
		if !p.step(ctx, s) {
			word, wrong = "NOT as it should be", wrong+1
		}
		if ctx.Err() != nil {
			return wrong, context.Cause(ctx)
		}
		fmt.Fprintf(p.out, "     %s, %.1f s\n", word, time.Since(began).Seconds())
	}
	return wrong, nil
}

// step types the lines of a step and stops at the first line that goes wrong. It reports whether
// all lines worked as expected.
func (p *player) step(ctx context.Context, s step) bool {
	for _, l := range s.lines {
		fault := p.line(ctx, l)
		if ctx.Err() != nil {
			return false // after an interrupt the result of the line means nothing
		}
		if fault != "" {
			fmt.Fprintf(p.out, "     WRONG: %s\n", fault)
			return false
		}
	}
	return true
}

// line types one line and returns what went wrong, or "".
func (p *player) line(ctx context.Context, l line) string {
	ctx, stop := await.For(ctx, "the end of this line", lineLimit)
	defer stop()
	if l.once != "" {
		if _, err := p.typist(ctx, l.user, "until "+l.once+"; do sleep 0.1; done", io.Discard); err != nil {
			return fmt.Sprintf("before %q is typed this should hold: %s: %v", l.typed, l.once, err)
		}
	}
	prompt := "root#"
	if l.user != "" {
		prompt = l.user + "$"
	}
	fmt.Fprintf(p.out, "     %s %s\n", prompt, l.typed)
	out := indentWriter{to: p.out}
	code, err := p.typist(ctx, l.user, l.typed, &out)
	out.endLine()
	if err != nil {
		return fmt.Sprintf("this should end with status %d: %v", l.code, err)
	}
	if code != 0 {
		fmt.Fprintf(p.out, "       (exit status %d)\n", code)
	}
	before := p.printed[l.typed]
	p.printed[l.typed] = out.all.String()
	return l.fault(code, out.all.String(), before)
}

// fault returns what is wrong with a line's exit code and output, or "". The argument earlier is
// the earlier output of the same line.
func (l line) fault(code int, printed, earlier string) string {
	if code != l.code {
		return fmt.Sprintf("this should end with status %d; it ended with %d", l.code, code)
	}
	if l.again && printed != earlier {
		return "this should print the same as before: " + earlier
	}
	for _, part := range l.prints {
		if !strings.Contains(strings.Join(strings.Fields(printed), " "), part) {
			return fmt.Sprintf("this should print %q", part)
		}
	}
	return ""
}

// An indentWriter indents lines, passes them on as they arrive, and keeps them.
type indentWriter struct {
	to  io.Writer
	all bytes.Buffer
	mid bool // the last write ended inside a line
}

func (w *indentWriter) Write(text []byte) (int, error) {
	w.all.Write(text)
	for part := range bytes.Lines(text) {
		if !w.mid && len(part) > 1 {
			io.WriteString(w.to, "       ")
		}
		w.to.Write(part)
		w.mid = !bytes.HasSuffix(part, []byte("\n"))
	}
	return len(text), nil
}

// endLine completes an unfinished line.
func (w *indentWriter) endLine() {
	if w.mid {
		io.WriteString(w.to, "\n")
	}
}

// openShell opens a shell in the machine. Without a terminal it waits for an interrupt instead.
func openShell(ctx context.Context, m *vm.Machine) error {
	if onTerminal() {
		fmt.Print("\nA root shell in the machine: 'su - alice' and 'su - bob' become a user; 'exit' ends the machine.\n")
		_, err := runOnTerminal(ctx, m, nil)
		return err
	}
	line := m.SSHCommand()
	if line == "" {
		fmt.Print("\nThe machine stays up; Ctrl-C ends it. On a terminal a root shell follows here.\n")
	} else {
		fmt.Printf("\nThe machine stays up until Ctrl-C. Log in from another terminal by\n  %s\n"+
			"and become a user by 'su - alice'.\n", line)
	}
	<-ctx.Done()
	return nil
}
