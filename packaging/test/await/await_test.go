package await

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Invariants 1 and 2: a wait ends even if the awaited state is never reached.
func TestUntilEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		err := Until(t.Context(), "4 jobs to run", time.Minute, 7*time.Second, func(context.Context) (string, bool, error) {
			looks++
			return "3 run", false, nil
		})
		if err == nil || err.Error() != "waiting for 4 jobs to run: not within 1m0s; seen last: 3 run" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != time.Minute || looks != 9 {
			t.Errorf("after %s and %d looks", took, looks)
		}
	})
}

// If the function look hangs, its context ends together with the wait.
func TestUntilEndsALookThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Until(t.Context(), "an answer", time.Minute, time.Second, func(ctx context.Context) (string, bool, error) {
			<-ctx.Done()
			return "", false, ctx.Err()
		})
		if err == nil || err.Error() != "waiting for an answer: not within 1m0s" {
			t.Errorf("%v", err)
		}
	})
}

func TestUntilReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		if err := Until(t.Context(), "two", time.Minute, time.Second, func(context.Context) (string, bool, error) {
			looks++
			return "", looks == 2, nil
		}); err != nil || looks != 2 {
			t.Errorf("after %d looks: %v", looks, err)
		}
		broken := errors.New("broken")
		err := Until(t.Context(), "two", time.Minute, time.Second, func(context.Context) (string, bool, error) { return "", false, broken })
		if !errors.Is(err, broken) || err.Error() != "waiting for two: broken" {
			t.Errorf("%v", err)
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		err = Until(gone, "two", time.Minute, time.Second, func(context.Context) (string, bool, error) { return "one", false, nil })
		if err == nil || err.Error() != "interrupted; seen last: one" {
			t.Errorf("%v", err)
		}
	})
}

func TestOutput(t *testing.T) {
	if out, err := Output(t.Context(), time.Minute, []string{"sh", "-c", "echo out; echo err >&2"}); out != "out\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	out, err := Output(t.Context(), time.Minute, []string{"sh", "-c", "echo out; echo why >&2; exit 3"})
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !strings.HasSuffix(err.Error(), "exit status 3\nout\nwhy") || out != "out\n" {
		t.Errorf("%q, %v", out, err)
	}
	_, err = Output(t.Context(), 50*time.Millisecond, []string{"sh", "-c", "echo began; exec sleep 1000"})
	if err == nil || !strings.HasPrefix(err.Error(), "waiting for sh -c echo began; exec sleep 1000: not within 50ms") || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	if _, err := Output(t.Context(), time.Minute, []string{"/no/such"}); err == nil || !strings.HasPrefix(err.Error(), "/no/such: ") {
		t.Errorf("%v", err)
	}
}

func TestTail(t *testing.T) {
	for _, c := range []struct{ text, want string }{{"", ""}, {"a\n", "a"}, {"a\nb\nc\n\n", "b\nc"}} {
		if got := Tail(c.text, 2); got != c.want {
			t.Errorf("the last two lines of %q are %q", c.text, got)
		}
	}
}
