package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// quarantine moves the file at path aside and opens a new one.
func quarantine(t *testing.T, path string) (string, *Store) {
	t.Helper()
	to, err := Quarantine(path, noon)
	if err != nil {
		t.Fatal(err)
	}
	return to, openAt(t, path)
}

// A damaged file is kept byte for byte with its log, readable only by root. The new file is empty,
// and no id is given out again (invariant 3).
func TestDamagedFileIsSetAside(t *testing.T) {
	path := spoil(t, func(t *testing.T, path string) { overwrite(t, path, 0, 100) })
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(path, 0o644), os.WriteFile(path+"-wal", []byte("log"), 0o644)); err != nil {
		t.Fatal(err)
	}
	to, s := quarantine(t, path)
	if want := path + ".damaged-20261121T120000Z"; to != want {
		t.Errorf("moved to %q, want %q", to, want)
	}
	for suffix, want := range map[string]string{"": string(before), "-wal": "log"} {
		got, err := os.ReadFile(to + suffix)
		st, _ := os.Stat(to + suffix)
		if err != nil || string(got) != want || st.Mode().Perm() != 0o600 {
			t.Errorf("%q: %v, mode %v, the same bytes: %t", to+suffix, err, st.Mode(), string(got) == want)
		}
	}
	st, err := s.Load(t.Context())
	if err != nil || len(st.Jobs) != 0 || st.NextID <= 2000 {
		t.Errorf("after 2000 jobs the new file has %d jobs and goes on at %d: %v", len(st.Jobs), st.NextID, err)
	}
	if found, err := Quarantined(path); err != nil || len(found) != 1 || found[0] != to {
		t.Errorf("Aside: %q, %v", found, err)
	}
}

// If two files are damaged in the same second, both are kept.
func TestSetAsideTwice(t *testing.T) {
	path := spoil(t, func(t *testing.T, path string) { overwrite(t, path, 0, 100) })
	first, s := quarantine(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, 0, 100)
	second, _ := quarantine(t, path)
	if found, err := Quarantined(path); err != nil || len(found) != 2 || found[0] != first || found[1] != second {
		t.Errorf("Aside: %q, %v", found, err)
	}
}

// A file that another daemon has open is not moved.
func TestSetAsideOfAnOpenFile(t *testing.T) {
	s := openNew(t)
	if _, err := Quarantine(s.path, noon); !errors.Is(err, ErrLocked) {
		t.Errorf("error %v", err)
	}
}

// If the daemon dies when only the log is still in place, the next start finds damage and moves the
// log, too. An older state never counts as the newest.
func TestDeathBetweenTheMoves(t *testing.T) {
	path := spoil(t, func(t *testing.T, path string) { overwrite(t, path, 0, 100) })
	if err := errors.Join(os.WriteFile(path+"-wal", []byte("log"), 0o600), os.Rename(path, path+asideMark+"x")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, job.ErrDamaged) {
		t.Fatalf("error %v", err)
	}
	to, _ := quarantine(t, path)
	if got, err := os.ReadFile(to + "-wal"); err != nil || string(got) != "log" {
		t.Errorf("%q, %v", got, err)
	}
}

// A file that was truncated to nothing counts as damaged. It does not look like a first start.
func TestEmptiedFile(t *testing.T) {
	path := spoil(t, func(t *testing.T, path string) {
		if err := os.Truncate(path, 0); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, job.ErrDamaged) || !strings.Contains(err.Error(), "empty") {
		t.Errorf("error %v", err)
	}
}

// Load reports invalid rows as damage.
func TestLoadFindsDamagedRows(t *testing.T) {
	for name, damage := range map[string]string{
		"text that is no request": "UPDATE jobs SET request = '{' WHERE id = 7",
		"an attempt that is gone": "UPDATE jobs SET attempt = 9 WHERE id = 7",
	} {
		path := spoil(t, func(t *testing.T, path string) { execFile(t, path, damage) })
		s := openAt(t, path)
		if _, err := s.Load(t.Context()); !errors.Is(err, job.ErrDamaged) || Retryable(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// After an older copy is put back, no id is given out again. The ids continue exactly at the last
// ids, even if only few were given out after the copy and the daemon was killed. A power cut may
// remove the file of the last ids. The ids then continue at the bound if the copy is far below it.
func TestOldCopyPutBack(t *testing.T) {
	for _, tt := range []struct {
		name      string
		later     job.ID
		killed    bool
		forgotten bool // the file of the last ids is removed
		least     job.ID
		most      job.ID
	}{
		{"one job later", 11, false, false, 12, 12},
		{"one job later, killed", 11, true, false, 12, 12},
		{"hundreds later, killed", 700, true, false, 701, 701},
		{"thousands later", 3000, false, false, 3001, 3001},
		{"thousands later, after a power cut", 3000, true, true, 3001, 4500},
	} {
		s := openNew(t)
		path := s.path
		fill(t, s, 10, payload())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
		for id := job.ID(11); id < tt.later; id += 500 {
			commit(t, s, job.Record{Job: queuedJob(id), Payload: payload()})
		}
		commit(t, s, job.Record{Job: queuedJob(tt.later), Payload: payload()})
		if tt.killed {
			path = copyOf(t, path)
		} else if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, old, 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.forgotten {
			if err := os.Remove(lastPath(path)); err != nil {
				t.Fatal(err)
			}
		}
		st, err := openAt(t, path).Load(t.Context())
		if err != nil || st.NextID < tt.least || st.NextID > tt.most {
			t.Errorf("%s: goes on at %d: %v", tt.name, st.NextID, err)
		}
	}
}

// Even if the whole directory of the state file is replaced by an older copy, the ids continue at
// the last ids. If the directory in Options.LastIDs is lost or unavailable, nothing fails.
func TestOldDirectoryPutBack(t *testing.T) {
	for name, c := range map[string]struct {
		lost func(dir string) error
		want job.ID
	}{
		"kept":     {func(string) error { return nil }, 14},
		"lost":     {os.RemoveAll, 11},
		"nonsense": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "state.db.last"), []byte("x"), 0o600) }, 11},
	} {
		dir, further := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, "state.db")
		open := func() *Store {
			s, err := Open(t.Context(), path, Options{LastIDs: further})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		fill(t, s, 10, payload())
		s.Close()
		old := filepath.Join(t.TempDir(), "old")
		if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		s = open()
		commit(t, s, job.Record{Job: queuedJob(13), Payload: payload()})
		if err := errors.Join(s.Close(), os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(old)), c.lost(further)); err != nil {
			t.Fatal(err)
		}
		s = open()
		st, err := s.Load(t.Context())
		if err != nil || st.NextID != c.want {
			t.Errorf("%s: goes on at %d: %v", name, st.NextID, err)
		}
		commit(t, s, job.Record{Job: queuedJob(c.want), Payload: payload()})
		s.Close()
	}
}

// A power cut may remove the newest file of the last ids and damage the state file. Even so, the
// new state file gives out no id again (invariant 3).
func TestPowerCutThatDamages(t *testing.T) {
	s := openNew(t)
	path := s.path
	fill(t, s, 10, payload())
	stale, err := os.ReadFile(lastPath(path))
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, job.Record{Job: queuedJob(310), Payload: payload()})
	st, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path = copyOf(t, path) // the copy lacks the state file, as if it were moved aside
	if err := os.WriteFile(lastPath(path), stale, 0o600); err != nil {
		t.Fatal(err)
	}
	if after, err := openAt(t, path).Load(t.Context()); err != nil || after.NextID < st.NextID {
		t.Errorf("it goes on at %d after %d: %v", after.NextID, st.NextID, err)
	}
}

// copyOf copies the files of ids into a new directory, as they are when the daemon is killed. It
// returns the path of the state file in that directory.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	for _, f := range []func(string) string{idsPath, lastPath} {
		data, err := os.ReadFile(f(path))
		if err == nil {
			err = os.WriteFile(f(to), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// The file of ids is not essential: if it is missing or invalid, a new one is made.
func TestFileOfIDsIsGone(t *testing.T) {
	for name, spoil := range map[string]func(string) error{
		"gone":     os.Remove,
		"nonsense": func(p string) error { return os.WriteFile(p, []byte("\x00\x01"), 0o600) },
	} {
		s := openNew(t)
		path := s.path
		fill(t, s, 10, payload())
		if err := errors.Join(s.Close(), spoil(idsPath(path))); err != nil {
			t.Fatal(err)
		}
		s = openAt(t, path)
		commit(t, s, job.Record{Job: queuedJob(11), Payload: payload()})
		if data, err := os.ReadFile(idsPath(path)); err != nil || !strings.HasPrefix(string(data), "job 00000000000000001012\n") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
