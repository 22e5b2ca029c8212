package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// A group that can't be read has not been killed.
func TestKilledByOOM(t *testing.T) {
	root := t.TempDir()
	for text, want := range map[string]bool{
		"low 0\noom 1\noom_kill 1\noom_group_kill 0\n": true, "oom 3\noom_kill 0\n": false, "oom 3\n": false, "": false,
	} {
		if err := os.WriteFile(filepath.Join(root, "memory.events"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := KilledByOOM(root, "/"); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
	if KilledByOOM(root, "/none") {
		t.Error("a missing group was killed")
	}
}
