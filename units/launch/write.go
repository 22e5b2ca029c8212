package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// tempPrefix begins the name of a file that is not complete yet.
const tempPrefix = ".new-"

// Path returns where the spec of a job lies in dir.
func Path(dir string, id int64) string { return filepath.Join(dir, strconv.FormatInt(id, 10)) }

// Write puts the spec of job id into dir, readable by uid and root only, and
// returns its path. An older spec of the job is replaced in one step. The
// directory must be ours and writable by nobody else; it lies in memory
// (/run), so nothing is synced.
func Write(dir string, id int64, uid int, s *Spec) (string, error) {
	data := Encode(s)
	if len(data) > MaxSpecBytes {
		return "", fmt.Errorf("write the spec of job %d: %d bytes are more than %d", id, len(data), MaxSpecBytes)
	}
	d, err := openDir(dir)
	if err != nil {
		return "", fmt.Errorf("write the spec of job %d: %w", id, err)
	}
	defer unix.Close(d)
	name := strconv.FormatInt(id, 10)
	if err := writeAt(d, tempPrefix+name, uid, data); err != nil {
		return "", fmt.Errorf("write the spec of job %d in %q: %w", id, dir, err)
	}
	if err := unix.Renameat(d, tempPrefix+name, d, name); err != nil {
		_ = unix.Unlinkat(d, tempPrefix+name, 0)
		return "", fmt.Errorf("write the spec of job %d in %q: rename: %w", id, dir, err)
	}
	return Path(dir, id), nil
}

// openDir opens the directory of specs and refuses one in which somebody else
// could put or replace a name.
func openDir(dir string) (int, error) {
	d, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open directory %q: %w", dir, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(d, &st); err != nil {
		unix.Close(d)
		return -1, fmt.Errorf("stat directory %q: %w", dir, err)
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		unix.Close(d)
		return -1, fmt.Errorf("directory %q has owner %d and mode %#o: it must be ours and writable by us alone (see systemd-tmpfiles --create)", dir, st.Uid, st.Mode&0o7777)
	}
	return d, nil
}

// writeAt creates name in the directory d with data for uid. What an
// interrupted Write left under the name goes first.
func writeAt(d int, name string, uid int, data []byte) (err error) {
	if err := unix.Unlinkat(d, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	fd, err := unix.Openat(d, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o400)
	if err != nil {
		return fmt.Errorf("create %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = unix.Unlinkat(d, name, 0)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(0o400); err != nil {
		return err
	}
	return f.Chown(uid, -1)
}

// Remove takes the spec of a job away. One that is not there is no error.
func Remove(dir string, id int64) error {
	if err := os.Remove(Path(dir, id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the spec of job %d: %w", id, err)
	}
	return nil
}

// Sweep removes every spec in dir that keep does not want, and what an
// interrupted Write left. A missing directory holds nothing.
func Sweep(dir string, keep func(id int64) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep specs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, err := strconv.ParseInt(e.Name(), 10, 64)
		if err == nil && strconv.FormatInt(id, 10) == e.Name() && keep(id) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("sweep specs: %w", err))
		}
	}
	return errors.Join(errs...)
}
