package systemd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The service manager gets exactly these messages.
func TestNotifier(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "30000000")
	t.Setenv("WATCHDOG_PID", fmt.Sprint(os.Getpid()))
	n := NewNotifier()
	if n.WatchdogInterval() != 30*time.Second || os.Getenv("WATCHDOG_USEC") != "" {
		t.Errorf("interval %v, left in the environment: %q", n.WatchdogInterval(), os.Getenv("WATCHDOG_USEC"))
	}
	buf := make([]byte, 4096)
	for _, c := range []struct {
		say  func()
		want string
	}{
		{n.Ready, "READY=1"},
		{n.Alive, "WATCHDOG=1"},
		{n.Reloading, "RELOADING=1\nMONOTONIC_USEC="},
		{func() { n.Status("2 jobs\nMAINPID=1") }, "STATUS=2 jobs MAINPID=1"},
		{n.Stopping, "STOPPING=1"},
	} {
		c.say()
		size, err := heard.Read(buf)
		if got := string(buf[:size]); err != nil || !strings.HasPrefix(got, c.want) || strings.Count(strings.TrimSpace(got), "\n") != strings.Count(c.want, "\n") {
			t.Errorf("heard %q, %v, want %q", got, err, c.want)
		}
	}
	if n.Err() != nil {
		t.Error(n.Err())
	}
	heard.Close()
	if n.Ready(); n.Err() == nil {
		t.Error("no error although nobody listens")
	}
}

// If a service manager does not read, it delays nobody.
func TestNotifierUnread(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	deaf, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	n := NewNotifier()
	for begin := time.Now(); n.Err() == nil; {
		if n.Ready(); time.Since(begin) > time.Minute {
			t.Fatal("it was never full")
		}
	}
	begin := time.Now()
	for range 1000 {
		n.Status("waits for nothing")
	}
	if took := time.Since(begin); took > time.Minute || !errors.Is(n.Err(), errUnread) {
		t.Errorf("took %v, %v", took, n.Err())
	}
	// A message that must arrive is sent as soon as the earlier messages have been read.
	read := make(chan int)
	go func() {
		told, buf := 0, make([]byte, 100)
		for {
			k, err := deaf.Read(buf)
			switch text := string(buf[:k]); {
			case err != nil || text == "END":
				read <- told
				return
			case text == "STOPPING=1", text == "READY=1\nSTATUS=can't work":
				told++
			}
		}
	}()
	n.ReadyBut("can't work")
	n.Stopping()
	end, err := net.Dial("unixgram", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	if _, err := end.Write([]byte("END")); err != nil {
		t.Fatal(err)
	}
	if <-read != 2 {
		t.Error("what must arrive did not, though the manager reads again")
	}
	deaf.Close()
}

// After a start by hand nothing is sent.
func TestNotifierAlone(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "")
	n := NewNotifier()
	n.Ready()
	n.Alive()
	if n.Err() != nil || n.WatchdogInterval() != 0 {
		t.Errorf("%v, interval %v", n.Err(), n.WatchdogInterval())
	}
}

const activatedChild = "GPUSCHED_TEST_ACTIVATED"

// A passed socket is taken over. It stays open when the listener is closed.
func TestListeners(t *testing.T) {
	if os.Getenv(activatedChild) != "" {
		serveOnce(t)
		return
	}
	if _, err := Listeners(); !errors.Is(err, ErrNotActivated) {
		t.Errorf("without a socket: %v", err)
	}
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file, err := l.(*net.UnixListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	child := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=gpusched.socket exec "$0" -test.run='^TestListeners$'`, os.Args[0])
	child.Env = append(os.Environ(), activatedChild+"=1")
	child.ExtraFiles = []*os.File{file}
	var out strings.Builder
	child.Stdout, child.Stderr = &out, &out
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	word, err := io.ReadAll(conn)
	if waitErr := child.Wait(); err != nil || waitErr != nil || string(word) != "served" {
		t.Errorf("got %q, %v, %v\n%s", word, err, waitErr, out.String())
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the socket's file: %v", err)
	}
}

func serveOnce(t *testing.T) {
	all, err := Listeners()
	if err != nil || len(all) != 1 || os.Getenv("LISTEN_FDS") != "" {
		t.Fatalf("%d listeners, %v, left in the environment: %q", len(all), err, os.Getenv("LISTEN_FDS"))
	}
	conn, err := all[0].Accept()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("served")); err != nil {
		t.Error(err)
	}
	conn.Close()
	all[0].Close()
}
