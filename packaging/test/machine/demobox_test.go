//go:build machine

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newestDeb returns the package that 'make package' built.
func newestDeb(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("../../../dist/gpusched_*.deb")
	if err != nil || len(found) == 0 {
		t.Fatalf("dist/ has no package: run 'make package' first (%v)", err)
	}
	return found[len(found)-1]
}

// The demo passes in a real box.
func TestDemoInABox(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), build(t), "-deb", newestDeb(t), "demo").CombinedOutput()
	if got := code(t, err); got != 0 || !strings.Contains(string(out), " steps as they should be, 0 not, in ") {
		t.Errorf("code %d\n%s", got, out)
	}
}

// A demo with a step that goes wrong exits with 1. Here the package contains no scheduler.
func TestWrongDemoFails(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", emptyDeb, "sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("an empty package: %v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), build(t), "-deb", filepath.Join(dir, "empty.deb"), "demo").CombinedOutput()
	if got := code(t, err); got != 1 || !strings.Contains(string(out), "WRONG: this should end with status 0; it ended with 127") {
		t.Errorf("code %d\n%s", got, out)
	}
}

// emptyDeb makes empty.deb in the directory $1.
const emptyDeb = `cd "$1"
mkdir -p tree/DEBIAN
printf 'Package: empty\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@localhost>\nDescription: nothing\n' >tree/DEBIAN/control
dpkg-deb --build tree empty.deb`
