package await

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// A LateError reports a wait that reached its limit.
type LateError struct {
	What  string
	Limit time.Duration
}

func (e *LateError) Error() string {
	return fmt.Sprintf("waiting for %s: not within %s", e.What, e.Limit)
}

// Unwrap makes errors.Is(err, context.DeadlineExceeded) true for a LateError.
func (e *LateError) Unwrap() error { return context.DeadlineExceeded }

// For returns a context that ends when the limit is over. Cause then returns an error that says
// which wait ended. The caller calls stop when the wait is over.
func For(ctx context.Context, what string, limit time.Duration) (bounded context.Context, stop context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, &LateError{what, limit})
}

// Cause returns the reason why a wait under ctx failed with err. If ctx has ended, the reason is
// the cause of its end. Cause adds err to this reason if err says more. Cause returns nil if err is
// nil.
func Cause(ctx context.Context, err error) error {
	why := context.Cause(ctx)
	switch {
	case err == nil || why == nil || errors.Is(err, why):
		return err
	case err.Error() == ctx.Err().Error():
		return why
	}
	return fmt.Errorf("%w: %w", why, err)
}

// Until calls the function check again and again until the function reports ok or the time limit is
// over. The argument every is the pause between two calls. If a call returns an error, the wait
// ends. An error from Until quotes what the last call saw.
func Until(ctx context.Context, description string, limit, every time.Duration,
	check func(context.Context) (seen string, ok bool, err error)) error {
	return Watch(ctx, description, limit, func(ctx context.Context) error {
		select {
		case <-time.After(every):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, check)
}

// Watch is like Until, but calls the function pause between two calls of the function check. The
// function pause returns when the next call of check is due, or when its context ends.
func Watch(ctx context.Context, description string, limit time.Duration, pause func(context.Context) error,
	check func(context.Context) (seen string, ok bool, err error)) error {
	ctx, stop := For(ctx, description, limit)
	defer stop()
	for {
		seen, ok, err := check(ctx)
		if err == nil && !ok {
			err = pause(ctx)
		}
		switch {
		case err == nil && ok:
			return nil
		case err == nil:
		case ctx.Err() != nil && seen != "":
			return fmt.Errorf("%w; seen last: %s", Cause(ctx, err), seen)
		case ctx.Err() != nil:
			return Cause(ctx, err)
		default:
			return fmt.Errorf("waiting for %s: %w", description, err)
		}
	}
}

// Output runs a command within a time limit and returns its standard output. Before it starts the
// command, it calls the functions in the argument set, which may change the command. An error
// contains the last lines of the output and wraps any *exec.ExitError.
func Output(ctx context.Context, limit time.Duration, argv []string, set ...func(*exec.Cmd)) (string, error) {
	ctx, stop := For(ctx, strings.Join(argv, " "), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = patience
	for _, s := range set {
		s(cmd)
	}
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return stdout.String(), fmt.Errorf("%w%s", Cause(ctx, err), indent(Tail(stdout.String()+stderr.String(), lastLines)))
}

const (
	// patience limits how long the background processes of a command may keep its output open after
	// its end.
	patience = 5 * time.Second
	// lastLines is the number of output lines that an error quotes.
	lastLines = 20
)

// Tail returns the last n lines of text.
func Tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// indent puts a non-empty text on a new line.
func indent(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text
}
