package hold

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

// An extra command has the job's environment, and its own input, outputs and end, with and without
// a terminal. If its client leaves, the command gets SIGHUP.
func TestBeside(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 5")
	command := commandOf
	conn := h.greet(terminal.Greeting{Argv: command("sh", "-c", "cat; echo wrong >&2; exit 9")})
	say(t, conn, terminal.Data, "typed\n")
	say(t, conn, terminal.EOF, "")
	if shown, status := readUntil(t, conn, ""); status != 9 || len(shown) != 12 || !strings.Contains(shown, "typed\n") || !strings.Contains(shown, "wrong\n") {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Rows: 11, Cols: 44, Term: "vt52", Argv: command("sh", "-c", `stty size; echo $TERM; kill -9 $$`)})
	if shown, status := readUntil(t, conn, ""); status != 137 || shown != "11 44\r\nvt52\r\n" {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Argv: command("sh", "-c", "echo $$; exec sleep 600")})
	pid, _ := readUntil(t, conn, "\n")
	conn.Close()
	for process := "/proc/" + strings.TrimSpace(pid); ; {
		if _, err := os.Stat(process); err != nil {
			break
		}
	}
	conn = h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, conn, terminal.Data, "\n")
	if _, status := readUntil(t, conn, ""); status != 5 {
		t.Error(status)
	}
}

// An extra command waits until its client reads the output. The wait has no limit such as
// writeTime, the limit for an attached client. The job continues meanwhile.
func TestSlowReader(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 4")
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "echo begun; head -c 20000000 /dev/zero; echo over")})
	shown, _ := readUntil(t, conn, "begun")
	total := len(shown)
	for pause := 50 * time.Millisecond; ; pause = 0 {
		<-time.After(pause) // all buffers on the way are full
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		kind, content, err := terminal.Read(conn)
		if err != nil {
			t.Fatal(err, total)
		}
		if kind == terminal.Ended {
			break
		}
		total += len(content)
	}
	if want := len("begun\nover\n") + 20_000_000; total != want {
		t.Errorf("%d bytes of %d", total, want)
	}
	attached := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, attached, terminal.Data, "\n")
	if _, status := readUntil(t, attached, ""); status != 4 {
		t.Error(status)
	}
}

// A command whose client has left, or whose job has ended, ends even if it ignores SIGHUP
// (invariant 4).
func TestHangUp(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 4")
	gone := func(pid string) {
		t.Helper()
		for process := "/proc/" + strings.TrimSpace(pid); ; {
			if _, err := os.Stat(process); err != nil {
				return
			}
		}
	}
	const stubborn = "trap '' HUP TERM INT; echo $$; while :; do sleep 1; done"
	for _, g := range []terminal.Greeting{{Argv: commandOf("sh", "-c", stubborn)}, {Rows: 9, Cols: 9, Argv: commandOf("sh", "-c", stubborn)}} {
		conn := h.greet(g)
		pid, _ := readUntil(t, conn, "\n")
		conn.Close()
		gone(pid)
	}
	kept := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "trap '' TERM HUP; echo $$; sleep 600")})
	pid, _ := readUntil(t, kept, "\n")
	attached := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, attached, terminal.Data, "\n")
	if _, status := readUntil(t, attached, ""); status != 4 {
		t.Error(status)
	}
	gone(pid)
}

// A process that a command leaves behind, with the command's output open, delays nobody, not even
// if it prints without end.
func TestLeftBehind(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 4")
	for _, g := range []terminal.Greeting{{}, {Rows: 9, Cols: 9}} {
		for _, left := range []string{"sleep 600", "sh -c 'while :; do sleep 0.05; echo; done'"} {
			g.Argv = commandOf("sh", "-c", "setsid "+left+" & echo $!; exit 6")
			conn := h.greet(g)
			if g.Rows > 0 {
				say(t, conn, terminal.Size, string(terminal.EncodeSize(11, 44)))
			}
			shown, status := readUntil(t, conn, "")
			pid, _, _ := strings.Cut(strings.TrimSpace(shown), "\n")
			if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil {
				_ = unix.Kill(n, unix.SIGKILL)
			}
			if status != 6 {
				t.Error(status, left)
			}
		}
	}
}

// All that is typed at once reaches a command that reads slowly.
func TestPaste(t *testing.T) {
	h := start(t, "sh", "-c", "stty raw -echo; echo ready; sleep 0.3; head -c 300000 | wc -c")
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	readUntil(t, conn, "ready")
	for range 6 {
		say(t, conn, terminal.Data, strings.Repeat("x", 50_000))
	}
	if shown, _ := readUntil(t, conn, ""); !strings.Contains(shown, "300000") {
		t.Errorf("%q", shown)
	}
}

// The holder puts Main's prefix in front of the job's command and of extra commands.
func TestBefore(t *testing.T) {
	t.Setenv(beforeEnv, "1")
	h := start(t, "sh", "-c", "read x; echo main $BEFORE")
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "echo beside $BEFORE")})
	if shown, _ := readUntil(t, conn, ""); shown != "beside 1\n" {
		t.Errorf("%q", shown)
	}
	attached := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, attached, terminal.Data, "\n")
	if shown, _ := readUntil(t, attached, ""); !strings.Contains(shown, "main 1\r\n") {
		t.Errorf("%q", shown)
	}
}
