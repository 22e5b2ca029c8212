package hold

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/terminal"
)

// roleEnv makes the test binary the holder of the job that it names.
const roleEnv = "GPUSCHED_HOLD_ROLE"

// sessionEnv names its session of GNU screen.
const sessionEnv = "GPUSCHED_HOLD_SESSION"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == contract.DoorFlag {
		os.Unsetenv(doorEnv)
		os.Exit(Door(os.Args[0], os.Environ(), func(int) string { return "limits" }))
	}
	if len(os.Args) > 3 && os.Args[1] == contract.LimitFlag {
		_ = syscall.Exec("/bin/sh", append([]string{"sh", "-c", `export BEFORE="$0"; exec "$@"`}, os.Args[2:]...), os.Environ())
	}
	if job := os.Getenv(doorEnv); job != "" {
		os.Exit(OpenDoor(os.Args[0], job))
	}
	if job := os.Getenv(roleEnv); job != "" {
		if len(os.Args) == 3 && os.Args[1] == contract.ScreenShowFlag {
			os.Exit(Show(os.Args[2], os.Getenv("TERM")))
		}
		os.Exit(Main(os.Args[1:], before(), append(os.Environ(), "GPUSCHED_JOB_ID="+job), os.Getenv(sessionEnv)))
	}
	os.Exit(m.Run())
}

// before are the words before each command: a program that tells that it was there.
func before() []string {
	if os.Getenv(beforeEnv) == "" {
		return nil
	}
	return []string{"env", "BEFORE=1"}
}

const beforeEnv = "GPUSCHED_HOLD_BEFORE"

// doorEnv makes the test binary open the door of the job that it names.
const doorEnv = "GPUSCHED_HOLD_DOOR"

// held is a job with a terminal.
type held struct {
	*exec.Cmd
	t       testing.TB
	job     string
	journal bytes.Buffer
}

func start(t testing.TB, argv ...string) *held {
	h := &held{t: t, job: fmt.Sprintf("test%d%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))}
	h.Cmd = exec.Command(os.Args[0], argv...)
	h.Env = append(os.Environ(), roleEnv+"="+h.job)
	h.Stdout, h.Stderr = &h.journal, &h.journal
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Process.Kill(); _ = h.Cmd.Wait() })
	return h
}

func (h *held) dial() *os.File {
	h.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		conn, err := terminal.Dial(h.job, os.Getuid())
		if err == nil {
			h.t.Cleanup(func() { conn.Close() })
			return conn
		}
		if time.Now().After(end) {
			h.t.Fatal(err)
		}
	}
}

func (h *held) greet(g terminal.Greeting) *os.File {
	h.t.Helper()
	conn := h.dial()
	content, _ := json.Marshal(g)
	say(h.t, conn, terminal.Hello, string(content))
	return conn
}

func say(t testing.TB, conn io.Writer, k terminal.Kind, content string) {
	t.Helper()
	if _, err := conn.Write(terminal.Encode(k, []byte(content))); err != nil {
		t.Fatal(err)
	}
}

// until reads what is shown until text is in it, or with "" until the end, whose
// status it returns too.
func until(t testing.TB, conn *os.File, text string) (shown string, status int) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	for {
		kind, content, err := terminal.Read(conn)
		switch {
		case err != nil:
			t.Fatalf("%v after %q", err, shown)
		case kind == terminal.Ended:
			if text != "" {
				t.Fatalf("ended with %d after %q", content[0], shown)
			}
			return shown, int(content[0])
		case kind == terminal.Refused:
			t.Fatalf("refused: %s", content)
		}
		if shown += string(content); text != "" && strings.Contains(shown, text) {
			return shown, -1
		}
	}
}

func (h *held) ends(want string) {
	h.t.Helper()
	if err := h.Cmd.Wait(); fmt.Sprint(err) != want {
		h.t.Errorf("the job ended with %v, not %s; it printed %q", err, want, h.journal.String())
	}
}

// A command has a terminal of the size of who attached, reads what is typed, and its
// end is that of the job and known to all (invariant 5). The journal has what it showed.
func TestSession(t *testing.T) {
	h := start(t, "sh", "-c", `stty size; read x; echo "got $x"; trap 'stty size' WINCH; echo ready; read y; exit 7`)
	a := h.greet(terminal.Greeting{Rows: 33, Cols: 99})
	until(t, a, "33 99")
	say(t, a, terminal.Data, "hello\n")
	until(t, a, "ready")
	b := h.greet(terminal.Greeting{Rows: 20, Cols: 70}) // comes later, and sees what was
	until(t, b, "got hello")
	say(t, b, terminal.Data, "\n")
	for _, conn := range []*os.File{a, b} {
		if shown, status := until(t, conn, ""); status != 7 || conn == a && !strings.Contains(shown, "20 70") {
			t.Errorf("%d after %q", status, shown)
		}
	}
	h.ends("exit status 7")
	if got := h.journal.String(); !strings.HasPrefix(got, "33 99\n") || !strings.Contains(got, "\ngot hello\n") {
		t.Errorf("the journal has %q", got)
	}
}

// Nobody has to attach.
func TestAlone(t *testing.T) {
	h := start(t, "sh", "-c", "test -t 0 -a -t 1 -a -t 2 && echo in a terminal")
	h.ends("<nil>")
	if h.journal.String() != "in a terminal\n" {
		t.Errorf("%q", h.journal.String())
	}
}

// The signal that ended the command is the job's; a command that is not there is said.
// A job that is stopped while its holder waits for the first client ends by that, and its
// command does not begin.
func TestStoppedBeforeItBegins(t *testing.T) {
	h := start(t, "sleep", "60")
	h.dial() // it listens
	if err := h.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = h.Cmd.Wait()
	if s := h.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", h.ProcessState)
	}
}

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

// Who does not read is dropped; the command and who reads go on (invariant 2).
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
	if h.journal.Len() < 100<<20 {
		t.Errorf("the journal has %d bytes", h.journal.Len())
	}
}

// What is no greeting and no frame ends its connection, and nothing else (invariant 3).
func TestGarbage(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 3")
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\n\r\n", "h\xff\xff{}", "h\x00\x02[]", "h\x00\x02{}w\x00\x01x", "h\x00\x02{}\x00\x00\x00", "h\x00\x02{}w\x00\x04\x00\x00\x00\x00",
	} {
		conn := h.dial()
		_, _ = conn.Write([]byte(garbage))
		if garbage[1] != 0xff { // else it is waited for
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%q: %v", garbage, err)
			}
		}
	}
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, conn, terminal.Data, "\n")
	if _, status := until(t, conn, ""); status != 3 {
		t.Error(status)
	}
	h.ends("exit status 3")
}

// A command beside the job's has its environment, its input, its two outputs and its
// own end, with a terminal and without; who goes hangs up on it.
func TestBeside(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 5")
	command := commandOf
	conn := h.greet(terminal.Greeting{Argv: command("sh", "-c", "cat; echo wrong >&2; exit 9")})
	say(t, conn, terminal.Data, "typed\n")
	say(t, conn, terminal.EOF, "")
	if shown, status := until(t, conn, ""); status != 9 || len(shown) != 12 || !strings.Contains(shown, "typed\n") || !strings.Contains(shown, "wrong\n") {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Rows: 11, Cols: 44, Term: "vt52", Argv: command("sh", "-c", `stty size; echo $TERM; kill -9 $$`)})
	if shown, status := until(t, conn, ""); status != 137 || shown != "11 44\r\nvt52\r\n" {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Argv: command("sh", "-c", "echo $$; exec sleep 600")})
	pid, _ := until(t, conn, "\n")
	conn.Close()
	for process := "/proc/" + strings.TrimSpace(pid); ; {
		if _, err := os.Stat(process); err != nil {
			break
		}
	}
	conn = h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, conn, terminal.Data, "\n")
	if _, status := until(t, conn, ""); status != 5 {
		t.Error(status)
	}
}

// A shell at its prompt, which ignores SIGTERM, ends when the job is to.
func TestShellEnds(t *testing.T) {
	h := start(t, "sh", "-c", "trap '' TERM; echo ready; read x")
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	until(t, conn, "ready")
	if err := unix.Kill(h.Process.Pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, status := until(t, conn, ""); status != 129 {
		t.Error(status)
	}
	h.ends("signal: hangup")
}

// A listener of another user is passed over, and one that another has under a name of
// ours hears nothing.
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

// Who may not come in hears nothing, and however many of those queue, one who may gets
// his turn.
func TestRefused(t *testing.T) {
	job := fmt.Sprintf("test%d-refused", os.Getpid())
	fd, err := terminal.Listen(job)
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int32
	const strangers = 300 // more than can queue
	h := &holder{admits: func(int) bool { return refused.Add(1) > strangers }}
	var queue []*os.File
	for range strangers {
		if len(queue) == 10 { // the queue has filled before anybody is let in
			go h.accept(fd, make(chan struct{}, 1))
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
	if _, status := until(t, conn, ""); status != 0 {
		t.Error(status)
	}
}

// What a command beside the job's prints waits for its client, who may take longer than
// one piece may take on its way to who is attached; the job goes on meanwhile.
func TestSlowReader(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 4")
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "echo begun; head -c 20000000 /dev/zero; echo over")})
	shown, _ := until(t, conn, "begun")
	total := len(shown)
	for pause := 50 * time.Millisecond; ; pause = 0 {
		<-time.After(pause) // all that is on the way has filled
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
	if _, status := until(t, attached, ""); status != 4 {
		t.Error(status)
	}
}

// A command whose client has gone, or whose job has ended, ends although it ignores that
// its terminal goes (invariant 4).
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
		pid, _ := until(t, conn, "\n")
		conn.Close()
		gone(pid)
	}
	kept := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "trap '' TERM HUP; echo $$; sleep 600")})
	pid, _ := until(t, kept, "\n")
	attached := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, attached, terminal.Data, "\n")
	if _, status := until(t, attached, ""); status != 4 {
		t.Error(status)
	}
	gone(pid)
}

// Something that a command leaves behind with its output open keeps nobody waiting.
func TestLeftBehind(t *testing.T) {
	h := start(t, "sh", "-c", "read x; exit 4")
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "setsid sleep 600 & echo $!; exit 6")})
	pid, status := until(t, conn, "")
	if n, err := strconv.Atoi(strings.TrimSpace(pid)); err == nil {
		_ = unix.Kill(n, unix.SIGKILL)
	}
	if status != 6 {
		t.Error(status)
	}
}

// What is the command's alone comes before it, and before a command beside it.
func TestBefore(t *testing.T) {
	t.Setenv(beforeEnv, "1")
	h := start(t, "sh", "-c", "read x; echo main $BEFORE")
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "echo beside $BEFORE")})
	if shown, _ := until(t, conn, ""); shown != "beside 1\n" {
		t.Errorf("%q", shown)
	}
	attached := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	say(t, attached, terminal.Data, "\n")
	if shown, _ := until(t, attached, ""); !strings.Contains(shown, "main 1\r\n") {
		t.Errorf("%q", shown)
	}
}

func commandOf(argv ...string) (list [][]byte) {
	for _, arg := range argv {
		list = append(list, []byte(arg))
	}
	return list
}

// A job without a terminal can have a door: commands beside its own have what its process
// has, nobody attaches there, and it goes with the process.
func TestDoor(t *testing.T) {
	job := fmt.Sprintf("test%d-door", os.Getpid())
	dir := t.TempDir()
	process := exec.Command("sh", "-c", "umask 027; cd '"+dir+"'; echo ready; exec cat")
	process.Env = []string{"OF_THE_JOB=yes", "PATH=" + os.Getenv("PATH")}
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	for { // it has become cat, whose environment is what counts
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", process.Process.Pid)); string(name) == "cat\n" {
			break
		}
	}
	opener := exec.Command(os.Args[0])
	opener.Env = append(os.Environ(), doorEnv+"="+job, fmt.Sprintf("MAINPID=%d", process.Process.Pid), "OF_THE_UNIT=yes")
	opener.Stderr = os.Stderr
	if err := opener.Run(); err != nil {
		t.Fatal(err)
	}
	h := &held{t: t, job: job}
	conn := h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "pwd; umask; echo $OF_THE_JOB $OF_THE_UNIT $BEFORE")})
	if shown, status := until(t, conn, ""); status != 0 || shown != dir+"\n0027\nyes limits\n" {
		t.Errorf("%d, %q", status, shown)
	}
	conn = h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	if kind, content, err := terminal.Read(conn); kind != terminal.Refused {
		t.Errorf("%c, %q, %v", kind, content, err)
	}
	conn = h.greet(terminal.Greeting{Argv: commandOf("sh", "-c", "trap '' TERM; echo begun; sleep 600")})
	until(t, conn, "begun")
	in.Close() // the job ends, and what ran beside it
	_ = process.Wait()
	if _, status := until(t, conn, ""); status != 129 {
		t.Error(status)
	}
	for {
		if _, err := terminal.Dial(job, os.Getuid()); errors.Is(err, terminal.ErrNone) {
			return
		}
	}
}
