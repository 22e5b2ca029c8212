package launch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// Commands are found as execvp finds them: in the job's PATH, from the job's directory.
func TestLookup(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"here/prog": "#!/bin/sh\necho here $0 $1\n", "there/prog": "#!/bin/sh\necho there\n", "plain/prog": "echo plain $0 $1\n", "closed/prog": "#!/bin/sh\n",
		"interp/prog": "#!/no/such/interpreter\n", "file": "x", "isdir/prog/x": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, 0o755, content)
	}
	if err := os.Chmod(filepath.Join(dir, "closed/prog"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, file, want string }{
		{"here:there", "prog", "here here/prog A"},
		{"there:here", "prog", "there"},
		{"missing:file:isdir:closed:here", "prog", "here here/prog A"},
		{"interp:here", "prog", "here here/prog A"},
		{dir + "/here", "prog", "here " + dir + "/here/prog A"},
		{"plain", "prog", "plain plain/prog A"},
		{"there", "here/prog", "here here/prog A"},
		{"there", "./plain/prog", "plain ./plain/prog A"},
		{"there", dir + "/plain/prog", "plain " + dir + "/plain/prog A"},
	} {
		s := command(t, c.file, "A")
		s.Dir, s.Env = dir, []string{"PATH=" + c.path}
		if got := strings.TrimSpace(launch(t, "real", s).ok(t)); got != c.want {
			t.Errorf("%s in %s: %q", c.file, c.path, got)
		}
	}
	s := command(t, "prog", "A")
	s.Dir, s.Env = filepath.Join(dir, "here"), []string{"PATH=/nowhere:"}
	if got := strings.TrimSpace(launch(t, "real", s).ok(t)); got != "here prog A" {
		t.Errorf("empty element: %q", got)
	}
	s = command(t, "cat", "/dev/null")
	s.EnvMode = contract.EnvInherit
	launch(t, "real", s).ok(t)
}

// A failure tells people and the service manager what failed, why, and what to do (invariant 6).
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "text"), 0o644, "x")
	write(t, filepath.Join(dir, "interp"), 0o755, "#!/no/such/interpreter\n")
	write(t, filepath.Join(dir, "binary"), 0o755, "\x7fELF\x00\x00\x00 of another machine")
	with := func(f func(s *Spec)) *Spec {
		s := command(t, "/bin/true")
		s.Dir = dir
		f(s)
		return s
	}
	argv := func(argv ...string) *Spec { return with(func(s *Spec) { s.Argv = argv }) }
	for _, c := range []struct {
		spec   *Spec
		status int
		note   string
		stderr []string
	}{
		{argv("no-such-program"), 203, "exec\nERRNO=2", []string{`its command "no-such-program" could not be run: no such file`, "PATH"}},
		{argv("./none"), 203, "exec\nERRNO=2", []string{"--chdir"}},
		{argv("./text"), 203, "exec\nERRNO=13", []string{"chmod +x"}},
		{argv("./interp"), 203, "exec\nERRNO=2", []string{"interpreter that its first line names"}},
		{argv("./binary"), 203, lateErrorReport, []string{"another kind of machine"}},
		{argv("./"), 203, "exec\nERRNO=13", nil},
		{argv(""), 203, "exec\nERRNO=2", nil},
		{argv("/bin/true", "a\x00b"), 203, "exec\nERRNO=22", []string{"NUL"}},
		{argv("/bin/true", strings.Repeat("x", 1<<20)), 203, "exec\nERRNO=7", []string{"too large"}},
		{argv("esc\x1b[31m\n"), 203, "exec\nERRNO=2", []string{`"esc\x1b[31m\n"`}},
		{with(func(s *Spec) { s.Dir = filepath.Join(dir, "none") }), 200, "chdir\nERRNO=2", []string{"/none", "could not be entered: no such file", "--chdir"}},
		{with(func(s *Spec) { s.Dir = filepath.Join(dir, "text") }), 200, "chdir\nERRNO=20", nil},
		{with(func(s *Spec) { s.SoftLimits = []contract.Limit{{Name: "PATIENCE"}} }), 227, "limits\nERRNO=22", []string{"PATIENCE", "ulimit"}},
		{with(func(s *Spec) { s.GPUs = []contract.GPU{{UUID: "GPU-a", Minor: 3}}; s.ProbePath = "/dev/none" }), 226, "filter\nERRNO=2", []string{"systemd-tmpfiles"}},
		{with(func(s *Spec) { s.GPUs = []contract.GPU{{UUID: "GPU-a", Minor: 9}} }), 226, "filter\nERRNO=2", []string{"/dev/nvidia9", "nvidia-modprobe"}},
		{with(func(s *Spec) { s.Argv = nil }), 225, "spec\nERRNO=22", []string{"no command"}},
		{with(func(s *Spec) { s.EnvMode = "dream" }), 225, "spec\nERRNO=22", nil},
		{with(func(s *Spec) { s.Dir = "relative" }), 225, "spec\nERRNO=22", nil},
		{with(func(s *Spec) { s.EnvMode, s.Env = contract.EnvLogin, []string{"SHELL=/no/shell"} }), 203, "shell\nERRNO=2", []string{"login shell", "/no/shell", "--env clean"}},
	} {
		world := "closed"
		if len(c.spec.GPUs) > 0 {
			world = "filtered"
		}
		said := []string(nil)
		switch {
		case c.note == lateErrorReport:
			said = []string{lastWord} // a service manager that obeys NOTIFYACCESS=none gets only the exit status
		case strings.Contains(strings.Join(c.stderr, ""), "login shell"):
			said = []string{"STATUS=" + contract.StatusLogin}
		}
		checkFailure(t, launch(t, world, c.spec), c.status, c.note, c.stderr, said...)
	}
	// After the login shell the launcher still reports its own failures.
	s := argv("no-such-program")
	s.EnvMode = contract.EnvLogin
	checkFailure(t, launch(t, "closed", s), 203, "exec\nERRNO=2", []string{"no-such-program"}, "STATUS="+contract.StatusLogin)
	// A missing spec.
	for _, name := range []string{"77", "77.2"} {
		checkFailure(t, launchPath(t, "closed", filepath.Join(dir, name)), 225, "spec\nERRNO=2", []string{"job 77 ", "submit the job again"})
	}
}

// lateErrorReport is the report of an error that shows only when the kernel executes the command.
const lateErrorReport = "exec\nERRNO=8"

func checkFailure(t *testing.T, l outcome, status int, note string, stderr []string, said ...string) {
	t.Helper()
	if l.status != status {
		t.Errorf("status %d, not %d: %s", l.status, status, l.stderr)
	}
	want := append(said, "STATUS="+contract.StatusPrefix+note)
	if !slices.Equal(l.notes, want) {
		t.Errorf("notes %q, not %q", l.notes, want)
	}
	for _, part := range append(stderr, "gpusched: job ", "could not start: ") {
		if !strings.Contains(l.stderr, part) {
			t.Errorf("no %q in %q", part, l.stderr)
		}
	}
	if strings.Count(l.stderr, "\n") != 1 || !strings.HasSuffix(l.stderr, "\n") {
		t.Errorf("not one line: %q", l.stderr)
	}
}

// The exit status of each step is what the daemon expects.
func TestExitStatuses(t *testing.T) {
	for code, want := range map[contract.Step]int{contract.StepSpec: 225, contract.StepChdir: 200, contract.StepExec: 203, contract.StepFilter: 226, contract.StepLimits: 227, contract.StepSetup: 223, contract.StepAway: 200, contract.StepShell: 203, contract.StepContainer: 223} {
		if got := code.ExitStatus(); got != want {
			t.Errorf("%s: %d", code, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--help"}, {"--after-login=filtered"}} {
		cmd := exec.Command(testBinary(t), args...)
		cmd.Env = []string{roleEnv + "=real"}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "usage: gpusched-job SPEC") {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}

// Errno finds the error number in an error, however often that error is wrapped.
func TestFailureErrno(t *testing.T) {
	f := &Failure{Step: contract.StepLimits, Err: &limitError{"NOFILE", unix.EPERM}}
	if f.Errno() != int(unix.EPERM) || f.message() != "STATUS="+contract.StatusPrefix+"limits\nERRNO=1" {
		t.Fatal(f.message())
	}
}
