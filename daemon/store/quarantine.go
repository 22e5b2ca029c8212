package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// asideMark is in the name of a damaged file that was moved aside.
const asideMark = ".damaged-"

// asideTime is the format of the time that follows asideMark.
const asideTime = "20060102T150405Z"

// Quarantine moves the state file at path and its log out of the way, so that Open makes an empty
// file. It returns the new path, and deletes nothing. The log gets the name at which SQLite looks
// for the log of the moved file. The file of ids stays. No process may have the file open.
func Quarantine(path string, now time.Time) (string, error) { return disk{}.quarantine(path, now) }

func (d disk) quarantine(path string, now time.Time) (string, error) {
	lock, err := d.takeLock(path)
	if err != nil {
		return "", fmt.Errorf("move the state file aside: %w", err)
	}
	defer unlock(lock)
	to, err := d.unusedPath(path + asideMark + now.UTC().Format(asideTime))
	if err != nil {
		return "", fmt.Errorf("move the state file aside: %w", err)
	}
	// The state file is moved first, and its new name is synced. If a power cut then leaves only
	// the log at the old path, this counts as damage, and the next start moves the log. In the
	// other order, the state file without its log would look like an older state.
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := d.moveAway(path+suffix, to+suffix); err != nil {
			return "", fmt.Errorf("move the state file aside: %w", err)
		}
	}
	return to, nil
}

// moveAway moves a file, if there is one, and makes its new name durable.
func (d disk) moveAway(from, to string) error {
	err := d.rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = d.chmod(to)
	}
	if err == nil {
		err = d.syncDir(filepath.Dir(to))
	}
	return err
}

// unusedPath returns path if no file has it, or else a similar path that no file has.
func (d disk) unusedPath(path string) (string, error) {
	for n := 1; n < 1000; n++ {
		to := path
		if n > 1 {
			to = fmt.Sprintf("%s.%d", path, n)
		}
		file, err := d.exists(to)
		log, err2 := d.exists(to + "-wal")
		if err := errors.Join(err, err2); err != nil {
			return "", err
		}
		if !file && !log {
			return to, nil
		}
	}
	return "", fmt.Errorf("%q: too many of them (move some elsewhere)", path)
}

// Quarantined returns the damaged files beside the state file at path, oldest first.
func Quarantined(path string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("look for damaged state files: %w", err)
	}
	var found []string
	prefix := filepath.Base(path) + asideMark
	for _, e := range entries {
		name := e.Name()
		if len(name) > len(prefix) && name[:len(prefix)] == prefix && !isLog(name) {
			found = append(found, filepath.Join(filepath.Dir(path), name))
		}
	}
	slices.Sort(found)
	return found, nil
}

// QuarantinedSince returns the number of files that have been moved aside since the given time.
func QuarantinedSince(path string, since time.Time) (int, error) {
	all, err := Quarantined(path)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, name := range all {
		if strings.TrimPrefix(name, path+asideMark) >= since.UTC().Format(asideTime) {
			n++
		}
	}
	return n, nil
}

func isLog(name string) bool {
	return len(name) > 4 && (name[len(name)-4:] == "-wal" || name[len(name)-4:] == "-shm")
}
