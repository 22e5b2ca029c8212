package terminal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNone says that no terminal of the job is there to be attached to.
var ErrNone = errors.New("it has no terminal")

// listFile is the kernel's list of sockets.
const listFile = "/proc/net/unix"

func prefix(job string) string { return "@gpusched-terminal-" + job + "-" }

// Listen opens the socket of the terminal of a job.
func Listen(job string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open a socket: %w", err)
	}
	err = unix.Bind(fd, &unix.SockaddrUnix{Name: prefix(job) + rand.Text()})
	if err == nil {
		err = unix.Listen(fd, 64)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen for those who attach: %w", err)
	}
	return fd, nil
}

// Dial connects to the terminal of a job, which is held by uid. A socket of anybody
// else is passed over, and hears nothing (invariant 1).
func Dial(job string, uid int) (*os.File, error) {
	list, err := os.ReadFile(listFile)
	if err != nil {
		return nil, fmt.Errorf("look for the terminal of job %s: %w", job, err)
	}
	for line := range strings.Lines(string(list)) {
		at := strings.Index(line, " "+prefix(job))
		if at < 0 {
			continue
		}
		if f := dial(strings.TrimRight(line[at+1:], "\n"), uid); f != nil {
			return f, nil
		}
	}
	return nil, ErrNone
}

// dial connects to a name, and returns nil where that is not uid's.
func dial(name string, uid int) *os.File {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: name}); err == nil {
		if peer, err := PeerUID(fd); err == nil && peer == uid {
			return os.NewFile(uintptr(fd), "terminal")
		}
	}
	unix.Close(fd)
	return nil
}

// PeerUID returns whose the other end of a connection is, as the kernel says.
func PeerUID(fd int) (int, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(c.Uid), nil
}
