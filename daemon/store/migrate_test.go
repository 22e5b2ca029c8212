package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// execFile runs a script on the file as another program would.
func execFile(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
}

// withNext returns the schemas of this release and of the next.
func withNext() []string {
	return append(migrations(), `ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT '';
		UPDATE jobs SET project = name; CREATE INDEX jobs_project ON jobs (project, id)`)
}

// oldFile makes a state file of this release, to be opened by a later release. It has two ended
// jobs, an array with an ended task, and a waiting job.
func oldFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s := openAt(t, path)
	a := array(2, 0)
	a.Tasks.Next = 1
	commit(t, s, job.Record{Job: endedJob(1, job.Failed), Payload: payload()}, job.Record{Job: a, Payload: payload()},
		job.Record{Job: taskOf(endedJob(3, job.Completed), 2, 0)}, job.Record{Job: queuedJob(4), Payload: payload()})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// An older file is copied before it is changed (invariant 6). Both files have everything.
func TestMigrationCopiesFirst(t *testing.T) {
	path := oldFile(t)
	s := openAt(t, path)
	want, err := dump(s)
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	var told [][2]int
	opts := Options{known: withNext(), Migrating: func(from, last int) func() {
		return func() { told = append(told, [2]int{from, last}) }
	}}
	for range 2 { // the second time there is nothing to change
		if s, err = Open(context.Background(), path, opts); err != nil {
			t.Fatal(err)
		}
		mustCheck(t, s)
		got, err := dump(s)
		requireEqual(t, errors.Join(err, s.Close()), got, want)
	}
	if !slices.Equal(told, [][2]int{{1, 2}}) {
		t.Errorf("told of %v", told)
	}
	st, err := os.Stat(BackupPath(path, 1))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("copy: %v, %v", st, err)
	}
	old := openAt(t, BackupPath(path, 1))
	mustCheck(t, old)
	got, err := dump(old)
	requireEqual(t, err, got.matches(want), true)
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrNewer) {
		t.Fatalf("the release before opens it: %v", err)
	}
}

// A migration that fails leaves the old schema, and can be tried again.
func TestFailedMigrationChangesNothing(t *testing.T) {
	path := oldFile(t)
	for range 2 {
		_, err := Open(context.Background(), path, Options{known: append(migrations(), "DROP TABLE attempts; DELETE FROM meta; CREATE TABLE broken (")})
		if err == nil || !strings.Contains(err.Error(), "change the schema from 1 to 2") {
			t.Fatalf("the broken migration: %v", err)
		}
		s := openAt(t, path) // as the previous release opens it
		mustCheck(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(context.Background(), path, Options{known: withNext()})
	if err != nil {
		t.Fatal(err)
	}
	mustCheck(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// An older file cannot be opened read-only until the daemon has changed it.
func TestReadOnlyOfAnOlderFile(t *testing.T) {
	_, err := Open(context.Background(), oldFile(t), Options{ReadOnly: true, known: withNext()})
	if err == nil || !strings.Contains(err.Error(), "start the daemon once") {
		t.Fatalf("error %v", err)
	}
}

// Files of builds before the first release have a dozen other schemas, which were also numbered
// from 1. Such a file is refused whatever its number, and the error says what kind of file it is.
func TestFileOfABuildBeforeTheFirstRelease(t *testing.T) {
	for schema := range 12 {
		path := oldFile(t)
		app := beforeRelease[schema%len(beforeRelease)]
		execFile(t, path, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", app, schema))
		for _, opts := range []Options{{}, {ReadOnly: true}} {
			_, err := Open(context.Background(), path, opts)
			if !errors.Is(err, job.ErrDamaged) || !strings.Contains(err.Error(), "of a build before the first release") {
				t.Errorf("schema %d: error %v", schema, err)
			}
		}
	}
}

// A file of a newer release is refused with a hint, and not one byte of the file changes (invariant
// 6).
func TestNewerFileIsLeftAlone(t *testing.T) {
	path := oldFile(t)
	execFile(t, path, "PRAGMA user_version=99")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		_, err = Open(context.Background(), path, opts)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema 99") || !strings.Contains(err.Error(), "install the newer release again") {
			t.Fatalf("error %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Fatalf("the file changed (%v)", err)
	}
}
