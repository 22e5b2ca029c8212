//go:build packages

package check

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackagesAreReproducible builds both packages again from a copy of the
// tree at another path, with an empty build cache, and compares the bytes. The
// tool that packs is not built again.
func TestPackagesAreReproducible(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "elsewhere")
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	for name := range strings.SplitSeq(outputOf(t, list), "\x00") {
		copyFile(t, name, copied)
	}
	cache := strings.TrimSpace(output(t, "go", "env", "GOCACHE"))
	cmd := exec.CommandContext(t.Context(), "make", "package", "TOOL=env GOCACHE="+cache+" go tool -modfile=packaging/tools/go.mod")
	cmd.Dir = copied
	cmd.Env = append(os.Environ(), "GOCACHE="+t.TempDir(), "SOURCE_DATE_EPOCH="+epoch(t), "COMMIT="+commit(t))
	outputOf(t, cmd)
	for _, pattern := range []string{"*.deb", "*.rpm"} {
		first := built(t, pattern)
		second := filepath.Join(copied, "dist", filepath.Base(first))
		a, errA := os.ReadFile(first)
		b, errB := os.ReadFile(second)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same when built again: %v, %v", filepath.Base(first), errA, errB)
		}
	}
}

// copyFile copies a file of the tree; one that was deleted but is still known
// to git is left out.
func copyFile(t *testing.T, name, to string) {
	t.Helper()
	info, err := os.Lstat(filepath.Join(root, name))
	if name == "" || err != nil || !info.Mode().IsRegular() {
		return
	}
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(to, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, data, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

// epoch returns the date that the package in dist was built with.
func epoch(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(output(t, "rpm", "-qp", "--qf", "%{BUILDTIME}", built(t, "*.rpm")))
}

// commit returns what the daemon of the package in dist says it was built of;
// the copy has no history.
func commit(t *testing.T) string {
	t.Helper()
	f := strings.Fields(output(t, filepath.Join(extractDeb(t), "usr/sbin/gpuschedd"), "--version"))
	if len(f) != 3 {
		t.Fatalf("gpuschedd --version says %q", f)
	}
	return f[2]
}
