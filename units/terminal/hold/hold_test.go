package hold

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/terminal"
)

// A command has a terminal of its client's size, and reads what is typed. When the command ends,
// the job ends, and all clients learn how (invariant 5). The journal has the command's output.
func TestSession(t *testing.T) {
	t.Setenv(patientEnv, "1")
	h := start(t, "sh", "-c", `stty size; read x; echo "got $x"; trap 'stty size' WINCH; echo ready; until read y; do :; done; exit 7`)
	a := h.greet(terminal.Greeting{Rows: 33, Cols: 99})
	readUntil(t, a, "33 99")
	say(t, a, terminal.Data, "hello\n")
	readUntil(t, a, "ready")
	b := h.greet(terminal.Greeting{Rows: 20, Cols: 70}) // connects later, and gets the earlier output
	readUntil(t, b, "got hello")
	say(t, b, terminal.Data, "\n")
	for _, conn := range []*os.File{a, b} {
		if shown, status := readUntil(t, conn, ""); status != 7 || conn == a && !strings.Contains(shown, "20 70") {
			t.Errorf("%d after %q", status, shown)
		}
	}
	h.ends("exit status 7")
	if got := h.journal.String(); !strings.HasPrefix(got, "33 99\n") || !strings.Contains(got, "\ngot hello\n") {
		t.Errorf("the journal has %q", got)
	}
}

// A command runs without any client.
func TestAlone(t *testing.T) {
	h := start(t, "sh", "-c", "test -t 0 -a -t 1 -a -t 2 && echo in a terminal")
	h.ends("<nil>")
	if h.journal.String() != "in a terminal\n" {
		t.Errorf("%q", h.journal.String())
	}
}

// A job can be stopped while its holder waits for the first client. The signal then ends the job,
// and the job's command does not begin.
func TestStoppedBeforeItBegins(t *testing.T) {
	t.Setenv(patientEnv, "1")
	h := start(t, "sleep", "60")
	h.dial() // the holder listens
	if err := h.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = h.Cmd.Wait()
	if s := h.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", h.ProcessState)
	}
}

// If a signal ends the command, the same signal ends the job. A missing command is reported.
func TestBadEnds(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"kill -KILL $$", "signal: killed"}, {"kill -SEGV $$", "signal: segmentation fault"}, {"kill -TERM $$", "signal: terminated"},
	} {
		start(t, "sh", "-c", c.script).ends(c.want)
	}
	h := start(t, "no-such-program")
	h.ends("exit status 127")
	if !strings.Contains(h.journal.String(), "no-such-program") {
		t.Errorf("%q", h.journal.String())
	}
}

// A client that does not read is dropped; the command and the other clients continue (invariant 2).
func TestDeafClients(t *testing.T) {
	h := start(t, "sh", "-c", "read x; head -c 104857600 /dev/zero | tr '\\0' x; echo; echo done")
	reader := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	for range 100 {
		h.greet(terminal.Greeting{})
	}
	say(t, reader, terminal.Data, "\n")
	n := 0
	for tail := ""; ; {
		kind, content, err := terminal.Read(reader)
		if err != nil {
			t.Fatal(err, n)
		}
		if kind == terminal.Ended {
			if n < 100<<20 || !strings.HasSuffix(tail, "done\r\n") {
				t.Errorf("%d bytes, at the end %q", n, tail)
			}
			break
		}
		n, tail = n+len(content), tail+string(content)
		tail = tail[max(0, len(tail)-20):]
	}
	h.ends("<nil>")
	if n := len(h.journal.String()); n < 100<<20 {
		t.Errorf("the journal has %d bytes", n)
	}
}

// The holder passes on to the command only the signals that Main is told to pass on.
func TestAimedSignals(t *testing.T) {
	t.Setenv(aimedEnv, "10,15")
	h := start(t, "sh", "-c", `trap 'echo warned' USR1; trap 'echo asked; exit 3' TERM; trap 'echo wrong' USR2
		sh -c "trap 'echo child' USR1 TERM; while :; do sleep 0.1; done" & echo ready; while :; do wait; done`)
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	readUntil(t, conn, "ready")
	for _, c := range []struct {
		signal syscall.Signal
		answer string
	}{{unix.SIGUSR2, ""}, {unix.SIGUSR1, "warned"}, {unix.SIGTERM, "asked"}} {
		if err := unix.Kill(h.Process.Pid, c.signal); err != nil {
			t.Fatal(err)
		}
		if c.answer != "" {
			readUntil(t, conn, c.answer)
		}
	}
	if _, status := readUntil(t, conn, ""); status != 3 {
		t.Error(status)
	}
	h.ends("exit status 3")
	if got := h.journal.String(); strings.Contains(got, "child") || strings.Contains(got, "wrong") {
		t.Errorf("the journal has %q", got)
	}
}

// A shell at its prompt, which ignores SIGTERM, ends when the job is stopped.
func TestShellEnds(t *testing.T) {
	h := start(t, "sh", "-c", "trap '' TERM; echo ready; read x")
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	readUntil(t, conn, "ready")
	if err := unix.Kill(h.Process.Pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, status := readUntil(t, conn, ""); status != 129 {
		t.Error(status)
	}
	h.ends("signal: hangup")
}
