package hold

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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
	const script = `trap 'echo USR1' USR1; trap 'echo TERM' TERM; trap 'echo USR2' USR2
sh -c 'trap "echo other USR1" USR1; trap "echo other USR2" USR2; echo ready; i=0; while [ $i -lt 20 ]; do sleep 0.1; i=$((i+1)); done; echo late' &
wait; wait; wait; exit 5`
	cmd := initProcess(t, ownGroup(t), "12", script)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadFull(out, make([]byte, len("ready\n")))
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM} {
		_ = cmd.Process.Signal(s)
		time.Sleep(200 * time.Millisecond)
	}
	text, _ := io.ReadAll(out)
	_ = cmd.Wait()
	got := string(text)
	if cmd.ProcessState.ExitCode() != 5 || strings.Count(got, "USR1") != 2 || strings.Count(got, "USR2") != 1 ||
		strings.Contains(got, "TERM") || !strings.HasSuffix(got, "late\n") {
		t.Errorf("%v, %q", cmd.ProcessState, got)
	}
}

// If the first process of Podman ends too early, Engine waits for the second process. It passes
// signals on to the second process, but not the SIGTERM of a stop.
func TestEngine(t *testing.T) {
	for aimed, want := range map[string]string{"": "9, USR1", "15": "9, USR1TERM"} {
		dir := t.TempDir()
		program := filepath.Join(dir, "podman")
		const script = `#!/bin/sh
if [ -z "$SECOND" ]; then
	trap 'exit 0' TERM
	SECOND=yes sh "$0" "$@" & wait
fi
trap 'printf USR1' USR1; trap 'printf TERM' TERM
i=0; while [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done
exit 9
`
		if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], contract.EngineFlag, aimed, "sh", program, "run")
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGUSR1)
		time.Sleep(300 * time.Millisecond)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", cmd.Process.Pid))
		for _, path := range children { // systemd's SIGTERM arrives at the first process, too
			text, _ := os.ReadFile(path)
			for _, pid := range strings.Fields(string(text)) {
				n, _ := strconv.Atoi(pid)
				_ = syscall.Kill(n, syscall.SIGTERM)
			}
		}
		text, _ := io.ReadAll(out)
		_ = cmd.Wait()
		if got := fmt.Sprintf("%d, %s", cmd.ProcessState.ExitCode(), text); got != want {
			t.Errorf("aimed %q: %q, want %q", aimed, got, want)
		}
	}
}
