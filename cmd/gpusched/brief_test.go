package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
)

// onOneScreen holds a help to a terminal of 24 lines, of which the prompt has one, and 80 columns.
func onOneScreen(t *testing.T, command, text string) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > 23 {
		t.Errorf("%s --help has %d lines:\n%s", command, n, text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%s --help: %d columns: %s", command, n, line)
		}
	}
}

// TestHelpIsOneScreen: --help of each command fits, and what it names is there.
func TestHelpIsOneScreen(t *testing.T) {
	m := model(t)
	var b bytes.Buffer
	writeBriefProgram(&b, m.Node)
	onOneScreen(t, "gpusched", b.String())
	for _, name := range briefCommands {
		if childNamed(m.Node, name) == nil {
			t.Errorf("there is no command %s", name)
		}
	}
	known := []string{}
	for _, n := range slices.Concat(m.Leaves(true), m.Children) {
		path := manual.CommandPath(n)
		b.Reset()
		writeBrief(&b, n)
		onOneScreen(t, path, b.String())
		name := strings.TrimPrefix(path, "gpusched ")
		known = append(known, name)
		for _, o := range briefs[name].options {
			if flagNamed(n, "--"+o.name) == nil {
				t.Errorf("%s has no --%s", path, o.name)
			}
		}
	}
	for name := range briefs {
		if !slices.Contains(known, name) {
			t.Errorf("there is no command %s", name)
		}
	}
}

func TestClause(t *testing.T) {
	for _, c := range []struct {
		text string
		room int
		want string
	}{
		{"Short.", 10, "Short."}, {"Come back, or see what is printed.", 12, "Come back"},
		{"At its end: this, or that.", 14, "At its end"}, {"One long sentence without a part", 12, "One long se…"},
	} {
		if got := clause(c.text, c.room); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}
