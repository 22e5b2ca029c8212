package store

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed schema.sql
var schema string

// applicationID marks the files of gpusched ("gpuk" in ASCII).
const applicationID = 0x6770756b

// beforeRelease are the marks of builds before the first release. These builds also numbered their
// schemas from 1.
var beforeRelease = []int{0x67707573, 0x6770756a}

// migrations returns scripts in order. Script n brings a file from schema n to n+1, and the first
// script makes a new file. A released script must never change. After the first release, a new
// schema needs another script.
func migrations() []string { return []string{schema} }

// version returns the schema version of the file, or 0 for an empty file. A database of another
// program counts as damaged.
func version(ctx context.Context, db *sql.DB, path string) (int, error) {
	var app, v, objects int
	err := db.QueryRowContext(ctx, `SELECT (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).Scan(&app, &v, &objects)
	if err != nil {
		return 0, err
	}
	if slices.Contains(beforeRelease, app) {
		return 0, &CorruptError{Path: path, Detail: "it is of a build before the first release, which this release can't read"}
	}
	if fresh := app == 0 && v == 0 && objects == 0; !fresh && (app != applicationID || v < 1) {
		return 0, &CorruptError{Path: path, Detail: "it is a database of another program"}
	}
	return v, nil
}

func newerError(path string, have, known int) error {
	return fmt.Errorf("%w: %q has schema %d, this release knows up to %d (install the newer release again, or restore the copy that it made next to the file)",
		ErrNewer, path, have, known)
}

// migrate brings the file to the last of the known schemas. It uses one transaction for each
// schema. If the file already has a schema, migrate first makes a copy.
func migrate(ctx context.Context, s *Store, known []string) error {
	db, path := s.write, s.path
	have, err := version(ctx, db, path)
	if err != nil {
		return err
	}
	if have > len(known) {
		return newerError(path, have, len(known))
	}
	if s.unsynced { // what follows writes to the file
		if err := s.checkWritable(); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return fmt.Errorf("switch on the log: %w", err)
	}
	done := func() {}
	if have > 0 && have < len(known) {
		if s.opts.Migrating != nil {
			done = s.opts.Migrating(have, len(known))
		}
		if err := s.disk.backup(ctx, db, BackupPath(path, have)); err != nil {
			return fmt.Errorf("copy the state file before its schema changes: %w", err)
		}
	}
	for v := have; v < len(known); v++ {
		if err := step(ctx, db, v+1, known[v]); err != nil {
			return fmt.Errorf("change the schema from %d to %d: %w", v, v+1, err)
		}
	}
	done()
	return nil
}

func step(ctx context.Context, db *sql.DB, to int, script string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", applicationID, to)); err != nil {
		return err
	}
	return tx.Commit()
}

// BackupPath returns the path of the copy of a file with schema v. A newer release makes this copy
// when it opens the file.
func BackupPath(path string, v int) string { return fmt.Sprintf("%s.schema-%d.bak", path, v) }

// backup writes a copy to dst, which is then either complete or missing.
func (d disk) backup(ctx context.Context, db *sql.DB, dst string) error {
	tmp := dst + ".new"
	f, err := d.open(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if _, err := db.ExecContext(ctx, "VACUUM INTO '"+strings.ReplaceAll(tmp, "'", "''")+"'"); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := d.finish(f, ""); err != nil {
		return err
	}
	if err := d.rename(tmp, dst); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(dst))
}
