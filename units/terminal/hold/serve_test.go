package hold

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// Anything but a greeting or a frame ends the connection on which it arrives, and has no other
// effect (invariant 3).
func TestGarbage(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 3")
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\n\r\n", "h\xff\xff{}", "h\x00\x02[]", "h\x00\x02{}w\x00\x01x", "h\x00\x02{}\x00\x00\x00", "h\x00\x02{}w\x00\x04\x00\x00\x00\x00",
	} {
		conn := h.dial()
		_, _ = conn.Write([]byte(garbage))
		if garbage[1] != 0xff { // otherwise the holder waits for the rest
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%q: %v", garbage, err)
			}
		}
	}
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, conn, terminal.Data, "\n")
	if _, status := readUntil(t, conn, ""); status != 3 {
		t.Error(status)
	}
	h.ends("exit status 3")
}

// A client ignores a listener of another user that uses our name, and sends it nothing.
func TestOthersListener(t *testing.T) {
	h := start(t, "sh", "-c", "read x")
	h.dial()
	if conn, err := terminal.Dial(h.job, os.Getuid()+1); !errors.Is(err, terminal.ErrNone) {
		t.Error(conn, err)
	}
	for _, c := range []struct {
		peer, own int
		in        bool
	}{{1000, 1000, true}, {0, 1000, true}, {1001, 1000, false}, {1000, 0, false}} {
		if mayEnter(c.peer, c.own) != c.in {
			t.Errorf("%+v", c)
		}
	}
}

// A user who may not connect gets nothing. An admitted user gets a turn, however many refused users
// queue.
func TestRefused(t *testing.T) {
	job := fmt.Sprintf("test%d-refused", os.Getpid())
	fd, err := terminal.Listen(job)
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int32
	const strangers = 300 // more than can queue
	h := &holder{admits: func(int) bool { return refused.Add(1) > strangers }}
	var accepting sync.WaitGroup
	defer func() {
		_ = unix.Shutdown(fd, unix.SHUT_RDWR)
		accepting.Wait()
		unix.Close(fd)
	}()
	var queue []*os.File
	for range strangers {
		if len(queue) == 10 { // the queue is full before anybody is admitted
			accepting.Go(func() { h.accept(fd, make(chan struct{}, 1)) })
		}
		conn, err := terminal.Dial(job, os.Getuid())
		if err != nil {
			t.Fatal(err)
		}
		queue = append(queue, conn)
	}
	for _, conn := range queue {
		_, _ = conn.Write([]byte("h\x00\x02{}"))
		if n, err := conn.Read(make([]byte, 9)); n > 0 || err == nil {
			t.Fatalf("a stranger was told %d bytes", n)
		}
		conn.Close()
	}
	conn, err := terminal.Dial(job, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	say(t, conn, terminal.Hello, `{"Argv":["dHJ1ZQ=="]}`)
	if _, status := readUntil(t, conn, ""); status != 0 {
		t.Error(status)
	}
}

// A process in a sandbox that the holder is not in is refused with the reason, even if the process
// found the socket's name itself. If the site accepts jobs from sandboxes, the process is admitted
// (invariant 6).
func TestOutOfASandbox(t *testing.T) {
	h := start(t, "sh", "-c", "read x")
	h.dial()
	if got := fromSandbox(t, h.job); !strings.HasPrefix(got, "b") || !strings.Contains(got, "no_new_privs") {
		t.Errorf("a process without new privileges was answered %q", got)
	}
	_ = h.Process.Kill() // the next holder has the same name
	_ = h.Cmd.Wait()
	t.Setenv(contract.SandboxVariable, contract.SandboxAllowed)
	open := start(t, "sh", "-c", "read x; :")
	open.dial()
	if got := fromSandbox(t, open.job); !strings.HasPrefix(got, "e\x00") {
		t.Errorf("where the site allows it: %q", got)
	}
}

// fromSandbox returns the answer to a sandboxed process that asks a job to run a command.
func fromSandbox(t *testing.T, job string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), sandboxEnv+"="+job)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err, string(out))
	}
	return string(out)
}

// visitFromSandbox enters a sandbox, asks a job to run a command, and prints the first frame of the
// answer.
func visitFromSandbox(job string) int {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 1
	}
	// The status of the process's first thread counts.
	if os.Getenv(againEnv) == "" {
		_ = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), againEnv+"=1"))
		return 2
	}
	conn, err := terminal.Dial(job, os.Getuid())
	if err != nil {
		return 3
	}
	_, _ = conn.Write(terminal.Encode(terminal.Hello, []byte(`{"Argv":["dHJ1ZQ=="]}`)))
	kind, content, err := terminal.Read(conn)
	if err != nil {
		return 4
	}
	os.Stdout.WriteString(string(kind) + string(content))
	return 0
}
