package launch

import (
	"strings"

	"golang.org/x/sys/unix"
)

// openLog opens a file for appending, and creates the file and its directories if they are missing.
// This process runs as the job's user, so the kernel checks every path. openLog opens only regular
// files, and does not wait for anything else, such as a FIFO.
//
// If others may write to a directory, they could put a symbolic link in place of a log, and so make
// the job write to another file of its user. With fs.protected_symlinks, the kernel does not follow
// the links of other users in sticky directories. openLog is stricter, and applies its rule in any
// directory: it follows only links of this user and of root. Before the end of the path, it also
// follows links that belong to the owner of their directory.
func openLog(path string, truncate bool) (fd int, err error) {
	fd, err = openFile(path)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, notRegular{}
	}
	if int(st.Uid) != unix.Geteuid() { // job ids, and so the names of logs, are easy to guess
		unix.Close(fd)
		return -1, notOwn{}
	}
	if truncate {
		err = unix.Ftruncate(fd, 0)
	}
	return fd, err
}

type notRegular struct{}

func (notRegular) Error() string { return "it is not a regular file" }

type notOwn struct{}

func (notOwn) Error() string { return "it belongs to another user, who could read it" }

type othersLink struct{}

func (othersLink) Error() string {
	return "there is a symbolic link of another user in its place, who could point it at any of your files"
}

// mostLinks is the maximum number of links in a path, as in the kernel.
const mostLinks = 40

// walk follows a path, name by name.
type walk struct {
	dir   int      // the directory reached so far
	names []string // the names that remain
	links int      // links followed so far
}

func openFile(path string) (fd int, err error) {
	if len(path) >= unix.PathMax {
		return -1, unix.ENAMETOOLONG
	}
	w := &walk{dir: unix.AT_FDCWD}
	defer func() { w.move(unix.AT_FDCWD) }()
	if err := w.prepend(path); err != nil {
		return -1, err
	}
	for fd = -1; fd < 0 && err == nil; {
		name := w.names[0]
		if w.names = w.names[1:]; len(w.names) == 0 {
			fd, err = w.file(name)
		} else {
			err = w.enter(name)
		}
	}
	return fd, err
}

// move enters a directory.
func (w *walk) move(dir int) {
	if w.dir >= 0 {
		unix.Close(w.dir)
	}
	w.dir = dir
}

// prepend puts the names of a path before those that remain.
func (w *walk) prepend(path string) error {
	if strings.HasPrefix(path, "/") {
		root, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		w.move(root)
	}
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || len(names) == 0 {
		names = append(names, ".") // the path must name a directory
	}
	w.names = append(names, w.names...)
	return nil
}

// enter goes into a directory, or follows a link in its place. O_DIRECTORY triggers automounts.
func (w *walk) enter(name string) error {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir, err := unix.Openat(w.dir, name, flags, 0)
	if err == unix.ENOENT {
		if err := unix.Mkdirat(w.dir, name, 0o777); err != nil && err != unix.EEXIST {
			return err
		}
		dir, err = unix.Openat(w.dir, name, flags, 0)
	}
	if err == unix.ENOTDIR || err == unix.ELOOP {
		if followed, err := w.follow(name); followed || err != nil {
			return err
		}
		return unix.ENOTDIR
	}
	if err == nil {
		w.move(dir)
	}
	return err
}

// file opens the log, or returns -1 without an error after following a link.
func (w *walk) file(name string) (fd int, err error) {
	if followed, err := w.follow(name); followed || err != nil && err != unix.ENOENT {
		return -1, err
	}
	return unix.Openat(w.dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_NOCTTY|unix.O_NONBLOCK|
		unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
}

// follow follows a link, unless another user may have put it there. At the end of the path,
// anything but a link or a file is an error.
func (w *walk) follow(name string) (followed bool, err error) {
	fd, err := unix.Openat(w.dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if len(w.names) == 0 && st.Mode&unix.S_IFMT != unix.S_IFREG {
			return false, notRegular{}
		}
		return false, nil
	}
	if w.links++; w.links > mostLinks {
		return false, unix.ELOOP
	}
	if !w.trusts(st.Uid) {
		return false, othersLink{}
	}
	target := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", target)
	if err != nil {
		return false, err
	}
	return true, w.prepend(string(target[:n]))
}

// trusts reports whether a link that belongs to this owner is followed here.
func (w *walk) trusts(owner uint32) bool {
	if owner == 0 || int(owner) == unix.Geteuid() {
		return true
	}
	var here unix.Stat_t
	onTheWay := len(w.names) > 0
	return onTheWay && unix.Fstatat(w.dir, ".", &here, 0) == nil && here.Uid == owner
}
