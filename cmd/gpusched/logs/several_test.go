package logs

import (
	"bufio"
	"bytes"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// Another machine gets all options that were typed here.
func TestOtherMachinesGetTheSameOptions(t *testing.T) {
	for _, c := range []Cmd{
		{}, {Follow: true}, {Lines: 5, Times: true}, {Attempt: cli.EveryAttempt}, {Attempt: 2, Failed: true},
	} {
		c.IDs = []string{"7", "@~1"}
		parser, err := parse.New(&struct {
			Logs Cmd `cmd:""`
		}{}, io.Discard, nil)
		if err != nil {
			t.Fatal(err)
		}
		k, err := parser.Parse(c.line(c.IDs))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := k.Selected().Target.Addr().Interface().(*Cmd)
		if !reflect.DeepEqual(got, &c) {
			t.Errorf("%q: %+v", c.line(c.IDs), got)
		}
	}
}

func TestLinesOfSeveralMachinesDoNotMix(t *testing.T) {
	var text bytes.Buffer
	var mu sync.Mutex
	to := &term.Terminal{W: bufio.NewWriter(&text)}
	x, y := &lineWriter{mu: &mu, to: to}, &lineWriter{mu: &mu, to: to}
	for _, step := range []struct {
		w    *lineWriter
		text string
	}{{x, "a:1: hel"}, {y, "b:1: hi\nb:1: th"}, {x, "lo\n"}, {y, "ere"}} {
		if n, err := step.w.Write([]byte(step.text)); n != len(step.text) || err != nil {
			t.Errorf("%q: %d, %v", step.text, n, err)
		}
	}
	x.finishLine()
	y.finishLine()
	if want := "b:1: hi\na:1: hello\nb:1: there\n"; text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
	to.TTY = true
	if _, err := x.Write([]byte("\x1b[2Jhi\x1b]0;x\a\n")); err != nil || strings.ContainsAny(text.String(), "\x1b\a") {
		t.Errorf("%q, %v", text.String(), err)
	}
}
