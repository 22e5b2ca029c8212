//go:build machine

package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// installProgram builds a test program once and installs it in the machine at path. The argument
// source is the directory of its code.
func installProgram(t *testing.T, source, path string) {
	t.Helper()
	if try(t, "", "test -x "+path).Code == 0 {
		return
	}
	program := filepath.Join(t.TempDir(), filepath.Base(path))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s%v", out, err)
	}
	if err := the.CopyIn(t.Context(), program, path, 0o755); err != nil {
		t.Fatal(err)
	}
}
