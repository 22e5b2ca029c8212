package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A directory is removed with everything in it, also where its user has closed it. What a link in it
// names stays, and so does what a link in its place names.
func TestRemoveDirectory(t *testing.T) {
	top := t.TempDir()
	kept := filepath.Join(top, "kept")
	scratch := filepath.Join(top, "1.1")
	for _, dir := range []string{kept, scratch + "/a/b/c", scratch + "/closed/d"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(kept, "file")
	for name, target := range map[string]string{"/a/link": kept, "/a/b/file": file, "/gone": "/nonexistent"} {
		if err := os.Symlink(target, scratch+name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 * entriesAtOnce {
		if err := os.WriteFile(filepath.Join(scratch, "a", strings.Repeat("x", 1+i%200)+string(rune('a'+i/200))), nil, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(scratch+"/pipe", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(scratch+"/closed", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, filepath.Join(top, "2.1")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"1.1", "1.1", "2.1", "none/3.1"} {
		if err := RemoveDirectory(filepath.Join(top, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := filepath.Glob(top + "/*"); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("what a link names: %v", err)
	}
}
