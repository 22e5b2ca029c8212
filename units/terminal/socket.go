package terminal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNone says that no terminal of the job is there to be attached to.
var ErrNone = errors.New("it has no terminal")

// listFile is the kernel's list of sockets, and listening are the flags there of one that
// takes connections. Each of those has its name as well.
const (
	listFile  = "/proc/net/unix"
	listening = " 00010000 "
)

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
// else is passed over, and hears nothing (invariant 1). Where others keep those who
// listen busy it waits its turn.
func Dial(job string, uid int) (*os.File, error) {
	for look := 1; ; look++ {
		f, listed, err := dialListed(job, uid)
		if listed || look == looks || err != ErrNone {
			return f, err
		}
	}
}

// looks is how often one looks into the kernel's list, which leaves sockets out while others
// come and go.
const looks = 5

// dialListed is one look, and whether it found a name of the job.
func dialListed(job string, uid int) (f *os.File, listed bool, err error) {
	list, err := os.ReadFile(listFile)
	if err != nil {
		return nil, false, fmt.Errorf("look for the terminal of job %s: %w", job, err)
	}
	var busy []string
	for line := range strings.Lines(string(list)) {
		at := strings.Index(line, " "+prefix(job))
		if at < 0 || !strings.Contains(line[:at], listening) {
			continue
		}
		listed = true
		name := strings.TrimRight(line[at+1:], "\n")
		f, err := dial(name, uid, 0)
		if f != nil {
			return f, true, nil
		}
		if err == unix.EAGAIN && len(busy) < maxBusy {
			busy = append(busy, name)
		}
	}
	f, err = dialBusy(busy, uid)
	return f, listed, err
}

// maxBusy bounds at how many names one waits, and queueSeconds for how long. Anybody can
// listen at such a name, so one waits at all of them together.
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

// dial connects to a name, for which it waits so long, and returns nil where that is not
// uid's.
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

// connect goes on where a signal ends the wait, as those of Go's own scheduler do.
func connect(fd int, name string, until time.Time) error {
	for {
		err := unix.Connect(fd, &unix.SockaddrUnix{Name: name})
		if err != unix.EINTR || time.Now().After(until) {
			return err
		}
	}
}

// DropInput forgets what has been typed at a terminal and not read.
func DropInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// PeerUID returns whose the other end of a connection is, as the kernel says.
func PeerUID(fd int) (int, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(c.Uid), nil
}
