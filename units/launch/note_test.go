package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNote(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "specs")
	if err := os.Mkdir(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		var b strings.Builder
		if status := tell(Path(dir, 12, 3), &b); status != 0 {
			t.Errorf("exit status %d", status)
		}
		return b.String()
	}
	if got := said(); got != "" {
		t.Errorf("without a note it says %q", got)
	}
	for _, text := range []string{"a first line\nand a second", "another\n"} {
		if err := WriteNote(dir, 12, os.Getuid(), text); err != nil {
			t.Fatal(err)
		}
		want := "gpusched: " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\ngpusched: ") + "\n"
		if got := said(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	checkPrivate(t, filepath.Join(dir, "12.note"), os.Getuid())
	if err := RemoveNote(dir, 12); err != nil {
		t.Fatal(err)
	}
	if err := RemoveNote(dir, 12); err != nil || said() != "" {
		t.Errorf("once more: %v", err)
	}
}

// TestSweepTakesNotes: a new daemon removes the notes that a dead daemon left, even those for
// running jobs.
func TestSweepTakesNotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "specs")
	if err := os.Mkdir(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := WriteNote(dir, 12, os.Getuid(), "old"); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dir, func(int64, int) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
		t.Errorf("left: %v, %v", list, err)
	}
}

// TestNoteOfOthers: no note is written to a directory that others may write to.
func TestNoteOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteNote(dir, 12, os.Getuid(), "x"); err == nil {
		t.Error("it was written")
	}
}
