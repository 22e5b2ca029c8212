package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := newParser(&grammar{}, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// words collects the words of a table of the manual.
func words(list []entry) map[string]bool {
	out := map[string]bool{}
	for _, e := range list {
		if e.text == "" || out[e.word] {
			panic("an entry is empty or there twice: " + e.word)
		}
		out[e.word] = true
	}
	return out
}

// Rule 9 of the house: what the code can say is in the manual, and nothing else.
func TestTheManualKnowsEveryReasonStateAndStatus(t *testing.T) {
	reasons := words(reasonTexts)
	for _, code := range job.ReasonCodes() {
		if !reasons[string(code)] {
			t.Errorf("reason %s is not in the manual", code)
		}
		if r := (job.Reason{Code: code, GPU: job.NoGPU}); r.Sentence() == string(code) {
			t.Errorf("reason %s has no sentence", code)
		}
	}
	states := words(stateTexts)
	for _, s := range job.States() {
		if !states[string(s)] {
			t.Errorf("state %s is not in the manual", s)
		}
		delete(states, string(s))
	}
	if len(states) > 0 {
		t.Errorf("the manual knows states that do not exist: %v", states)
	}
	statuses := words(exitStatuses)
	for _, code := range []api.Code{api.CodeInternal, api.CodeUsage, api.CodeNotFound, api.CodeForbidden, api.CodeUnreachable,
		api.CodeNever, api.CodeWaitTimeout, api.CodePolicy, api.CodeConflict, api.CodeUnavailable} {
		if !statuses[number(int64(code.ExitStatus()))] {
			t.Errorf("exit status %d is not in the manual", code.ExitStatus())
		}
	}
}

func TestEveryCommandAndOptionIsExplained(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		path := commandPath(n)
		if !strings.HasSuffix(n.Help, ".") {
			t.Errorf("%s has no help", path)
		}
		if len(n.Positional) > 0 && n.Tag.Get("usage") == "" {
			t.Errorf("%s has no usage line", path)
		}
		for _, f := range n.Flags {
			if f.Name != "help" && !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s has no help", path, f.Name)
			}
			if !f.IsBool() && f.PlaceHolder == "" {
				t.Errorf("%s --%s does not say what its value is", path, f.Name)
			}
		}
		for _, p := range n.Positional {
			if p.Help == "" {
				t.Errorf("%s %s has no help", path, p.Name)
			}
		}
	}
}

// The short way of building the parser must parse as the long one does.
func TestAPartOfTheGrammarIsTheCommand(t *testing.T) {
	for _, n := range model(t).Children {
		for _, word := range append([]string{n.Name}, n.Aliases...) {
			part := grammarFor([]string{word})
			if _, whole := part.(*grammar); whole {
				t.Errorf("the whole grammar is built for %s", word)
				continue
			}
			k, err := newParser(part, io.Discard, func(int) {})
			if err != nil {
				t.Fatal(err)
			}
			if c := k.Model.Children; len(c) != 1 || c[0].Name != n.Name {
				t.Errorf("%s builds %v, want %s", word, c, n.Name)
			}
		}
	}
	if _, whole := grammarFor([]string{"nosuch"}).(*grammar); !whole {
		t.Error("an unknown command is not looked for in the whole grammar")
	}
}

func manual(t *testing.T, epoch string) map[string]string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "new")
	var b bytes.Buffer
	a := &app{out: &term.Terminal{W: bufio.NewWriter(&b)}, getenv: func(string) string { return epoch }}
	if err := writeManual(t.Context(), a, []string{dir}); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(f)] = string(text)
	}
	return pages
}

// Invariant 6.
func TestTheManualIsWholeAndReproducible(t *testing.T) {
	pages, again := manual(t, ""), manual(t, "")
	main := pages["gpusched.1"]
	for _, n := range model(t).Leaves(true) {
		page, ok := pages[pageName(n)+".1"]
		if !ok {
			t.Errorf("%s has no page", commandPath(n))
		}
		for _, f := range n.Flags {
			if !f.Hidden && !strings.Contains(page, roff(f.Name)+`\fP`) {
				t.Errorf("the page of %s lacks --%s", commandPath(n), f.Name)
			}
		}
		if !strings.Contains(main, roff(pageName(n))+" (1)") {
			t.Errorf("gpusched(1) does not point to %s", pageName(n))
		}
	}
	for _, list := range [][]entry{exitStatuses, reasonTexts, stateTexts, jobVariables, ownSettings} {
		for _, e := range list {
			if !strings.Contains(main, ".B "+roff(e.word)+"\n") {
				t.Errorf("gpusched(1) lacks %s", e.word)
			}
		}
	}
	for name, page := range pages {
		if page != again[name] {
			t.Errorf("%s differs from run to run", name)
		}
		if !strings.Contains(page, ` 1 "" "gpusched`) {
			t.Errorf("%s has a date that nobody gave: %.200s", name, page)
		}
		for i, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "'") || strings.Contains(line, "\x01") || strings.Contains(line, "\x02") {
				t.Errorf("%s:%d: %q", name, i+1, line)
			}
		}
	}
	if dated := manual(t, "86400")["gpusched.1"]; !strings.Contains(dated, `.TH GPUSCHED 1 "1970\-01\-02"`) {
		t.Errorf("SOURCE_DATE_EPOCH is not the date: %.200s", dated)
	}
}

func TestCommandsInQuotesAreBold(t *testing.T) {
	for in, want := range map[string]string{
		"see 'gpusched list'":                   `see \fBgpusched list\fP`,
		"the GPU's, by 'gpusched cancel 7'.":    `the GPU's, by \fBgpusched cancel 7\fP.`,
		"can't, or 'tomorrow 8:00', or its's '": `can't, or 'tomorrow 8:00', or its's '`,
	} {
		if got := emphasised(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestWithCommand(t *testing.T) {
	for in, want := range map[string]string{
		"": "status", "--json": "status --json", "-o ids": "status -o ids", "--help": "--help", "-h": "-h", "list -a": "list -a",
	} {
		if got := strings.Join(withCommand(strings.Fields(in)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
