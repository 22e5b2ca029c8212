package client

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
)

// onOneScreen checks that a help text fits 80 columns and 23 lines. The last of a terminal's 24
// lines is left for the prompt.
func onOneScreen(t *testing.T, command, text string) {
	t.Helper()
	if n := strings.Count(text, "\n"); n > 23 {
		t.Errorf("%s --help has %d lines:\n%s", command, n, text)
	}
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 79 {
			t.Errorf("%s --help: %d columns: %s", command, n, line)
		}
	}
}

// The --help of each command fits on one screen and names only commands that exist.
func TestHelpIsOneScreen(t *testing.T) {
	m := model(t)
	var b bytes.Buffer
	parse.WriteBriefProgram(&b, m.Node)
	onOneScreen(t, "gpusched", b.String())
	for _, n := range slices.Concat(m.Leaves(true), m.Children) {
		path := manual.CommandPath(n)
		b.Reset()
		parse.WriteBrief(&b, n)
		onOneScreen(t, path, b.String())
		for o := range strings.FieldsSeq(parse.AboutNode(n).Options) {
			if parse.FlagNamed(n, "--"+o) == nil {
				t.Errorf("%s has no --%s", path, o)
			}
		}
	}
}

// briefWords is how many of 80 columns are left for the text of the option with the longest name.
const briefWords = 52

// These patterns match a text in --help that was cut, or that needs the texts around it.
var (
	endsEarly   = regexp.MustCompile(`([,:;(….]|\b(a|an|and|as|no|of|or|so|such|that|the|until|when|which))$`)
	beginsLate  = regexp.MustCompile(`^(Of|Or|And|But|Such|The file$)\b`)
	pointsAbout = regexp.MustCompile(`(?i)\bsuch (a|an|files?|jobs?|links?|lines?)\b|^the same$`)
)

// isWhole reports whether a text can be understood by itself.
func isWhole(text string) bool {
	return text != "" && !endsEarly.MatchString(text) && !beginsLate.MatchString(text) &&
		!pointsAbout.MatchString(text) && strings.Count(text, "(") == strings.Count(text, ")")
}

// Each option has a short text that can be understood by itself. No text is cut.
func TestWordsForOptionsAreWhole(t *testing.T) {
	m := model(t)
	for _, n := range slices.Concat(m.Leaves(true), m.Children) {
		path := manual.CommandPath(n)
		if text := strings.TrimSuffix(n.Help, "."); !isWhole(text) {
			t.Errorf("%s: %q is not whole", path, n.Help)
		}
		for _, f := range slices.Concat(n.Flags, m.Flags) {
			text := manual.OfOption(n, f).Brief
			if wide := utf8.RuneCountInString(text); wide > briefWords {
				t.Errorf("%s --%s: %q has %d columns, over %d: put a short text after its name in options.txt", path, f.Name, text, wide, briefWords)
			}
			if !isWhole(text) && !strings.HasSuffix(text, ", …") {
				t.Errorf("%s --%s: %q is not whole", path, f.Name, text)
			}
		}
	}
	for _, text := range []string{"", "Of another user's job, for root", "commands (one on each line), columns of (a", "How often to look at t…",
		"Append a line to such a file", "What has a row of its own: user or"} {
		if isWhole(text) {
			t.Errorf("%q passes", text)
		}
	}
}

func TestHelpOffersTheFormsThatACommandTakes(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		f := parse.FlagNamed(n, "--output")
		if f == nil {
			continue
		}
		takes := cli.Forms
		if f.Enum != "" {
			takes = strings.Split(strings.TrimPrefix(f.Enum, ","), ",")
		}
		offers := strings.FieldsFunc(strings.ReplaceAll(manual.OfOption(n, f).Brief, " or ", " "), func(r rune) bool { return r == ' ' || r == ',' })
		slices.Sort(offers)
		if takes = slices.Sorted(slices.Values(takes)); !slices.Equal(offers, takes) {
			t.Errorf("%s -o: help offers %q, it takes %q", manual.CommandPath(n), offers, takes)
		}
	}
}

// The options that people use most fit submit's --help.
func TestSubmitHelpHasWhatPeopleUse(t *testing.T) {
	var b bytes.Buffer
	parse.WriteBrief(&b, parse.ChildNamed(model(t).Node, "submit"))
	for _, name := range strings.Fields("gpus mem time name log begin notify set-env retries after-ok array wait") {
		if !strings.Contains(b.String(), " --"+name+"=") && !strings.Contains(b.String(), " --"+name+" ") {
			t.Errorf("gpusched submit --help lacks --%s:\n%s", name, b.String())
		}
	}
}
