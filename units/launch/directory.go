package launch

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

const ownMode = 0o700

// openFlags open a directory itself, never what a link names.
const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// CheckScratch returns why the site's directory can't have the scratch directories of jobs, or nil.
func CheckScratch(site string) error {
	fd, err := openTrusted(site)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// openTrusted opens a directory that only root can replace: it and all directories above it are no
// links, belong to root (or to the user of this process), and are either closed to writers or, like
// /tmp, sticky.
func openTrusted(dir string) (int, error) {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	done := ""
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err != nil {
			break
		}
		done += "/" + name
		above := fd
		fd, err = unix.Openat(above, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(above)
		var st unix.Stat_t
		if err == nil {
			err = unix.Fstat(fd, &st)
		}
		switch {
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
			return -1, fmt.Errorf("%s is a link or no directory: name the directory itself", done)
		case err != nil:
			return -1, fmt.Errorf("%s: %w", done, err)
		case st.Uid != 0 && int(st.Uid) != os.Geteuid():
			unix.Close(fd)
			return -1, fmt.Errorf("%s belongs to uid %d and not to root", done, st.Uid)
		case st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0:
			unix.Close(fd)
			return -1, fmt.Errorf("others than root may write to %s: make its mode 755", done)
		}
	}
	return fd, err
}

// openOwn opens a directory of the user uid within another one. It gives a directory of root's,
// which an earlier start made, to the user.
func openOwn(dir int, name string, uid int) (int, error) {
	fd, err := unix.Openat(dir, name, openFlags, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Uid == 0 && uid != 0 && os.Geteuid() == 0 {
		err = unix.Fchown(fd, uid, -1)
	} else if err == nil && int(st.Uid) != uid {
		err = fmt.Errorf("it belongs to uid %d", st.Uid)
	}
	if err == nil && st.Mode&0o7777 != ownMode {
		err = unix.Fchmod(fd, ownMode)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// MakeScratchHome makes a user's directory for the scratch directories of jobs.
func MakeScratchHome(site string, uid int) error {
	dir, err := openTrusted(site)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	home := contract.ScratchHome(site, uid)
	if err = unix.Mkdirat(dir, path.Base(home), ownMode); err == nil || errors.Is(err, unix.EEXIST) {
		var fd int
		if fd, err = openOwn(dir, path.Base(home), uid); err == nil {
			return unix.Close(fd)
		}
	}
	return fmt.Errorf("%s: %w", home, err)
}

// HasScratchHome reports whether MakeScratchHome has nothing to do.
func HasScratchHome(site string, uid int) bool {
	var st unix.Stat_t
	err := unix.Lstat(contract.ScratchHome(site, uid), &st)
	return err == nil && st.Mode == unix.S_IFDIR|ownMode && int(st.Uid) == uid
}

// makeScratch makes the job's scratch directory.
func makeScratch(scratch string) *Failure {
	home := path.Dir(scratch)
	dir, err := openTrusted(path.Dir(home))
	own := -1
	if err == nil {
		own, err = openOwn(dir, path.Base(home), os.Geteuid())
		unix.Close(dir)
	}
	if err == nil {
		if err = unix.Mkdirat(own, path.Base(scratch), ownMode); errors.Is(err, unix.EEXIST) {
			err = nil
		}
		unix.Close(own)
	}
	if err != nil {
		return &Failure{Step: contract.StepScratch, What: "its scratch directory " + scratch + " could not be made", Err: err,
			Next: "an administrator should see jobs.scratch in gpusched.toml(5)"}
	}
	return nil
}

// RemoveDirectory removes a directory and everything in it, but nothing that is mounted there. It
// follows no links. A directory that is missing has been removed. Of a snapshot, it removes only
// what was copied.
func RemoveDirectory(dir string) error {
	if made, err := os.Lstat(path.Join(dir, contract.SnapshotMade)); err == nil && contract.IsSnapshot(dir) {
		return removeSnapshot(dir, made)
	}
	return removeWhole(dir)
}

func removeWhole(dir string) error {
	var st unix.Stat_t
	parent, err := unix.Open(path.Dir(dir), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(parent)
		if err = unix.Fstat(parent, &st); err == nil {
			err = removeTree(parent, path.Base(dir), st.Dev)
		}
	}
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}

// removeTree removes a name in a directory, with everything below it on the device.
func removeTree(parent int, name string, device uint64) error {
	err := unix.Unlinkat(parent, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	closed, dirErr := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if dirErr != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer unix.Close(closed)
	var st unix.Stat_t
	if err = unix.Fstat(closed, &st); err == nil && st.Dev != device {
		err = unix.EXDEV
	}
	if err == nil && st.Mode&ownMode != ownMode {
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(closed), ownMode)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err = removeEntries(closed, device); err != nil {
		return fmt.Errorf("%s/%w", name, err)
	}
	if err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

const entriesAtOnce = 1000

// removeEntries removes what a directory contains. It goes on after an error, and returns the first.
func removeEntries(dir int, device uint64) (first error) {
	fd, err := unix.Openat(dir, ".", openFlags, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	for first == nil {
		names, err := f.Readdirnames(entriesAtOnce)
		for _, name := range names {
			if err := removeTree(fd, name, device); err != nil && first == nil {
				first = err
			}
		}
		if err != nil || len(names) == 0 {
			break
		}
		_, _ = f.Seek(0, 0) // the position in a directory that changes means nothing
	}
	return first
}

// directoryMain carries out contract.MakeFlag and contract.RemoveFlag.
func directoryMain(words, environ []string) int {
	err := error(unix.EINVAL)
	switch {
	case len(words) == 2 && words[0] == contract.RemoveFlag:
		err = RemoveDirectory(words[1])
	case len(words) == 3:
		var uid int
		if uid, err = strconv.Atoi(words[2]); err == nil {
			err = MakeScratchHome(words[1], uid)
		}
	}
	if err == nil {
		return 0
	}
	os.Stderr.WriteString("gpusched: " + err.Error() + "\n")
	n := newNotifier(environ)
	n.send("STATUS=" + strings.ReplaceAll(err.Error(), "\n", " "))
	return 1
}
