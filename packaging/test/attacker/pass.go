package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// passDevice opens a device and passes the descriptor to whoever connects to a socket.
func passDevice(device, at string) {
	fd, err := unix.Open(device, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Println("give:", err)
		os.Exit(1)
	}
	listen, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		os.Remove(at)
		err = unix.Bind(listen, &unix.SockaddrUnix{Name: at})
	}
	if err == nil {
		os.Chmod(at, 0o777)
		err = unix.Listen(listen, 1)
	}
	setTimeouts(listen)
	fmt.Println("give: listening", err)
	taker, _, err := unix.Accept(listen)
	if err == nil {
		err = unix.Sendmsg(taker, []byte("x"), unix.UnixRights(fd), nil, 0)
	}
	fmt.Println("give: given", err)
	time.Sleep(time.Hour)
}

// takeDevice tries to open the device. It then receives an open descriptor of the device and keeps
// it. It also claims memory of the GPU, as a program that uses the GPU would.
func takeDevice(device, at, gpu string) {
	const subject = "passed descriptors"
	_, err := unix.Open(device, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	printDenied(subject, "open "+device, err)
	conn, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		setTimeouts(conn)
		err = unix.Connect(conn, &unix.SockaddrUnix{Name: at})
	}
	oob := make([]byte, 64)
	n := 0
	if err == nil {
		_, n, _, _, err = unix.Recvmsg(conn, make([]byte, 1), oob, 0)
	}
	held := -1
	if messages, parseErr := unix.ParseSocketControlMessage(oob[:n]); err == nil && parseErr == nil && len(messages) == 1 {
		if fds, rightsErr := unix.ParseUnixRights(&messages[0]); rightsErr == nil && len(fds) == 1 {
			held = fds[0]
		}
	}
	if held < 0 {
		fmt.Println("take: nothing came:", err)
		os.Exit(1)
	}
	// The kernel checks access only when a device is opened.
	to, _ := os.Readlink(fmt.Sprint("/proc/self/fd/", held))
	_, err = unix.Open(fmt.Sprint("/proc/self/fd/", held), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	printDenied(subject, "open it anew by the descriptor", err)
	os.WriteFile(fmt.Sprintf("/run/fakenvml/claims/%d-%s", os.Getpid(), gpu), []byte("1073741824 kind=compute\n"), 0o644)
	fmt.Println("take: holds", to)
	time.Sleep(time.Hour)
}
