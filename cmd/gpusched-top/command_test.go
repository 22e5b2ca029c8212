package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
)

// Complete lines are passed on. A progress bar is reduced to its last state.
func TestSplit(t *testing.T) {
	var text bytes.Buffer
	text.WriteString("one\r\ntwo\nbar 1\rbar 2\rbar 3\nab\bc\n10 %\r20")
	lines, last := splitLines(&text)
	if want := []string{"one", "two", "bar 3", "ac"}; !slices.Equal(lines, want) || last != "20" {
		t.Errorf("%q and %q", lines, last)
	}
	text.WriteString(" %\n")
	if lines, last = splitLines(&text); !slices.Equal(lines, []string{"20 %"}) || last != "" {
		t.Errorf("%q and %q", lines, last)
	}
	text.WriteString(strings.Repeat("x", maxLine+1))
	if lines, last = splitLines(&text); len(lines) != 1 || last != "" {
		t.Errorf("a line without an end: %d lines, and %d bytes", len(lines), len(last))
	}
}

// A command has a terminal of the pane's size, and its output arrives without control sequences.
// The last message says that the command has ended.
func TestCommand(t *testing.T) {
	script := t.TempDir() + "/gpusched"
	body := "#!/bin/sh\ntest -t 1 && stty size && echo $COLUMNS $NO_COLOR \"$@\" && printf '\\033[31mred\\033]0;title\\007\\n'\n"
	if err := os.WriteFile(script, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	c := command{program: script, own: true, environ: os.Environ()}
	var lines []string
	end := c.runCommand(screen.Open{Pane: 3, Args: []string{"show", "7"}, Width: 57, Height: 11}, func(msg tea.Msg) {
		lines = append(lines, msg.(screen.Printed).Lines...)
	})
	if want := []string{"11 57", "57 1 --user show 7", "red"}; !slices.Equal(lines, want) {
		t.Errorf("it printed %q", lines)
	}
	if p := end.(screen.Printed); !p.Ended || p.Pane != 3 {
		t.Errorf("the end is %+v", p)
	}
	c = command{program: "/nonexistent/gpusched"}
	if p := c.runCommand(screen.Open{Width: 80, Height: 20}, nil).(screen.Printed); !p.Ended || len(p.Lines) != 1 {
		t.Errorf("for a missing program: %+v", p)
	}
}

// Closing the pane ends its command.
func TestClose(t *testing.T) {
	script := t.TempDir() + "/gpusched"
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho up; exec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, up, done := &command{program: script, environ: os.Environ()}, make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		c.runCommand(screen.Open{Width: 80, Height: 20}, func(tea.Msg) { up <- struct{}{} })
	}()
	<-up
	c.resize(100, 30)
	c.close()
	<-done
	c.close()
}

// TERM and the locale decide whether the screen uses colours and more than ASCII.
func TestTerminals(t *testing.T) {
	for _, c := range []struct {
		environ       string
		colour, ascii bool
	}{
		{"TERM=xterm-256color LANG=en_US.UTF-8", true, false},
		{"TERM=tmux-256color LC_ALL=C.utf8", true, false},
		{"TERM=xterm LANG=de_DE.UTF-8 LC_ALL=C", true, true},
		{"TERM=xterm", true, true},
		{"TERM=xterm LANG=C.UTF-8 NO_COLOR=1", false, false},
		{"TERM=vt100 LANG=C.UTF-8", false, true},
		{"TERM=vt220 LANG=C.UTF-8", false, true},
		{"TERM=dumb LANG=C.UTF-8", false, true},
		{"TERM=linux LANG=C.UTF-8", true, true},
		{"TERM=xterm-mono LANG=C.UTF-8", false, false},
		{"LANG=C.UTF-8", false, false},
	} {
		getenv := func(name string) string {
			for word := range strings.FieldsSeq(c.environ) {
				if value, ok := strings.CutPrefix(word, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if colour, ascii := hasColours(getenv), plainText(getenv); colour != c.colour || ascii != c.ascii {
			t.Errorf("%s: colour %v, ASCII %v", c.environ, colour, ascii)
		}
	}
}
