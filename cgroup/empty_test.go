package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// What is not there is empty where the hierarchy is, and nothing is where it is not.
func TestEmpty(t *testing.T) {
	root := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if Empty(root, "/gone") {
		t.Error("a control group is empty where there is no hierarchy")
	}
	put("cgroup.controllers", "cpu memory\n")
	for path, text := range map[string]string{"full": "populated 1\nfrozen 0\n", "left": "populated 0\nfrozen 0\n", "odd": ""} {
		put(path+"/cgroup.events", text)
	}
	for group, want := range map[string]bool{"/gone": true, "/full": false, "/left": true, "/odd": false, "/full/below": true} {
		if got := Empty(root, group); got != want {
			t.Errorf("%s: %t", group, got)
		}
	}
	if err := os.Remove(filepath.Join(root, "full/cgroup.events")); err != nil {
		t.Fatal(err)
	}
	put("full/cgroup.events/x", "")
	if Empty(root, "/full") {
		t.Error("one that can't be read is empty")
	}
}
