package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program built with the tag quick becomes gpusched-all for what is rare, says so where that is
// missing, and never becomes itself.
func TestTheQuickProgramBecomesTheWhole(t *testing.T) {
	dir := t.TempDir()
	quick, whole := filepath.Join(dir, "gpusched"), filepath.Join(dir, wholeName)
	if out, err := exec.Command("go", "build", "-tags", "quick", "-o", quick, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	says := func(words ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), quick, words...).CombinedOutput()
		if err != nil {
			out = append(out, "("+err.Error()+")"...)
		}
		return string(out)
	}
	missing := "gpusched: gpusched-all is not installed, which this needs"
	if got := says("help", "why"); !strings.HasPrefix(got, missing) {
		t.Errorf("without it: %s", got)
	}
	if err := os.Link(quick, whole); err != nil {
		t.Fatal(err)
	}
	if got := says("help", "why"); !strings.HasPrefix(got, missing) {
		t.Errorf("where it is the same program: %s", got)
	}
	if err := os.Remove(whole); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nfor w; do echo \"<$w>\"; done\nexit 7\n"
	if err := os.WriteFile(whole, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := says("list", "--no-such", "a b", ""), "<list>\n<--no-such>\n<a b>\n<>\n(exit status 7)"; got != want {
		t.Errorf("it becomes %q, want %q", got, want)
	}
	if got := says("version", "-o", "json"); strings.Contains(got, "<") {
		t.Errorf("for what is usual it becomes it, too: %s", got)
	}
}
