package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// A missing group is empty if its slice exists. It is not empty if no part of the hierarchy is
// visible.
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
	if Empty(root, "/jobs.slice/gone") {
		t.Error("a control group is empty where there is no hierarchy")
	}
	put("jobs.slice/cgroup.events", "populated 1\nfrozen 0\n")
	for path, text := range map[string]string{"full": "populated 1\nfrozen 0\n", "left": "populated 0\nfrozen 0\n", "odd": ""} {
		put("jobs.slice/"+path+"/cgroup.events", text)
	}
	for group, want := range map[string]bool{
		"/jobs.slice/gone": true, "/jobs.slice/gone/below": true, "/other.slice/gone": false, "/gone": false, "/": false,
		"/jobs.slice/full": false, "/jobs.slice/left": true, "/jobs.slice/odd": false,
	} {
		if got := Empty(root, group); got != want {
			t.Errorf("%s: %t", group, got)
		}
	}
	if err := os.Remove(filepath.Join(root, "jobs.slice/full/cgroup.events")); err != nil {
		t.Fatal(err)
	}
	put("jobs.slice/full/cgroup.events/x", "")
	if Empty(root, "/jobs.slice/full") {
		t.Error("one that can't be read is empty")
	}
}
