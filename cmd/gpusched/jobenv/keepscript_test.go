package jobenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file with a name of maximum length can be replaced. It gets the requested mode, and no other
// file is left in the directory.
func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, strings.Repeat("n", 255))
	for _, text := range []string{"old", "new"} {
		if err := ReplaceFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	info, err2 := os.Stat(path)
	if err != nil || err2 != nil || string(text) != "new" || info.Mode() != 0o700 {
		t.Errorf("%q, %v, %v %v", text, info, err, err2)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}
