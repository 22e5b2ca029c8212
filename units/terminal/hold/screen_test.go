package hold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/terminal"
)

// screens is the directory of a test's sessions, with the program.
type screens struct {
	t   *testing.T
	dir string
}

func newScreens(t *testing.T) screens {
	dir := filepath.Join(t.TempDir(), "s")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SCREENDIR", dir)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("TERM", "xterm")
	t.Setenv(sessionEnv, "gpujob_0_test_1")
	return screens{t, dir}
}

// socketNames returns the existing sockets.
func (s screens) socketNames() []string {
	names, _ := filepath.Glob(s.dir + "/*")
	return names
}

func (s screens) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(end) {
			s.t.Fatalf("not in time: %s", what)
		}
	}
}

// content returns the content of the window, as screen itself writes it.
func (s screens) content() string {
	file := filepath.Join(s.t.TempDir(), "hardcopy")
	if out, err := exec.Command("screen", "-S", "gpujob_0_test_1", "-X", "hardcopy", file).CombinedOutput(); err != nil {
		s.t.Logf("%v: %s", err, out)
		return ""
	}
	var text []byte
	s.until("a hardcopy", func() bool { text, _ = os.ReadFile(file); return len(text) > 0 })
	return string(text)
}

// The window of the session shows the command's output and accepts its input. The journal has the
// same output. The holder ends as the command does.
func TestScreen(t *testing.T) {
	s := newScreens(t)
	h := start(t, "sh", "-c", `echo "$TERM $(stty size)"; read x; echo "got $x"; read y; exit 7`)
	s.until("the window shows it", func() bool { return strings.Contains(s.content(), "screen 24 80") })
	if err := exec.Command("screen", "-S", "gpujob_0_test_1", "-X", "stuff", "word\n").Run(); err != nil {
		t.Fatal(err)
	}
	s.until("what was typed arrives", func() bool { return strings.Contains(s.content(), "got word") })
	conn := h.greet(terminal.Greeting{Rows: 24, Cols: 80})
	readUntil(t, conn, "got word")
	say(t, conn, terminal.Data, "\n")
	h.ends("exit status 7")
	if got := h.journal.String(); !strings.Contains(got, "screen 24 80\nword\ngot word\n") {
		t.Errorf("the journal has %q", got)
	}
	if left := s.socketNames(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// If somebody quits the session, the command gets SIGHUP. If the session is killed, the command
// continues. It also survives the signals with which users warn their jobs.
func TestScreenEnds(t *testing.T) {
	t.Run("quit", func(t *testing.T) {
		s := newScreens(t)
		h := start(t, "sh", "-c", `trap "echo hung up; exit 3" HUP; echo on; while :; do sleep 0.1; done`)
		s.until("it runs", func() bool { return strings.Contains(s.content(), "on") })
		if err := exec.Command("screen", "-S", "gpujob_0_test_1", "-X", "quit").Run(); err != nil {
			t.Fatal(err)
		}
		h.ends("exit status 3")
	})
	t.Run("killed", func(t *testing.T) {
		s := newScreens(t)
		h := start(t, "sh", "-c", `echo on; read x; exit 4`)
		s.until("it runs", func() bool { return strings.Contains(s.content(), "on") })
		socket := s.socketNames()[0]
		pid, _, _ := strings.Cut(filepath.Base(socket), ".")
		for _, sig := range []string{"-USR1", "-USR2", "-INT", "-HUP"} {
			if err := exec.Command("kill", sig, pid).Run(); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(s.content(), "on") {
			t.Fatal("the session did not stand the signals")
		}
		if err := exec.Command("kill", "-KILL", pid).Run(); err != nil {
			t.Fatal(err)
		}
		say(t, h.greet(terminal.Greeting{}), terminal.Data, "\n")
		h.ends("exit status 4")
		if left := s.socketNames(); len(left) != 1 {
			t.Errorf("left for the end of the unit: %q", left)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		s := newScreens(t)
		h := start(t, "sh", "-c", `trap "" TERM; echo on; read x; exit 5`)
		s.until("it runs", func() bool { return strings.Contains(s.content(), "on") })
		pid, _, _ := strings.Cut(filepath.Base(s.socketNames()[0]), ".")
		if err := exec.Command("kill", "-TERM", pid).Run(); err != nil {
			t.Fatal(err)
		}
		if err := h.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		s.until("the session has ended", func() bool { return len(s.socketNames()) == 0 })
		say(t, h.greet(terminal.Greeting{}), terminal.Data, "\n")
		h.ends("exit status 5")
	})
}

// If no session is possible, the job says so and continues. A session that keeps dead windows ends
// like any other.
func TestScreenThatIsNotToBe(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		s := newScreens(t)
		file := filepath.Join(s.dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("SCREENDIR", file)
		h := start(t, "sh", "-c", "read x; exit 6")
		s.until("it says something", func() bool { return strings.Contains(h.journal.String(), "\n") })
		say(t, h.greet(terminal.Greeting{}), terminal.Data, "\n")
		h.ends("exit status 6")
		if got := h.journal.String(); !strings.Contains(got, "has no session of GNU screen: "+file+" is not a directory") ||
			!strings.Contains(got, "it continues, and 'gpusched attach "+h.job+"' shows its terminal") {
			t.Errorf("it printed %q", got)
		}
	})
	t.Run("dead windows", func(t *testing.T) {
		s := newScreens(t)
		if err := os.WriteFile(os.Getenv("HOME")+"/.screenrc", []byte("zombie kr\nscreen -t other cat\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		start(t, "sh", "-c", "exit 6").ends("exit status 6")
		if left := s.socketNames(); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}
