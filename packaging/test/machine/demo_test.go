package main

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// play plays steps with a typist. It returns what the reader sees, with all times masked, and the
// number of steps that went wrong.
func play(ctx context.Context, typed typist, steps ...step) (screen string, wrong int, err error) {
	var out strings.Builder
	p := player{typist: typed, out: &out, printed: map[string]string{}}
	wrong, err = p.play(ctx, steps)
	return regexp.MustCompile(`\d+\.\d s`).ReplaceAllString(out.String(), "T"), wrong, err
}

// echo prints the line. It exits with status 3 if the line is "three".
func echo(_ context.Context, _, line string, out io.Writer) (int, error) {
	io.WriteString(out, "you typed:\n\n  "+line)
	if line == "three" {
		return 3, nil
	}
	return 0, nil
}

func TestReaderSeesEachStep(t *testing.T) {
	screen, wrong, err := play(t.Context(), echo,
		step{"It echoes", []line{{typed: "a"}, {user: "bob", typed: "three", code: 3, prints: []string{"you typed: three"}}}},
		step{"It does so again", []line{{typed: "a", again: true, once: "true"}}})
	want := `
[ 1] It echoes
     root# a
       you typed:

         a
     bob$ three
       you typed:

         three
       (exit status 3)
     ok, T

[ 2] It does so again
     root# a
       you typed:

         a
     ok, T
`
	if screen != want || wrong != 0 || err != nil {
		t.Errorf("%d wrong, %v:\n%s", wrong, err, screen)
	}
}

// Invariant 2: a step that goes wrong says what was expected, and later steps are still played.
func TestWrongStepCounts(t *testing.T) {
	lines := 0
	counts := func(_ context.Context, _, _ string, out io.Writer) (int, error) {
		lines++
		io.WriteString(out, strings.Repeat("x", lines))
		return 0, nil
	}
	fails := func(context.Context, string, string, io.Writer) (int, error) { return 0, errors.New("it is gone") }
	for want, c := range map[string]struct {
		typed typist
		lines []line
	}{
		"status 4; it ended with 3":   {echo, []line{{typed: "three", code: 4}}},
		"status 0; it ended with 3":   {echo, []line{{typed: "three"}}},
		`should print "b"`:            {echo, []line{{typed: "a", prints: []string{"a", "b"}}}},
		"the same as before: x\n":     {counts, []line{{typed: "a"}, {typed: "a", again: true}}},
		"it is gone":                  {fails, []line{{typed: "a"}}},
		"should hold: it: it is gone": {fails, []line{{typed: "a", once: "it"}}},
	} {
		screen, wrong, err := play(t.Context(), c.typed, step{"wrong", c.lines}, step{"right", nil})
		if !strings.Contains(screen, want) || !strings.Contains(screen, "NOT as it should be, T") ||
			!strings.Contains(screen, "[ 2] right\n     ok") || wrong != 1 || err != nil {
			t.Errorf("%s: %d wrong, %v:\n%s", want, wrong, err, screen)
		}
	}
}

// Invariant 2: a line that hangs counts as wrong after its time limit. An interrupt ends the demo.
func TestLineThatHangs(t *testing.T) {
	hangs := func(ctx context.Context, _, _ string, _ io.Writer) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	synctest.Test(t, func(t *testing.T) {
		screen, wrong, err := play(t.Context(), hangs, step{"hangs", []line{{typed: "sleep"}}})
		if !strings.Contains(screen, "not within 2m0s") || wrong != 1 || err != nil {
			t.Errorf("%d wrong, %v:\n%s", wrong, err, screen)
		}
	})
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if screen, _, err := play(ctx, hangs, step{"hangs", []line{{typed: "sleep"}}}); !errors.Is(err, context.Canceled) ||
		strings.Contains(screen, "WRONG") {
		t.Errorf("%v:\n%s", err, screen)
	}
}
