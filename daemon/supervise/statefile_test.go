package supervise

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/store"
)

// The daemon starts even if the file is damaged. The administrator is told in the journal, at error
// priority, and in health until the damaged file has been moved away.
func TestDamagedStateIsMovedAside(t *testing.T) {
	for name, content := range map[string]string{
		"no database": strings.Repeat("no database any more ", 1000),
		"cut off":     "SQLite format 3\x00" + strings.Repeat("\x10", 84),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			var told bytes.Buffer
			queue := journal.NewText(&told)
			defer queue.Close()
			f := &stateFile{path: filepath.Join(dir, "state.db"), log: slog.New(journal.NewHandler(queue, slog.LevelInfo))}
			if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if c := f.check(); c.Health != job.Healthy {
				t.Errorf("before it was opened: %+v", c)
			}
			opened, state, err := f.open(t.Context())
			if err != nil || len(state.Jobs) != 0 {
				t.Fatalf("%+v, %v", state, err)
			}
			defer opened.Close()
			moved, err := store.Quarantined(f.path)
			if err != nil || len(moved) != 1 {
				t.Fatalf("moved are %q, %v", moved, err)
			}
			if got, err := os.ReadFile(moved[0]); err != nil || string(got) != content {
				t.Errorf("what was moved is not what was there: %v", err)
			}
			queue.Close()
			if line := told.String(); !strings.HasPrefix(line, "<3>") || !strings.Contains(line, moved[0]) {
				t.Errorf("the journal says %q", line)
			}
			if c := f.check(); c.Health != job.Degraded || !strings.Contains(c.Next, moved[0]) {
				t.Errorf("health says %+v", c)
			}
			if err := os.Rename(moved[0], filepath.Join(t.TempDir(), "kept")); err != nil {
				t.Fatal(err)
			}
			if c := f.check(); c.Health != job.Healthy {
				t.Errorf("after it was taken away: %+v", c)
			}
		})
	}
}

// A file that another process has open is not treated as damaged.
func TestStateInUseIsLeftAlone(t *testing.T) {
	f := &stateFile{path: filepath.Join(t.TempDir(), "state.db"), log: slog.New(slog.DiscardHandler)}
	s, err := store.Open(t.Context(), f.path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := f.open(t.Context()); !errors.Is(err, store.ErrLocked) {
		t.Errorf("error %v", err)
	}
	if moved, err := store.Quarantined(f.path); err != nil || len(moved) != 0 {
		t.Errorf("moved are %q, %v", moved, err)
	}
}

// If the disk damages each new state file, the disk does not fill up with copies. The scheduler
// does not start, and says why.
func TestDamagedAgainAndAgain(t *testing.T) {
	f := &stateFile{path: filepath.Join(t.TempDir(), "state.db"), log: slog.New(slog.DiscardHandler)}
	for i := range maxAside + 2 {
		if err := os.WriteFile(f.path, []byte(strings.Repeat("no database any more ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
		opened, _, err := f.open(t.Context())
		if want := i >= maxAside; errors.Is(err, errDamagedAgain) != want {
			t.Fatalf("damage number %d: %v", i+1, err)
		}
		if err == nil {
			opened.Close()
		}
	}
	if moved, err := store.Quarantined(f.path); err != nil || len(moved) != maxAside {
		t.Errorf("moved are %q, %v", moved, err)
	}
}

// Writes to a file fail because of damage, but the check at the next start finds none.
// When that happens a second time, the file is moved aside.
func TestDoubtedFile(t *testing.T) {
	f := &stateFile{path: filepath.Join(t.TempDir(), "state.db"), log: slog.New(slog.DiscardHandler)}
	opened, _, err := f.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	for i := range 2 {
		f.suspect(errors.New("malformed"))
		if moved, err := store.Quarantined(f.path); err != nil || len(moved) != i {
			t.Errorf("after %d doubts moved are %q, %v", i+1, moved, err)
		}
	}
}
