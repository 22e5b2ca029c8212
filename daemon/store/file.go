package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// takeLock locks path+".lock" until unlock or the end of the process. The state file itself cannot
// be used: closing any descriptor of it would release SQLite's locks on it.
func (d disk) takeLock(path string) (*os.File, error) {
	f, err := d.open(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	if err := d.lock(f); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %q", ErrLocked, path)
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return f, nil
}

// prepareFile makes sure that path is a regular file with mode 0600 before SQLite opens it. SQLite
// then gives its -wal and -shm files the same mode.
func (d disk) prepareFile(path string) error {
	st, err := d.look(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return d.createFile(path)
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%q is not a regular file", path)
	case st.Mode().Perm() != 0o600:
		err = d.chmod(path)
	}
	if err == nil && st.Size() == 0 {
		err = d.checkEmpty(path)
	}
	return err
}

// begunPath returns the path of a marker file. The marker exists while a new state file is made
// after a loss. While the marker exists, the state file may be empty.
func begunPath(path string) string { return path + ".begun" }

// checkEmpty is called for an empty state file. It returns an error if ids have been given out,
// because then jobs were stored and the file was emptied later. If no ids have been given out, the
// file is new.
func (d disk) checkEmpty(path string) error {
	stored, err := d.exists(idsPath(path))
	if err != nil || !stored {
		return err
	}
	begun, err := d.exists(begunPath(path))
	if err != nil || begun {
		return err
	}
	return &CorruptError{Path: path, Detail: "the file is empty, and jobs have been stored in it"}
}

// createFile makes an empty state file. If there is a log but no state file, createFile returns an
// error: SQLite would delete that log, and with it the last acknowledged jobs.
func (d disk) createFile(path string) error {
	st, err := d.look(path + "-wal")
	if err == nil && st.Size() > 0 {
		return &CorruptError{Path: path, Detail: "the file is missing but its log " + path + "-wal is there"}
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	stored, err := d.exists(idsPath(path))
	if err == nil && stored {
		err = d.createEmpty(begunPath(path))
	} else if err == nil {
		err = d.syncDir(filepath.Dir(filepath.Dir(path))) // the directory may be as new as the state file
	}
	if err != nil {
		return err
	}
	return d.createEmpty(path)
}

func (d disk) createEmpty(path string) error {
	f, err := d.open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}
