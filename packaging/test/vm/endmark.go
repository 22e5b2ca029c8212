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

// An endMark finds, in a remote shell's standard error, the line in which the shell reports the
// command's exit code. ssh alone would not report it while a background process holds the output
// open, and could not tell a broken connection (255) from a command that exits with 255.
type endMark struct {
	word string // random word that begins the line
	text bytes.Buffer
	seen func() // called once, when the line is complete
}

// newEndMark returns an endMark that calls seen when it has found its line.
func newEndMark(seen func()) *endMark {
	return &endMark{word: "vm-end-" + rand.Text() + " ", seen: seen}
}

// line returns the shell command that writes the line; it runs right after the command.
func (e *endMark) line() string {
	return fmt.Sprintf(`code=$?; printf '%s%%d\n' $code >&2; exit $code`, e.word)
}

// Write implements io.Writer; it never fails.
func (e *endMark) Write(p []byte) (int, error) {
	e.text.Write(p)
	if _, _, ok := e.result(); ok && e.seen != nil {
		e.seen()
		e.seen = nil
	}
	return len(p), nil
}

// result returns the command's own standard error, and its exit code if the line was found.
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
