package terminal

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel says who owns a socket, and both ways of asking find the same sockets.
func TestListeners(t *testing.T) {
	job := fmt.Sprintf("test%d-listeners", os.Getpid())
	fd, err := Listen(job)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	asked, err := askKernel(prefix(job))
	if err != nil || len(asked) != 1 || asked[0].uid != os.Getuid() {
		t.Fatalf("%+v, %v", asked, err)
	}
	read, err := readList(prefix(job))
	if err != nil || len(read) != 1 || read[0] != (listener{asked[0].name, -1}) {
		t.Errorf("the list has %+v, %v; the kernel %+v", read, err, asked)
	}
	f, err := Dial(job, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// Dial does not connect to sockets of another user, and reports that they exist (invariant 1).
func TestOthersAreNotDialled(t *testing.T) {
	job := fmt.Sprintf("test%d-decoys", os.Getpid())
	for range 3 {
		fd, err := Listen(job)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC); err != unix.EAGAIN {
				t.Errorf("somebody connected: %v", err)
			}
		}()
	}
	var seen *UnreachedError
	f, err := Dial(job, os.Getuid()+1)
	if f != nil || !errors.Is(err, ErrNone) || !errors.As(err, &seen) || *seen != (UnreachedError{Others: 3}) {
		t.Errorf("%v, %v", f, err)
	}
	for seen, want := range map[UnreachedError]string{
		{Others: 3}:          "3 sockets of other users pose as its terminal",
		{Others: 3, Busy: 2}: "3 sockets of other users pose as its terminal, and its own accepted no connection",
		{Others: 1}:          "a socket of another user poses as its terminal",
		{Busy: 1}:            "its terminal accepted no connection",
	} {
		if got := seen.Error(); got != want {
			t.Errorf("%+v: %q, want %q", seen, got, want)
		}
	}
	if _, err := Dial(job+"-none", os.Getuid()); err != ErrNone {
		t.Errorf("no socket at all: %v", err)
	}
}

// Bytes that are not the kernel's answer yield no listener and no panic (invariant 2).
func FuzzParseListener(f *testing.F) {
	f.Add(append(make([]byte, 16), 8, 0, 7, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 'x', 0, 0))
	f.Add(make([]byte, 17))
	f.Fuzz(func(t *testing.T, b []byte) { parseListener(b) })
}
