package main

import (
	"net"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sayStopping is a job that tells the service manager at once that it is about to
// stop, asks again and again for more time to do so, and runs for ever.
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

// halfOpen connects to the scheduler, asks nothing, and does not go when it is told to.
func halfOpen() {
	signal.Ignore(syscall.SIGTERM)
	if _, err := net.Dial("unix", socket); err != nil {
		panic(err)
	}
	time.Sleep(time.Hour)
}
