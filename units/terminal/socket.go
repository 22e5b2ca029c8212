package terminal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNone means that the job has no terminal to attach to.
var ErrNone = errors.New("it has no terminal")

func prefix(job string) string { return "@gpusched-terminal-" + job + "-" }

// UnreachedError is a kind of ErrNone. It means that there are sockets with the name of the
// terminal, but none could be used. Others is the number of sockets that belong to other users, and
// Busy the number that accepted no connection.
type UnreachedError struct{ Others, Busy int }

// Error says which sockets were seen.
func (e *UnreachedError) Error() string {
	others := fmt.Sprintf("%d sockets of other users pose as its terminal", e.Others)
	if e.Others == 1 {
		others = "a socket of another user poses as its terminal"
	}
	switch {
	case e.Busy == 0:
		return others
	case e.Others == 0:
		return "its terminal accepted no connection"
	}
	return others + ", and its own accepted no connection"
}

// Is reports whether target is ErrNone.
func (e *UnreachedError) Is(target error) bool { return target == ErrNone }

// Listen opens the socket of a job's terminal.
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

// Dial connects to the terminal of a job that belongs to the user uid. It ignores the sockets of
// other users and sends them nothing (invariant 1). If other clients keep the socket busy, Dial
// waits for its turn. If the job has no terminal that could be used, the error is ErrNone or, with
// the reason, an UnreachedError.
func Dial(job string, uid int) (*os.File, error) {
	for look := 1; ; look++ {
		f, listed, err := dialListed(job, uid)
		if listed || look == maxTries || !errors.Is(err, ErrNone) {
			return f, err
		}
	}
}

// maxTries is the number of times that the kernel is asked for its sockets. The kernel may omit
// some sockets while others are opened and closed.
const maxTries = 5

// dialListed asks the kernel for its sockets once. It also reports whether there was a socket that
// may be the terminal.
func dialListed(job string, uid int) (f *os.File, listed bool, err error) {
	list, err := listeners(prefix(job))
	if err != nil {
		return nil, false, fmt.Errorf("look for the terminal of job %s: %w", job, err)
	}
	var busy []string
	seen := &UnreachedError{}
	for _, l := range list {
		if l.uid >= 0 && l.uid != uid {
			seen.Others++
			continue
		}
		listed = true
		f, err := dial(l.name, uid, 0)
		switch {
		case f != nil:
			return f, true, nil
		case err == unix.EAGAIN && len(busy) < maxBusy:
			busy = append(busy, l.name)
		case err == nil:
			seen.Others++
		}
	}
	seen.Busy = len(busy)
	if f, err = dialBusy(busy, uid); err != nil && *seen != (UnreachedError{}) {
		err = seen
	}
	return f, listed, err
}

// maxBusy limits the number of names at which dialBusy waits, and queueSeconds the time. Anybody
// can listen at such a name, so dialBusy waits at all of them at once.
const (
	maxBusy      = 64
	queueSeconds = 10
)

func dialBusy(names []string, uid int) (*os.File, error) {
	dialled := make(chan *os.File, len(names))
	for _, name := range names {
		go func() {
			f, _ := dial(name, uid, queueSeconds)
			dialled <- f
		}()
	}
	for range names {
		if f := <-dialled; f != nil {
			return f, nil
		}
	}
	return nil, ErrNone
}

// dial connects to a name within the given time. It returns nil if uid does not own the other end.
func dial(name string, uid int, seconds int64) (*os.File, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if seconds > 0 {
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: seconds})
	} else {
		err = unix.SetNonblock(fd, true)
	}
	if err == nil {
		err = connect(fd, name, time.Now().Add(time.Duration(seconds)*time.Second))
	}
	if err == nil {
		peer, asked := PeerUID(fd)
		if asked == nil && peer == uid && unix.SetNonblock(fd, true) == nil {
			return os.NewFile(uintptr(fd), "terminal"), nil
		}
	}
	unix.Close(fd)
	return nil, err
}

// connect connects to a socket. If a signal interrupts the call, such as a signal of Go's own
// scheduler, connect tries again, but not after the deadline.
func connect(fd int, name string, deadline time.Time) error {
	for {
		err := unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		if err != unix.EINTR || time.Now().After(deadline) {
			return err
		}
	}
}

// DropInput discards what has been typed at a terminal and has not been read yet.
func DropInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// PeerUID returns the user at the other end of a connection, according to the kernel.
func PeerUID(fd int) (int, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(c.Uid), nil
}
