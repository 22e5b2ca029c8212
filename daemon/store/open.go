package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Options change how a store is opened. The zero value is what a daemon uses.
type Options struct {
	// ReadOnly opens an existing file beside the daemon that owns it, for
	// checks and reports: nothing is created, migrated or locked, and Commit
	// fails.
	ReadOnly bool
	// FileSystem is the one that SQLite uses, by the name that it knows it by;
	// empty is the operating system's.
	FileSystem string
	// Judge is asked before each call that the store makes besides SQLite's, by its
	// kind and path; the call fails with its error. nil lets all through.
	Judge func(op, path string) error
	// Migrating is called before the schema of the file changes, and the function that it returns once the schema
	// has changed. It may be nil.
	Migrating func(from, to int) (done func())
	// LastIDs is a directory for a further file of the last ids: a copy of the state file's directory that is put back
	// leaves it as it is. Whatever fails there fails nothing. "" is none.
	LastIDs string

	known []string // the scripts of the schemas; nil are those of this release. Tests invent a next one
}

// Store is one open state file. Its methods may be called from any goroutine.
type Store struct {
	path string
	opts Options
	disk disk
	lock *os.File // nil when read-only
	read *sql.DB  // connections that can't write

	own     *sql.DB // such connections for what a submission or a start asks
	reports *sql.DB // such connections for reads that take long, which others need not wait for
	long    longReads
	write   *sql.DB // one connection; nil when read-only
	stmts   statements

	mu    sync.Mutex  // one Commit at a time; guards what follows
	next  counters    // as stored
	bound counters    // ids below it may have been given out, as in the file of ids
	last  *os.File    // the file of the last ids; nil until it is needed
	copy  *os.File    // the one in Options.LastIDs; nil where it can't be had
	dirty int         // pages written since the last checkpoint, roughly
	past  historyUses // what ended jobs take

	damage atomic.Pointer[error] // the first that a read found
}

// Open opens or creates the state file at path and brings it to the current
// schema. Its directory must exist. A damaged file is a *CorruptError, one
// from a newer release ErrNewer, one that is in use ErrLocked; none of them is
// changed.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s := &Store{path: path, opts: opts, disk: disk{opts.Judge}, long: longReads{searchRows, patience}}
	known := opts.known
	if known == nil {
		known = migrations()
	}
	var err error
	if opts.ReadOnly {
		err = s.openReadOnly(ctx, len(known))
	} else {
		err = s.open(ctx, known)
	}
	if err != nil {
		s.release()
		return nil, fmt.Errorf("open the state file: %w", classify(path, err))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, known []string) error {
	var err error
	if s.lock, err = s.disk.takeLock(s.path); err != nil {
		return err
	}
	if err := s.disk.prepareFile(s.path); err != nil {
		return err
	}
	if s.write, err = connect(ctx, s.path, s.opts.FileSystem, writing); err != nil {
		return err
	}
	if err := migrate(ctx, s, known); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	if err := quickCheck(ctx, s.write, s.path); err != nil {
		return err
	}
	if err := prune(ctx, s.write, time.Now(), keepPredictions); err != nil {
		return err
	}
	if s.next, err = readCounters(ctx, s.write); err != nil {
		return err
	}
	if err := s.recallIDs(); err != nil {
		return err
	}
	if err := s.connectReaders(ctx); err != nil {
		return err
	}
	return s.stmts.prepare(ctx, s.write)
}

func (s *Store) connectReaders(ctx context.Context) (err error) {
	if s.read, err = connect(ctx, s.path, s.opts.FileSystem, reading); err != nil {
		return err
	}
	if s.own, err = connect(ctx, s.path, s.opts.FileSystem, asking); err != nil {
		return err
	}
	s.reports, err = connect(ctx, s.path, s.opts.FileSystem, reporting)
	return err
}

// begin makes the file's name durable. It is not empty any more.
func (s *Store) begin() error {
	if err := s.disk.remove(begunPath(s.path)); err != nil {
		return err
	}
	return s.disk.syncDir(filepath.Dir(s.path))
}

func (s *Store) openReadOnly(ctx context.Context, known int) error {
	if _, err := os.Stat(s.path); err != nil {
		return err
	}
	if err := s.connectReaders(ctx); err != nil {
		return err
	}
	have, err := version(ctx, s.read, s.path)
	if err != nil {
		return err
	}
	if have > known {
		return newerError(s.path, have, known)
	} else if have < known {
		return fmt.Errorf("%q has schema %d, this release reads %d: start the daemon once to bring it up to date", s.path, have, known)
	}
	return nil
}

// Close writes what is left in the log into the file and gives the file free.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.release(); err != nil {
		return fmt.Errorf("close the state file %q: %w", s.path, err)
	}
	return nil
}

// release closes what is open. The writer goes last: SQLite then folds the log
// into the file.
func (s *Store) release() error {
	errs := []error{s.stmts.close()}
	for _, db := range []*sql.DB{s.read, s.own, s.reports, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.last != nil {
		errs = append(errs, s.disk.closeLast(s.last))
	}
	if s.copy != nil {
		_ = s.disk.closeLast(s.copy)
	}
	if s.lock != nil {
		errs = append(errs, unlock(s.lock))
	}
	return errors.Join(errs...)
}
