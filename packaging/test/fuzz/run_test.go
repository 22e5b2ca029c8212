package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// The list is made of the tree: each part of the interface that reads what
// others wrote has a fuzz test.
func TestWhatReadsOthersTextIsFuzzed(t *testing.T) {
	t.Chdir("../../..")
	list, err := targets(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]int{}
	for _, x := range list {
		have[strings.TrimPrefix(x.pkg, "github.com/gpusched/gpusched/")]++
	}
	for pkg, least := range map[string]int{
		"cmd/gpusched/client": 3, "daemon/api": 1, "daemon/config": 1, "daemon/job": 9, "daemon/server": 4, "daemon/store": 3, "daemon/sim": 1,
		"gpu": 2, "gpu/nvml/child": 1, "units": 2, "units/launch": 2, "units/systemd": 1,
	} {
		if have[pkg] < least {
			t.Errorf("%s has %d fuzz tests, not %d", pkg, have[pkg], least)
		}
	}
	if _, err := targets(t.Context(), []string{"FuzzNothing"}); err == nil {
		t.Error("a test that is not there is found")
	}
}

func TestJustOver(t *testing.T) {
	for text, want := range map[string]bool{
		"--- FAIL: FuzzX (2.00s)\n    context deadline exceeded\nFAIL\n":                                              true,
		"--- FAIL: FuzzX\n    panic: context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzX/0\n": false,
		"--- FAIL: FuzzX\n    x_test.go:7: wrong\n":                                                                   false,
	} {
		if justOver(text) != want {
			t.Errorf("%q", text)
		}
	}
}

// A program that counts nothing is not taken for one that found nothing: what tells it is what Go says.
func TestUnledIsWhatGoSays(t *testing.T) {
	root, err := await.Output(t.Context(), time.Minute, []string{"go", "env", "GOROOT"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(root), "src/internal/fuzz/fuzz.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), unled) {
		t.Errorf("package internal/fuzz does not say %q", unled)
	}
}
