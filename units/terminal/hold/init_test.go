package hold

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/units/contract"
)

// initProcess runs a shell command under Init, which is the first process of a process namespace.
func initProcess(t *testing.T, group, aimed, script string) *exec.Cmd {
	t.Helper()
	const inside = `mount --make-rprivate / && mount -t proc proc /proc && exec "$@"`
	cmd := exec.Command("sh", "-c", inside, "sh", os.Args[0], contract.InitFlag, "sh", "-c", script)
	cmd.Env = append(os.Environ(), contract.GroupVariable+"="+group, contract.AimedVariable+"="+aimed)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 { // others need a user namespace for that
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

func ownGroup(t *testing.T) string {
	text, err := os.ReadFile("/proc/self/cgroup")
	group := contract.SystemdGroup(string(text))
	if err != nil || group == "" {
		t.Fatalf("this process has no control group of systemd (%v): %q", err, text)
	}
	return group
}

// Init ends as its command does. It refuses to run a command outside the job's control group.
func TestInit(t *testing.T) {
	group := ownGroup(t)
	for _, c := range []struct {
		group, script, out string
		status             int
	}{
		{group, `echo "${` + contract.GroupVariable + `-none}"; exit 7`, "none\n", 7},
		{group, "kill -9 $$", "", 137},
		{group, "sleep 600 & exit 3", "", 3},
		{group, "(sleep 0; exit 4) & sleep 0.1; exit 0", "", 0},
		{group, "(sleep 0.2; echo saved) & kill 1; kill $$", "saved\n", 143},
		{strings.TrimSuffix(group, "/") + "/job", "echo ran", "", statusOutside},
		{"", "echo ran", "", statusOutside},
	} {
		out, err := initProcess(t, c.group, "", c.script).Output()
		var exit *exec.ExitError
		status := 0
		if errors.As(err, &exit) {
			status = exit.ExitCode()
		}
		if status != c.status || string(out) != c.out {
			t.Errorf("%s in %s: %d, %q", c.script, c.group, status, out)
		}
	}
}

// isIn compares whole names, in systemd's hierarchy.
func TestIsIn(t *testing.T) {
	for text, want := range map[string]bool{
		"9:name=systemd:/a\n0::/a/job\n": true, "0::/a/job/below\n": true, "0::/a/jobs\n": false, "0::/a\n": false, "1:cpu:/a/job\n": false, "": false,
	} {
		if isIn(text, "/a/job") != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// Only the command gets an aimed signal, all processes get any other signal, and no process gets a
// second SIGTERM. After a SIGTERM, Init waits for the processes that the command left.
func TestInitPassesSignalsOn(t *testing.T) {
	const script = `trap 'echo USR1' USR1; trap 'echo TERM' TERM; trap 'echo USR2' USR2; trap 'exit 5' PWR
sh -c 'trap "echo USR1" USR1; trap "echo other USR2" USR2; trap last=yes PWR; echo ready
until [ "$last" ] && ! kill -0 $PPID; do sleep 0.1; done; sleep 0.1; echo late' 2>&- &
` + endless
	cmd := initProcess(t, ownGroup(t), "12", script)
	talk(t, cmd, []step{
		{0, "ready\n"}, {syscall.SIGUSR1, "USR1\nUSR1\n"}, {syscall.SIGUSR2, "USR2\n"}, {syscall.SIGTERM, ""}, {syscall.SIGPWR, "late\n"},
	})
	if status := cmd.ProcessState.ExitCode(); status != 5 {
		t.Errorf("status %d", status)
	}
}

// endless is the end of a script that waits for its last signal. A test that has failed leaves the
// script behind, which then ends by itself.
const endless = `i=0; while [ $i -lt 1000 ]; do sleep 0.1; i=$((i+1)); done`

// A step is a signal for a process, and what the process prints then.
type step struct {
	signal syscall.Signal
	output string
}

// talk starts a command and takes the steps, one after the output of the other. It fails the test
// if the command prints anything else until its end. The signal of a step that prints nothing must
// have a lower number than the next one, because it is then also delivered before the next one.
func talk(t *testing.T, cmd *exec.Cmd, steps []step) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		_ = cmd.Process.Signal(s.signal)
		text := make([]byte, len(s.output))
		if n, _ := io.ReadFull(out, text); string(text[:n]) != s.output {
			t.Errorf("%s: %q, want %q", s.signal, text[:n], s.output)
		}
	}
	if rest, _ := io.ReadAll(out); len(rest) > 0 {
		t.Errorf("in the end: %q", rest)
	}
	_ = cmd.Wait()
}

// If the first process of Podman ends too early, Engine waits for the second process. It passes
// signals on to the second process, but not the SIGTERM of a stop. That SIGTERM arrives at the
// first process, too.
func TestEngine(t *testing.T) {
	program := filepath.Join(t.TempDir(), "podman")
	const script = `if [ -z "$SECOND" ]; then SECOND=yes sh "$0" "$@" & wait; exit; fi
trap 'echo USR1' USR1; trap 'echo TERM' TERM; trap 'kill $PPID; echo HUP' HUP; trap 'exit 9' PWR; echo ready
` + endless
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	for aimed, passed := range map[string]string{"": "", "15": "TERM\n"} {
		cmd := exec.Command(os.Args[0], contract.EngineFlag, aimed, "sh", program, "run")
		talk(t, cmd, []step{
			{0, "ready\n"}, {syscall.SIGUSR1, "USR1\n"}, {syscall.SIGHUP, "HUP\n"}, {syscall.SIGTERM, passed}, {syscall.SIGPWR, ""},
		})
		if status := cmd.ProcessState.ExitCode(); status != 9 {
			t.Errorf("aimed %q: status %d", aimed, status)
		}
	}
}
