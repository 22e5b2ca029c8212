package vm

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// An endMark searches the standard error of a remote shell for a line that the shell writes after a
// command. The line has the command's exit code. ssh alone is not enough: it does not report the
// exit code while a background process keeps the output open. It also cannot distinguish a broken
// connection (255) from a command that exits with 255.
type endMark struct {
	word string // random word at the beginning of the line
	text bytes.Buffer
	seen func() // called once, when the line has arrived completely
}

// newEndMark returns an endMark that calls the given function when the line has arrived.
func newEndMark(found func()) *endMark {
	return &endMark{word: "vm-end-" + rand.Text() + " ", seen: found}
}

// line returns a shell command that writes the line with the exit code. It must run right after the
// user's command.
func (e *endMark) line() string {
	return fmt.Sprintf(`code=$?; printf '%s%%d\n' $code >&2; exit $code`, e.word)
}

// Write implements io.Writer. It never fails.
func (e *endMark) Write(p []byte) (int, error) {
	e.text.Write(p)
	if _, _, ok := e.result(); ok && e.seen != nil {
		e.seen()
		e.seen = nil
	}
	return len(p), nil
}

// result returns the standard error of the command itself, without the line. If the line has
// arrived, result also returns the exit code.
func (e *endMark) result() (stderr string, code int, ok bool) {
	before, after, found := strings.Cut(e.text.String(), e.word)
	digits, after, whole := strings.Cut(after, "\n")
	code, err := strconv.Atoi(digits)
	if !found || !whole || err != nil {
		return e.text.String(), 0, false
	}
	return before + after, code, true
}

// errNoEnd reports a session that ended without the command's exit code.
var errNoEnd = errors.New("the connection ended before the command did")

func (e *emulated) run(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) (Result, error) {
	ended := make(chan struct{})
	mark := newEndMark(func() { close(ended) })
	cmd := e.session(ctx, quote(argv)+"; "+mark.line(), false)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, mark
	cmd.WaitDelay = outputLimit
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("ssh: %w", err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	var err error
	select {
	case err = <-gone:
	case <-ended:
		late := time.AfterFunc(outputLimit, func() { cmd.Process.Kill() })
		err = <-gone
		late.Stop()
	}
	stderr, code, ok := mark.result()
	if !ok {
		return Result{Stderr: stderr}, errors.Join(errNoEnd, err)
	}
	return Result{Stderr: stderr, Code: code}, nil
}
