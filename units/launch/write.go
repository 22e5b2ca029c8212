package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tempPrefix begins the name of an incomplete file.
const tempPrefix = ".new-"

const (
	// blockBytes divides the size of each file. Everybody can see the size of a file. With blocks,
	// nearly all jobs have the same size.
	blockBytes = 16 << 10
	// smallBytes is the largest size of specs that are not limited per user. Such specs take little
	// memory, even if every job that can run has one.
	smallBytes = 64 << 10
	// userShare divides the size of the file system. The result is the limit for one user's larger
	// specs.
	userShare = 16
)

// RoomError means that a user's larger specs have reached the limit.
type RoomError struct{ Bytes, Held, Most int64 }

// Error also says what to do.
func (e *RoomError) Error() string {
	return fmt.Sprintf("its command and environment of %d bytes, beside the %d of the user's other jobs, are more than the %d that one user may have "+
		"in memory: use --env clean, or put data in a file", e.Bytes, e.Held, e.Most)
}

// Path returns the path of the spec of a job's attempt in dir.
func Path(dir string, id int64, attempt int) string { return filepath.Join(dir, fileName(id, attempt)) }

func fileName(id int64, attempt int) string {
	return strconv.FormatInt(id, 10) + "." + strconv.Itoa(attempt)
}

// parseFileName is the inverse of fileName. It returns false for any other name.
func parseFileName(name string) (id int64, attempt int, ok bool) {
	job, rest, _ := strings.Cut(name, ".")
	id, err := strconv.ParseInt(job, 10, 64)
	attempt, _ = strconv.Atoi(rest)
	return id, attempt, err == nil && attempt > 0 && name == fileName(id, attempt)
}

// jobOf returns the job id that a file's name contains.
func jobOf(path string) string {
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	return id
}

// Write writes the spec of a job's attempt into the directory dir, and returns the path of the
// file. Only the user uid can read the file. It replaces an older spec of the attempt in one step.
// The directory must be ours, and nobody else may be able to write to it. The directory is in
// memory (/run), so nothing is synced.
func Write(dir string, id int64, uid int, s *Spec) (string, error) {
	data := pad(Encode(s))
	if len(data) > MaxSpecBytes {
		return "", fmt.Errorf("write the spec of job %d: %d bytes are more than %d", id, len(data), MaxSpecBytes)
	}
	d, err := openDir(dir)
	if err != nil {
		return "", fmt.Errorf("write the spec of job %d: %w", id, err)
	}
	defer unix.Close(d)
	if len(data) > smallBytes {
		most, err := share(d)
		if err == nil {
			err = checkRoom(dir, uid, int64(len(data)), most)
		}
		if err != nil {
			return "", fmt.Errorf("write the spec of job %d: %w", id, err)
		}
	}
	name := fileName(id, s.Attempt)
	if err := writeAt(d, tempPrefix+name, uid, data); err != nil {
		return "", fmt.Errorf("write the spec of job %d in %q: %w", id, dir, err)
	}
	if err := replaceAt(d, tempPrefix+name, name); err != nil {
		return "", fmt.Errorf("write the spec of job %d in %q: %w", id, dir, err)
	}
	return Path(dir, id, s.Attempt), nil
}

// pad adds zeros to the data, so that the file's size reveals little.
func pad(data []byte) []byte {
	return append(data, make([]byte, (blockBytes-len(data)%blockBytes)%blockBytes)...)
}

// share returns the amount of memory that the larger specs of one user may take.
func share(d int) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(d, &fs); err != nil {
		return 0, fmt.Errorf("look for room: %w", err)
	}
	return int64(fs.Blocks) * fs.Bsize / userShare, nil
}

// checkRoom checks whether a user's larger specs may grow by size bytes. Nothing else limits their
// sum: each task of an array has its own spec with the whole command, which the state file stores
// only once.
func checkRoom(dir string, uid int, size, most int64) error {
	held, err := heldBy(dir, uid)
	if err == nil && held+size > most {
		return &RoomError{Bytes: size, Held: held, Most: most}
	}
	return err
}

// heldBy returns the sum of the sizes of a user's larger specs.
func heldBy(dir string, uid int) (held int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("look for room: %w", err)
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil || st.Size() <= smallBytes { // after an error: the file has just been removed
			continue
		}
		if of, ok := grantedUser(filepath.Join(dir, e.Name())); ok && of == uid {
			held += st.Size()
		}
	}
	return held, nil
}

// openDir opens the directory of specs. It refuses a directory in which somebody else could create
// or replace a name.
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

// writeAt creates a file in the directory d. The file has this name and the data, and uid may read
// it. writeAt first removes a file of that name that an interrupted Write left.
func writeAt(d int, name string, uid int, data []byte) (err error) {
	if err := discardAt(d, name); err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	fd, err := unix.Openat(d, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("create %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = discardAt(d, name)
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return grant(int(f.Fd()), uid)
}

// replaceAt gives a complete file its name, and replaces an older file.
func replaceAt(d int, from, to string) error {
	old, err := unix.Openat(d, to, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(old)
	}
	if err := unix.Renameat(d, from, d, to); err != nil {
		_ = discardAt(d, from)
		return fmt.Errorf("rename: %w", err)
	}
	if old >= 0 {
		_ = unix.Ftruncate(old, 0)
	}
	return nil
}

// discard removes a file and frees its memory at once. If it only removed the file, the user could
// keep the file open, and with it the memory, which no limit of a job covers. A missing file is not
// an error.
func discard(path string) error {
	d, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	defer unix.Close(d)
	if err := discardAt(d, filepath.Base(path)); err != nil {
		return &os.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}

// discardAt does the same as discard for a name in an open directory. If the name is not a file of
// ours, but a link for instance, it is removed and nothing is freed.
func discardAt(d int, name string) error {
	fd, err := unix.Openat(d, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Ftruncate(fd, 0)
		unix.Close(fd)
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err := unix.Unlinkat(d, name, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	return nil
}

// Remove removes the spec of an attempt and what Keep stored about the attempt. A missing file is
// not an error.
func Remove(dir string, id int64, attempt int) error {
	d, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the spec of job %d: %w", id, &os.PathError{Op: "open", Path: dir, Err: err})
	}
	defer unix.Close(d)
	path := Path(dir, id, attempt)
	var errs []error
	for _, path := range []string{path, path + keptSuffix} {
		if err := discardAt(d, filepath.Base(path)); err != nil {
			errs = append(errs, &os.PathError{Op: "remove", Path: path, Err: err})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the spec of job %d: %w", id, err)
	}
	return nil
}

// Sweep removes every spec in dir for which the function keep returns false, and what an
// interrupted Write left. A missing directory counts as empty.
func Sweep(dir string, keep func(id int64, attempt int) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweep specs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if isKept(e.Name()) { // SweepKept removes these
			continue
		}
		if id, attempt, ok := parseFileName(e.Name()); ok && keep(id, attempt) {
			continue
		}
		if err := discard(filepath.Join(dir, e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("sweep specs: %w", err))
		}
	}
	return errors.Join(errs...)
}
