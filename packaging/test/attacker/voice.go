package main

import (
	"net"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sayStopping runs as a job. At once it tells the service manager that the job is stopping. It
// keeps asking for more time to stop, and never ends.
func sayStopping() {
	signal.Ignore(syscall.SIGTERM)
	to := &unix.SockaddrUnix{Name: "/run/systemd/notify"}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	for err == nil {
		err = unix.Sendto(fd, []byte("STOPPING=1\nEXTEND_TIMEOUT_USEC=9999999999999"), 0, to)
		time.Sleep(100 * time.Millisecond)
	}
	panic(err)
}

// halfOpen connects to the daemon, sends nothing, and ignores SIGTERM.
func halfOpen() {
	signal.Ignore(syscall.SIGTERM)
	if _, err := net.Dial("unix", socket); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}
