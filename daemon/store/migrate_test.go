package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// restore makes a state file from a dump in testdata.
func restore(t *testing.T, dump string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("testdata", dump))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.db")
	execFile(t, path, string(script))
	return path
}

// A file of every schema ever released opens, with everything in it.
func TestReleasedSchemasOpen(t *testing.T) {
	for _, dump := range []string{"schema-1.sql"} {
		t.Run(dump, func(t *testing.T) {
			s := openAt(t, restore(t, dump))
			ctx := context.Background()
			mustCheck(t, s)
			st, err := s.Load(ctx)
			requireEqual(t, err, st.NextID, 5)
			at := func(s string) time.Time { return mustTime(t, s) }
			requireEqual(t, err, st.GPUs, []job.GPUControl{{UUID: "GPU-aa", Paused: true, Reason: "fan", By: "root", At: at("2026-01-02T03:04:05Z")}})
			requireEqual(t, err, len(st.Live), 1)
			requireEqual(t, err, st.Live[0].Request.GPUMilli, 2000)
			j, err := s.Job(ctx, 2)
			requireEqual(t, err, j.Result.Sentence(), "failed: exit code 3")
			requireEqual(t, err, j.Attempt.GPUs, []job.GPURef{{UUID: "GPU-bb", Index: 1, Minor: 3}})
			requireEqual(t, err, j.Attempt.EndedAt, at("2026-01-02T04:00:00.5Z"))
			p, err := s.Payload(ctx, 2)
			requireEqual(t, err, p.Argv, []string{"python", "\xff", ""})
		})
	}
}

func mustTime(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A released script is history: the schema that it makes is the one in the
// dump of its time.
func TestReleasedSchemaIsNotRewritten(t *testing.T) {
	schema := func(path string) (text string) {
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT group_concat(sql, ';' ORDER BY name) FROM sqlite_schema").Scan(&text); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(text), " ")
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	execFile(t, fresh, migrations()[0])
	if got, want := schema(fresh), schema(restore(t, "schema-1.sql")); got != want {
		t.Fatalf("schema/1.sql makes\n%s\nreleased was\n%s", got, want)
	}
}

// openWith opens the file as a release with these migrations would.
func openWith(path string, known []string) error {
	s := &Store{path: path}
	err := s.open(context.Background(), known)
	return errors.Join(err, s.release())
}

const secondSchema = "ALTER TABLE jobs ADD COLUMN project TEXT NOT NULL DEFAULT ''"

// An older file is copied before it is changed (invariant 6).
func TestMigrationCopiesFirst(t *testing.T) {
	path := restore(t, "schema-1.sql")
	execFile(t, path, "PRAGMA journal_mode=WAL")
	if err := openWith(path, append(migrations(), secondSchema)); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(BackupPath(path, 1))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("copy: %v, %v", st, err)
	}
	old := openAt(t, BackupPath(path, 1))
	mustCheck(t, old)
	if _, err := old.Job(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), path, Options{}); !errors.Is(err, ErrNewer) {
		t.Fatalf("the release before opens it: %v", err)
	}
}

// A migration that fails leaves the old schema and can be tried again.
func TestFailedMigrationChangesNothing(t *testing.T) {
	path := restore(t, "schema-1.sql")
	for range 2 {
		if err := openWith(path, append(migrations(), secondSchema, "CREATE TABLE broken (")); err == nil {
			t.Fatal("the broken migration went through")
		}
	}
	if err := openWith(path, append(migrations(), secondSchema)); err != nil {
		t.Fatal(err)
	}
}

// A file of a newer release is refused, with what to do, and not one byte of
// it changes (invariant 6).
func TestNewerFileIsLeftAlone(t *testing.T) {
	path := restore(t, "schema-1.sql")
	execFile(t, path, "PRAGMA user_version=99")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []Options{{}, {ReadOnly: true}} {
		_, err = Open(context.Background(), path, opts)
		if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "schema 99") {
			t.Fatalf("error %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Fatalf("the file changed (%v)", err)
	}
}
