package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// Of a snapshot, what was copied is removed. What the job wrote stays, also if it is removed again.
func TestRemoveSnapshot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), contract.SnapshotsDir, "1")
	write := func(names ...string) {
		for _, name := range names {
			name = filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	left := func(want ...string) {
		t.Helper()
		if err := RemoveDirectory(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"p/a", "p/sub/b", "p/sub/c", "p/out/result", "p/out/.repository/r", "p/.git", contract.SnapshotRepository, "p/__pycache__", ".queued", ""} {
			_, err := os.Lstat(filepath.Join(dir, name))
			if stays := len(want) > 0 && want[0] == name; stays != (err == nil) {
				t.Errorf("%q: %v", name, err)
			} else if stays {
				want = want[1:]
			}
		}
	}
	write("p/a", "p/sub/b", "p/.git", contract.SnapshotRepository+"/HEAD", contract.SnapshotMade)
	made := filepath.Join(dir, contract.SnapshotMade)
	for { // until the clock of the file system has gone on
		write("p/out/result")
		was, _ := os.Lstat(made)
		is, _ := os.Lstat(filepath.Join(dir, "p/out/result"))
		if is.ModTime().After(was.ModTime()) {
			break
		}
	}
	write("p/sub/c", "p/out/.repository/r", "p/__pycache__/a.pyc", contract.SnapshotRepository+"/index", ".queued")
	left("p/sub/c", "p/out/result", "p/out/.repository/r", ".queued", "")
	left("p/sub/c", "p/out/result", "p/out/.repository/r", ".queued", "")
	for _, name := range []string{"p/sub/c", "p/out/result", "p/out/.repository/r"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	left()
}
