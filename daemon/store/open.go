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

	"modernc.org/sqlite"
)

// Options changes how a store is opened.
type Options struct {
	// ReadOnly opens an existing file for checks and reports; a daemon may have the file open.
	// Nothing is created, migrated or locked, and Commit fails.
	ReadOnly bool
	// FileSystem is the name of the file system that SQLite uses; "" means the operating system's.
	FileSystem string
	// Judge is called before each of the store's own file system calls, with the call's kind and
	// path. If Judge returns an error, the call fails with that error. Nil allows every call.
	Judge func(op, path string) error
	// Migrating is called before the schema of the file changes. The function that it returns is
	// called once the schema has changed. Migrating may be nil.
	Migrating func(from, to int) (done func())
	// LastIDs is a directory for a second file of the last ids. That file survives if the directory
	// of the state file is replaced by a copy. Errors about that file are ignored. "" means no
	// second file.
	LastIDs string

	known []string // scripts of the schemas; only tests of a later schema set them; nil means migrations()
}

// Store is an open state file. Its methods may be called from any goroutine.
type Store struct {
	path string
	opts Options
	disk disk
	lock *os.File // nil if read-only
	dir  *os.File // the directory of the state file; nil if read-only
	read *sql.DB  // connections that cannot write

	urgent  *sql.DB // connections that cannot write, for submissions and starts
	reports *sql.DB // connections that cannot write, for long reads, so that other reads do not wait for these

	byKey, payload *sql.Stmt // prepared statements for the field urgent: preparing takes longer than reading a row

	long  longReads
	write *sql.DB // one connection; nil if read-only
	stmts statements

	mu    sync.Mutex  // held by a Commit; guards the fields that follow
	next  counters    // the counters that are stored
	bound counters    // the bound in the file of ids
	last  *os.File    // file of the last ids; nil until it is needed
	copy  *os.File    // the file in Options.LastIDs; nil if it cannot be opened
	dirty int         // approximate number of pages written since the last checkpoint
	past  historyUses // the sizes of ended jobs

	unsynced bool  // the disk may lack data that a checkpoint moved, see checkWritable; guarded by mu, too
	lost     error // a sync of such a disk failed, and nothing more is written; guarded by mu, too

	damage atomic.Pointer[error] // the first damage that a read has found
}

// Open opens or creates the state file at path and brings it to the current schema. Its directory
// must exist. The error is a *CorruptError for a damaged file, ErrNewer for a file from a newer
// release, and ErrLocked for a file that another daemon has open. None of these files is changed.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	s := &Store{path: path, opts: opts, disk: disk{opts.Judge}, long: longReads{searchRows, maxTurnWait}}
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
	if s.dir, err = s.disk.open(filepath.Dir(s.path), os.O_RDONLY); err != nil {
		return err
	}
	// A daemon that died leaves the log's index behind. While another process has the index open,
	// SQLite does not make it anew, and it may say that the log was moved although that was not
	// synced.
	if s.unsynced, err = s.disk.exists(s.path + "-shm"); err != nil {
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
	if err := s.prepareReads(ctx); err != nil {
		return err
	}
	return s.stmts.prepare(ctx, s.write)
}

func (s *Store) prepareReads(ctx context.Context) (err error) {
	if s.byKey, err = s.urgent.PrepareContext(ctx, byKeyQuery); err == nil {
		s.payload, err = s.urgent.PrepareContext(ctx, payloadQuery)
	}
	return err
}

func (s *Store) connectReaders(ctx context.Context) (err error) {
	if s.read, err = connect(ctx, s.path, s.opts.FileSystem, reading); err != nil {
		return err
	}
	if s.urgent, err = connect(ctx, s.path, s.opts.FileSystem, urgent); err != nil {
		return err
	}
	s.reports, err = connect(ctx, s.path, s.opts.FileSystem, reporting)
	return err
}

// begin makes the file's name durable. After that, an empty state file counts as damaged.
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
	return s.prepareReads(ctx)
}

// Close moves the rest of the log into the file and releases the file. The log is deleted, unless
// the file may lack what was moved.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.unsynced && s.checkWritable() != nil {
		err = s.keepLog()
	}
	if err := errors.Join(err, s.release()); err != nil {
		return fmt.Errorf("close the state file %q: %w", s.path, err)
	}
	return nil
}

// keepLog makes SQLite keep the log when it closes the file.
func (s *Store) keepLog() error {
	c, err := s.write.Conn(context.Background())
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Raw(func(driver any) error {
		_, err := driver.(sqlite.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
}

// release closes everything that is open. It closes the writer last: SQLite then moves the log into
// the file.
func (s *Store) release() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.urgent, s.reports, s.write} {
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
	if s.dir != nil {
		errs = append(errs, s.dir.Close())
	}
	if s.lock != nil {
		errs = append(errs, unlock(s.lock))
	}
	return errors.Join(errs...)
}
