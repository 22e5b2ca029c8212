package vm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// RunRoot is the directory for the disks and sockets of running machines. It is on a disk, and its
// path is short enough for names of sockets.
const RunRoot = "/var/tmp/gpusched-vm"

// A runDir is the directory of one machine. While the machine's owner lives, the owner has a lock
// on the file "lock" in this directory.
type runDir struct {
	id   string
	path string
	lock *os.File
}

// newPrefix is the prefix of a run directory that is not complete yet.
const newPrefix = ".new-"

// newRunDir creates a run directory and takes its lock
// before any other process can see the directory.
func newRunDir() (*runDir, error) {
	err := os.MkdirAll(RunRoot, 0o700)
	var hidden string
	if err == nil {
		hidden, err = os.MkdirTemp(RunRoot, newPrefix)
	}
	if err != nil {
		return nil, fmt.Errorf("run directory: %w", err)
	}
	id := strings.TrimPrefix(filepath.Base(hidden), newPrefix)
	d := &runDir{id: id, path: filepath.Join(RunRoot, id)}
	if d.lock, err = os.OpenFile(filepath.Join(hidden, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err == nil {
		err = errors.Join(syscall.Flock(int(d.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), os.Rename(hidden, d.path))
	}
	if err != nil {
		d.lock.Close()
		return nil, fmt.Errorf("run directory: %w", err)
	}
	return d, nil
}

func (d *runDir) file(name string) string { return filepath.Join(d.path, name) }

// text returns the contents of a file. If the file cannot be read, text returns the error as text;
// if the file does not exist, it returns "".
func (d *runDir) text(name string) string {
	text, err := os.ReadFile(d.file(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(text)
}

// remove ends the machine's processes, removes its control group, and then removes its directory.
func (d *runDir) remove() error {
	group, err := scopeNamed(d.id)
	if err == nil {
		err = group.remove()
	}
	if err == nil {
		err = d.removeFiles()
	}
	d.lock.Close()
	if err != nil {
		return fmt.Errorf("clean up machine %s: %w", d.id, err)
	}
	return nil
}

// removeFiles removes the files of the directory, and the file "lock" last. If a removal is
// interrupted, a later start therefore recognizes the directory and removes the rest.
func (d *runDir) removeFiles() error {
	entries, err := os.ReadDir(d.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if e.Name() != "lock" {
			errs = append(errs, os.RemoveAll(d.file(e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(d.path)
}

// removeStale removes what is left of machines whose owner is dead. It leaves machines whose owner
// is alive unchanged.
func removeStale() error {
	entries, err := os.ReadDir(RunRoot)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale machines: %w", err)
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil: // the directory was removed meanwhile
		case !strings.HasPrefix(e.Name(), newPrefix):
			errs = append(errs, removeIfStale(e.Name()))
		case time.Since(info.ModTime()) > time.Minute:
			errs = append(errs, os.RemoveAll(filepath.Join(RunRoot, e.Name())))
		}
	}
	return errors.Join(errs...)
}

func removeIfStale(id string) error {
	d := &runDir{id: id, path: filepath.Join(RunRoot, id)}
	lock, err := os.OpenFile(d.file("lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		os.Remove(d.path) // removes an empty directory; an owner that is still removing files reports its own errors
		return nil
	}
	if err != nil {
		return fmt.Errorf("stale machine %s: %w", id, err)
	}
	d.lock = lock
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		lock.Close()
		return nil
	}
	return d.remove()
}
