package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// The signal reaches only the right process.
func TestEndProcess(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	right := core.EndProcess{Stray: job.Stray{Job: 1, PID: pid, Start: gpu.StartOf("/proc", pid)}, UID: os.Getuid(), Signal: int(syscall.SIGKILL)}
	earlier, others, unknown := right, right, right
	earlier.Start--
	others.UID++
	unknown.Start = 0
	for _, a := range []core.EndProcess{earlier, others, unknown} {
		if err := EndProcess(a); err != nil {
			t.Error(err)
		}
	}
	if now := gpu.StartOf("/proc", pid); now != right.Start {
		t.Fatal("another process is hit")
	}
	if err := EndProcess(right); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ends with %v", err)
	}
	if err := EndProcess(right); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}

// Processes of root, and processes that now belong to a job, are never ended as strangers.
func TestStrangersThatStay(t *testing.T) {
	for o, want := range map[gpu.Owner]bool{
		{UID: 0}: true, {UID: 1000}: false, {UID: 1000, Unit: "session-3.scope"}: false, {UID: 1000, Unit: "gpujob-7.service"}: true,
	} {
		if got := isProtected(&o); got != want {
			t.Errorf("%+v is protected: %t", o, got)
		}
	}
}

func TestFirstUID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "login.defs")
	for text, want := range map[string]int{
		"": 1000, "#UID_MIN 5\nSYS_UID_MIN 100\nUID_MIN\t\t  500\nUID_MIN 7\n": 500, "UID_MIN x\nUID_MIN": 1000, "UID_MIN -4\nUID_MIN 0\n": 1000,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := FirstUID(path); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
	if got := FirstUID("/nonexistent"); got != 1000 {
		t.Errorf("without the file: %d", got)
	}
}
