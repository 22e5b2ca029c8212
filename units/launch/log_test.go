package launch

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// runWithLog runs a shell command with a log and returns the outcome.
func runWithLog(t *testing.T, dir string, l contract.Log, attempt int, script string) outcome {
	t.Helper()
	s := &Spec{JobID: 42, Attempt: attempt, Program: contract.Program{
		Argv: []string{"/bin/sh", "-c", script}, EnvMode: contract.EnvClean, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir, Umask: 0o027, Log: l,
	}}
	return launch(t, "real", s)
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The log and the journal get all output byte for byte: an incomplete last line, the output of
// children, and that of a signal handler. The job's process and exit status are those of the
// command.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	l := runWithLog(t, dir, contract.Log{Path: "new/logs/42.txt"}, 1,
		`printf '10%%\r'; echo err >&2; (while kill -0 $$; do sleep 0.01; done 2>/dev/null; printf 'child \0\377') & trap 'echo told; exit 7' TERM; echo $$; kill -TERM $$`)
	path := filepath.Join(dir, "new/logs/42.txt")
	got := content(t, path)
	if got != l.stdout || l.status != 7 || !strings.HasPrefix(got, "10%\rerr\n") || !strings.HasSuffix(got, "told\nchild \x00\xff") {
		t.Errorf("%q in the log, %q besides, status %d, %q", got, l.stdout, l.status, l.stderr)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A later attempt is appended after a line that names it; only the first attempt truncates the log.
func TestLogOfAttempts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	for i, step := range []struct {
		truncate bool
		attempt  int
		want     string
	}{
		{false, 1, "old\n\ngpusched: attempt 1 of job 42 begins\nnew\n"},
		{true, 1, "new\n"},
		{true, 2, "new\n\ngpusched: attempt 2 of job 42 begins\nnew\n"},
	} {
		if i == 0 {
			if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runWithLog(t, dir, contract.Log{Path: path, Truncate: step.truncate}, step.attempt, "echo new")
		if got := content(t, path); got != step.want {
			t.Errorf("step %d: %q", i, got)
		}
	}
}

// If the path is not a file of the user's, the launcher does not wait for it or write to it, and
// the job runs.
func TestLogThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{{"fifo", "to-fifo"}, {"loop", "loop"}, {"/proc/self/nothing", "dangling"}} {
		if err := os.Symlink(link[0], filepath.Join(dir, link[1])); err != nil {
			t.Fatal(err)
		}
	}
	for path, why := range map[string]string{
		"fifo": "not a regular file", "to-fifo": "not a regular file", "loop": "too many levels", "dangling": "no such file",
		".": "not a regular file", "/dev/full": "not a regular file", "/dev/null": "not a regular file", "/proc/self/mem/x": "not a directory",
		strings.Repeat("x", 5000): "file name too long", strings.Repeat("d/", 2200) + "x": "file name too long",
	} {
		l := runWithLog(t, dir, contract.Log{Path: path}, 1, "echo runs; exit 3")
		said := strings.Contains(l.stderr, "gpusched: the job's log ") && strings.Contains(l.stderr, why)
		if !said || l.stdout != "runs\n" || l.status != 3 {
			t.Errorf("%.20s: %q %d %q", path, l.stdout, l.status, l.stderr)
		}
	}
}

// A link to a file that the user may write to is followed, as in a shell.
func TestLogThroughALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("there", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	runWithLog(t, dir, contract.Log{Path: "link"}, 1, "echo x")
	if got := content(t, filepath.Join(dir, "there")); got != "x\n" {
		t.Errorf("%q", got)
	}
}

// A limit on the size of files limits the log, and not the job's output.
func TestLogAboveTheLimitOfFiles(t *testing.T) {
	dir := t.TempDir()
	s := &Spec{JobID: 42, Attempt: 1, Program: contract.Program{
		Argv: []string{"/usr/bin/seq", "100000"}, EnvMode: contract.EnvClean, Dir: dir, Log: contract.Log{Path: "log"},
	}}
	path := mustWrite(t, specDir(t), 42, s)
	l := launchPath(t, "real", path, withFileLimit)
	if size := len(content(t, filepath.Join(dir, "log"))); size != 4096 {
		t.Errorf("%d bytes in the log", size)
	}
	if !strings.Contains(l.stdout, "\n100000\n") || strings.Count(l.stdout, "\n") != 100001 || !strings.Contains(l.stdout, "the log can't be written to: file too large") || l.status != 0 {
		t.Errorf("%d bytes printed, status %d, %q", len(l.stdout), l.status, l.stderr)
	}
}

func TestLogInTheHomeOfTheUser(t *testing.T) {
	s := &Spec{Home: "/home/spec", Program: contract.Program{Log: contract.Log{Path: "~/logs/42.log"}}}
	for want, base := range map[string][]string{"/home/alice/logs/42.log": unitBase, "/home/spec/logs/42.log": nil} {
		if got := logPath(s, base); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// withFileLimit runs the launcher under a limit on the size of files.
func withFileLimit(cmd *exec.Cmd) {
	cmd.Args = append([]string{"prlimit", "--fsize=4096"}, cmd.Args...)
	cmd.Path = "/usr/bin/prlimit"
}

// A user who guesses the name of a job's log and creates it, writable by all, can't read the
// output.
func TestLogOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1235.out")
	if err := os.WriteFile(path, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if fd, err := openLog(path, true); !errors.Is(err, notOwn{}) {
		t.Errorf("%d, %v", fd, err)
	}
	if got := content(t, path); got != "before" {
		t.Errorf("it has %q", got)
	}
}

// The launcher does not wait for ever for a log that does not open.
func TestLogThatHangs(t *testing.T) {
	answer := make(chan int)
	defer close(answer)
	if fd, err := inTime(1, func() (int, error) { return <-answer, nil }); fd != -1 || err != (unanswered{}) {
		t.Errorf("%d, %v", fd, err)
	}
	if fd, err := inTime(time.Hour, func() (int, error) { return 7, unix.EDQUOT }); fd != 7 || err != unix.EDQUOT {
		t.Errorf("%d, %v", fd, err)
	}
	if !strings.Contains(unanswered{}.Error(), "10 s") {
		t.Error(unanswered{})
	}
}

// The contents of the pipe arrive, whatever signals the copying process of a short job gets.
func TestLogCopySurvivesSignals(t *testing.T) {
	in, words, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	journal, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	file := create(t, "log")
	pid, err := forkCopy(testBinary(t), int(in.Fd()), int(out.Fd()), int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	for sig := unix.Signal(1); sig <= contract.MaxSignal; sig++ {
		switch sig {
		case unix.SIGKILL, unix.SIGSTOP: // can't be ignored
		case unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS: // faults
		default:
			_ = unix.Kill(pid, sig)
		}
	}
	_, err = words.WriteString("last words\n")
	in.Close()
	words.Close()
	out.Close()
	printed, read := io.ReadAll(journal)
	if got := content(t, file.Name()); string(printed) != "last words\n" || got != string(printed) || errors.Join(err, read) != nil {
		t.Errorf("%q in the log, %q besides, %v %v", got, printed, err, read)
	}
}

// If the copying process does not start, the job's output stays as it was.
func TestLogCopyThatEndsAtOnce(t *testing.T) {
	if _, err := forkCopy("/bin/true", 0, 1, 2); err == nil {
		t.Error("it is taken for ready")
	}
}
