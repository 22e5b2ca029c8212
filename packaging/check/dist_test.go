//go:build packages || machine

package check

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository's root.
const root = "../.."

// built returns the single package in dist that matches the pattern.
func built(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "dist", pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("dist/%s: found %v, %v (run 'make package')", pattern, found, err)
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// output runs a command and returns its output. The command must succeed.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	return outputOf(t, exec.CommandContext(t.Context(), name, args...))
}

func outputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out, stderr.String())
	}
	return string(out)
}

// extractDeb unpacks the files of the deb into a new directory.
func extractDeb(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	output(t, "dpkg-deb", "-x", built(t, "*.deb"), dir)
	return dir
}

// asNobody returns a command that runs as an ordinary user with a separate home.
func asNobody(ctx context.Context, t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return exec.CommandContext(ctx, name, args...)
	}
	home, err := os.MkdirTemp("", "gpusched-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	if err := os.Chown(home, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	all := append([]string{"--reuid", "65534", "--regid", "65534", "--clear-groups", "--", name}, args...)
	cmd := exec.CommandContext(ctx, "setpriv", all...)
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	return cmd
}
