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

// onOneScreen holds a help to a terminal of 24 lines, of which the prompt has one, and 80 columns.
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

// TestHelpIsOneScreen: --help of each command fits, and what it names is there.
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

// briefWords is how wide the words for an option are at most: the widest option leaves so much of 80 columns.
const briefWords = 52

// What a line of --help looks like that was cut, or that only its neighbours make sense of.
var (
	endsEarly   = regexp.MustCompile(`([,:;(….]|\b(a|an|and|as|no|of|or|so|such|that|the|until|when|which))$`)
	beginsLate  = regexp.MustCompile(`^(Of|Or|And|But|Such|The file$)\b`)
	pointsAbout = regexp.MustCompile(`(?i)\bsuch (a|an|files?|jobs?|links?|lines?)\b|^the same$`)
)

// isWhole reports whether words say something by themselves.
func isWhole(text string) bool {
	return text != "" && !endsEarly.MatchString(text) && !beginsLate.MatchString(text) &&
		!pointsAbout.MatchString(text) && strings.Count(text, "(") == strings.Count(text, ")")
}

// Each option has few words of its own that can be read alone; nothing cuts longer ones.
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
				t.Errorf("%s --%s: %q has %d columns, over %d: say it in few behind the name in options.txt", path, f.Name, text, wide, briefWords)
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

// --output offers the forms that the command takes, and no other.
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

// What people ask for most when they submit is on the one screen.
func TestSubmitHelpHasWhatPeopleUse(t *testing.T) {
	var b bytes.Buffer
	parse.WriteBrief(&b, parse.ChildNamed(model(t).Node, "submit"))
	for _, name := range strings.Fields("gpus mem time name log begin notify set-env retries after-ok array wait") {
		if !strings.Contains(b.String(), " --"+name+"=") && !strings.Contains(b.String(), " --"+name+" ") {
			t.Errorf("gpusched submit --help lacks --%s:\n%s", name, b.String())
		}
	}
}
