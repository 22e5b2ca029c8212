package main

import (
	"os"
	"strings"
	"testing"
)

// A survivor is explained by the text of its line, so the line must be there.
func TestExplainedLinesAreThere(t *testing.T) {
	excuses, err := readExcuses()
	if err != nil {
		t.Fatal(err)
	}
	for e := range excuses {
		text, err := os.ReadFile("../../../" + e.file)
		if err != nil {
			t.Error(err)
		} else if !hasLine(string(text), e.line) {
			t.Errorf("%s has no line %q any more: take it out of explained.txt", e.file, e.line)
		}
	}
}

func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}

// Each package has its turn, and a seed always gives one order.
func TestFilesAreTakenInTurns(t *testing.T) {
	t.Chdir("../../..")
	list, err := sources(options{seed: 1, packages: pure})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list[:len(pure)] {
		if s.pkg != pure[i] {
			t.Errorf("file %d is of %s", i, s.pkg)
		}
	}
	again, _ := sources(options{seed: 1, packages: pure})
	other, _ := sources(options{seed: 2, packages: pure})
	if list[0] != again[0] || len(list) != len(other) {
		t.Errorf("%v, then %v; %d files, then %d", list[0], again[0], len(list), len(other))
	}
	if _, err := sources(options{packages: pure, files: []string{"nothing.go"}}); err == nil {
		t.Error("a run that judges nothing passes")
	}
}

func TestSummaryCounts(t *testing.T) {
	t.Chdir("../../..")
	s := newSummary([]string{"daemon/job"})
	state := source{"daemon/job", "state.go"}
	s.add(state, []mutant{
		{line: 1, change: "< to <=", status: "killed"}, {line: 1, change: "< to >=", status: "killed"}, {line: 1, text: "package job", change: "< to <=", status: "survived"},
		{line: 1, text: "package job", change: "== to !=", status: "not reached"}, {line: 1, text: "package job", change: "-x to x", status: "survived"},
	}, map[excuse]string{{"daemon/job/state.go", "-x to x", "package job"}: "it can't matter"})
	if c := *s.counts["daemon/job"]; c != (counts{files: 1, killed: 2, survived: 2, excused: 1}) {
		t.Errorf("%+v", c)
	}
	if got := s.counts["daemon/job"].share(); got != 60 {
		t.Errorf("%v %%", got)
	}
	if len(s.survivors) != 2 || !strings.Contains(s.survivors[0], "package job") {
		t.Errorf("%q", s.survivors)
	}
}
