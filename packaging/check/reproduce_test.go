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

// TestPackagesAreReproducible builds both packages again from a copy of the tree at another path,
// and compares the bytes. The build cache of the second build contains the compiled standard
// library and other modules, but none of our own code except the packing tools. The test therefore
// does not show that the standard library and the other modules are reproducible.
func TestPackagesAreReproducible(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "elsewhere")
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	for name := range strings.SplitSeq(outputOf(t, list), "\x00") {
		copyFile(t, name, copied)
	}
	cache := strings.TrimSpace(output(t, "go", "env", "GOCACHE"))
	cmd := exec.CommandContext(t.Context(), "make", "package", "PACKER_GO=env GOCACHE="+cache+" go")
	cmd.Dir = copied
	cmd.Env = append(os.Environ(), "GOCACHE="+othersIn(t, cache), "SOURCE_DATE_EPOCH="+epoch(t), "COMMIT="+commit(t))
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

// othersIn makes a build cache that contains the compiled standard library and other modules, which
// take minutes to compile, but nothing of our own.
func othersIn(t *testing.T, cache string) string {
	t.Helper()
	const others = `{{if not (and .Module .Module.Main)}}{{.Export}}{{end}}`
	wanted := map[string]bool{} // names of the outputs in the cache, without the ending "-d"
	for programs, env := range map[string][]string{
		"./cmd/...":           {"CGO_ENABLED=0"}, // gpusched-nvml does not build without cgo, hence -e
		"./cmd/gpusched-nvml": {"CGO_ENABLED=1", "GOFLAGS=-buildmode=pie"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-deps", "-export", "-trimpath", "-f", others, programs)
		cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
		for path := range strings.FieldsSeq(outputOf(t, cmd)) {
			wanted[strings.TrimSuffix(filepath.Base(path), "-d")] = true
		}
	}
	if len(wanted) < 100 {
		t.Fatalf("go list knows %d packages of others", len(wanted))
	}
	actions, err := filepath.Glob(filepath.Join(cache, "??", "*-a"))
	if err != nil {
		t.Fatal(err)
	}
	made := t.TempDir()
	for _, path := range actions {
		action, err := os.ReadFile(path) // the file contains "v1", the action, its output, and more
		f := strings.Fields(string(action))
		if err != nil || len(f) < 3 || !wanted[f[2]] {
			continue // the output is not one of the wanted ones
		}
		for _, name := range []string{f[1] + "-a", f[2] + "-d"} {
			copyEntry(t, filepath.Join(cache, name[:2], name), filepath.Join(made, name[:2], name))
		}
	}
	return made
}

// copyEntry copies a file of a build cache.
func copyEntry(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copyFile copies a file of the tree. It ignores a file that git lists but that no longer exists.
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

// epoch returns the build date of the package in dist.
func epoch(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(output(t, "rpm", "-qp", "--qf", "%{BUILDTIME}", built(t, "*.rpm")))
}

// commit returns the commit from which the package in dist was built. It asks the daemon in the
// package, because the copy of the tree has no git history.
func commit(t *testing.T) string {
	t.Helper()
	f := strings.Fields(output(t, filepath.Join(extractDeb(t), "usr/sbin/gpuschedd"), "--version"))
	if len(f) != 3 {
		t.Fatalf("gpuschedd --version says %q", f)
	}
	return f[2]
}
