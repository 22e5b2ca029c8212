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

// A LateError is a wait that came to its limit.
type LateError struct {
	What  string
	Limit time.Duration
}

func (e *LateError) Error() string {
	return fmt.Sprintf("waiting for %s: not within %s", e.What, e.Limit)
}

// Unwrap makes it one of the errors of time that ran out.
func (e *LateError) Unwrap() error { return context.DeadlineExceeded }

// For bounds what is done under the context that it returns: it ends after limit, and Cause then reports what was
// waited for. Call stop when the wait is over.
func For(ctx context.Context, what string, limit time.Duration) (bounded context.Context, stop context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, &LateError{what, limit})
}

// Cause is why a wait under ctx failed with err: where the context ended it is the reason for that, and err besides
// if it says more. Without an error there is none.
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

// Until calls look every so often until it is told that it is so, for limit at most. What look saw is for the error. An
// error of look's ends the wait.
func Until(ctx context.Context, what string, limit, every time.Duration,
	look func(context.Context) (seen string, ok bool, err error)) error {
	return Watch(ctx, what, limit, func(ctx context.Context) error {
		select {
		case <-time.After(every):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, look)
}

// Watch is Until for those who hear when it is worth another look: next returns then, or when its context ends.
func Watch(ctx context.Context, what string, limit time.Duration, next func(context.Context) error,
	look func(context.Context) (seen string, ok bool, err error)) error {
	ctx, stop := For(ctx, what, limit)
	defer stop()
	for {
		seen, ok, err := look(ctx)
		if err == nil && !ok {
			err = next(ctx)
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
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
	}
}

// Output runs a command for limit at most and returns what it wrote to its standard output. Set prepares the command.
// The error has the last lines of what it wrote; an *exec.ExitError can be found in it.
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
	return stdout.String(), fmt.Errorf("%w%s", Cause(ctx, err), indented(Tail(stdout.String()+stderr.String(), lastLines)))
}

const (
	// patience is how long what a command left running may hold its output open.
	patience = 5 * time.Second
	// lastLines is how much of a command's output is in an error.
	lastLines = 20
)

// Tail is the last n lines of text.
func Tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// indented puts text on lines of its own; none is nothing.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "\n" + text
}
