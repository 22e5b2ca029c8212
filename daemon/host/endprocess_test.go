package host

import (
	"os"
	"os/exec"
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
	right := core.EndProcess{Stray: job.Stray{PID: pid, Start: gpu.StartOf("/proc", pid)}, UID: os.Getuid(), Signal: int(syscall.SIGKILL)}
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
