package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// takeLock holds path+".lock" for as long as the returned file is open. It is
// a file of its own because closing any descriptor of the state file would
// drop SQLite's locks on it.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %q (see 'systemctl status gpusched')", ErrLocked, path)
		}
		return nil, fmt.Errorf("lock %q: %w", path, err)
	}
	return f, nil
}

// prepareFile sees to a regular file with mode 0600 at path before SQLite
// opens it; SQLite gives its -wal and -shm files the same mode.
func prepareFile(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createFile(path)
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		return fmt.Errorf("%q is not a regular file", path)
	case st.Size() == 0 && exists(idsPath(path)):
		return &CorruptError{Path: path, Detail: "the file is empty, and jobs have been stored in it"}
	case st.Mode().Perm() != 0o600:
		return os.Chmod(path, 0o600)
	}
	return nil
}

// writable returns EROFS where the disk of path has become read-only. Where the
// kernel makes it so under open files, after an error or by hand, ext4 takes
// writes to them and reports a sync that did nothing as done.
func writable(path string) error {
	const readOnly = 1 // ST_RDONLY
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return fmt.Errorf("looking at the disk of %q: %w", path, err)
	}
	if st.Flags&readOnly != 0 {
		return fmt.Errorf("%q: %w", path, syscall.EROFS)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// createFile makes an empty state file. A log without its file is refused:
// SQLite would delete it, and with it the last acknowledged jobs.
func createFile(path string) error {
	if st, err := os.Stat(path + "-wal"); err == nil && st.Size() > 0 {
		return &CorruptError{Path: path, Detail: "the file is missing but its log " + path + "-wal is there"}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
