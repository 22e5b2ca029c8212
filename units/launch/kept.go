package launch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Next to the spec of an attempt there may be a file of decisions that were made after the unit was
// started. The unit does not show these decisions. Only the daemon reads the file, and only when it
// knows nothing else about the job.

const keptSuffix = ".kept"

// maxKept limits the number of bytes that Kept reads. A parked job with many GPUs, or with many
// processes on them, has several KiB.
const maxKept = 1 << 20

// Keep stores data about a job's attempt in a file in the directory dir. The data replaces what was
// stored before.
func Keep(dir string, id int64, attempt int, data []byte) error {
	d, err := openDir(dir)
	if err != nil {
		return fmt.Errorf("keep what is known of job %d: %w", id, err)
	}
	defer unix.Close(d)
	name := fileName(id, attempt) + keptSuffix
	err = writeAt(d, tempPrefix+name, os.Geteuid(), data)
	if err == nil {
		err = replaceAt(d, tempPrefix+name, name)
	}
	if err != nil {
		return fmt.Errorf("keep what is known of job %d in %q: %w", id, dir, err)
	}
	return nil
}

// Kept returns what Keep stored last, or nil if it has stored nothing.
func Kept(dir string, id int64, attempt int) ([]byte, error) {
	path := Path(dir, id, attempt) + keptSuffix
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxKept))
}

// SweepKept removes what Keep stored about those attempts for which the function keep returns
// false.
func SweepKept(dir string, keep func(id int64, attempt int) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("sweep what is known of jobs: %w", err)
	}
	var errs []error
	for _, e := range entries {
		name, kept := strings.CutSuffix(e.Name(), keptSuffix)
		if id, attempt, ok := parseFileName(name); kept && ok && !keep(id, attempt) {
			errs = append(errs, discard(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// isKept reports whether a file has a name that Keep uses.
func isKept(file string) bool {
	name, kept := strings.CutSuffix(file, keptSuffix)
	_, _, ok := parseFileName(name)
	return kept && ok
}
