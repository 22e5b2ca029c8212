package store

import (
	"errors"
	"fmt"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/gpusched/gpusched/daemon/job"
)

// Errors of Open, in addition to *CorruptError.
var (
	// ErrNewer means that a newer release has written the file.
	ErrNewer = errors.New("the state file was written by a newer release")
	// ErrLocked means that another daemon has the file open.
	ErrLocked = errors.New("another gpuschedd has the state file open")
)

// CorruptError says what is damaged, and what to do about it.
type CorruptError struct {
	Path   string
	Detail string // what was found
	Err    error  // error of SQLite, or nil
}

// Error says in one sentence what failed, why, and what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %q: %s (at its next start gpuschedd moves the file aside and begins an empty one; running jobs go on)",
		job.ErrDamaged, e.Path, e.Detail)
}

// Unwrap makes errors.Is(err, job.ErrDamaged) true.
func (e *CorruptError) Unwrap() []error {
	if e.Err == nil {
		return []error{job.ErrDamaged}
	}
	return []error{job.ErrDamaged, e.Err}
}

// Retryable reports whether err came from the disk or from memory (no space, read-only, I/O error),
// so that the same call can succeed later. Errors about a damaged file or an invalid record are not
// retryable.
func Retryable(err error) bool {
	switch primaryCode(err) {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT:
		return true
	}
	var errno syscall.Errno // the store's own calls return such errors
	errors.As(err, &errno)
	switch errno {
	case syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE,
		syscall.EUCLEAN, syscall.ESTALE:
		return true
	}
	return false
}

// primaryCode returns SQLite's primary result code in err, or 0.
func primaryCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// classify turns SQLite's error for a damaged file into a CorruptError, and the error for a broken
// constraint into job.ErrInvalid. It returns all other errors unchanged.
func classify(path string, err error) error {
	switch primaryCode(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return &CorruptError{Path: path, Detail: err.Error(), Err: err}
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG:
		return fmt.Errorf("%w: %w", job.ErrInvalid, err)
	}
	return err
}

// readError classifies the error of a read, and remembers damage.
func (s *Store) readError(err error) error {
	err = classify(s.path, err)
	if errors.Is(err, job.ErrDamaged) {
		s.damage.CompareAndSwap(nil, &err)
	}
	return err
}

// reading completes the error of a read, if there is one. The format says what was read.
func (s *Store) reading(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), s.readError(*err))
	}
}

// Damage returns the first damage that a read of jobs has found since the file was opened, or nil.
// The store still works after damage, because its caller has all needed data in memory.
func (s *Store) Damage() error {
	if err := s.damage.Load(); err != nil {
		return *err
	}
	return nil
}
