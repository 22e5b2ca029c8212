//go:build machine

package suite

import (
	"fmt"
	"testing"
)

// TestKilledByTheMachine: if systemd-oomd kills a job, the
// job's result does not blame the job's own memory limit.
func TestKilledByTheMachine(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0 -m 512M -- sleep 1000")
	waitRun(t, id)
	// The script does what systemd-oomd does: it marks the control group, and then kills its
	// processes.
	sh(t, "", fmt.Sprintf(`set -e; unit=gpujob-%d; group=/sys/fs/cgroup$(systemctl show -P ControlGroup $unit)
		python3 -c "import os; [os.setxattr('$group', 'user.oomd_' + x, b'1') for x in ('ooms', 'kill')]"
		kill -9 $(systemctl show -P MainPID $unit)`, id))
	mustEnd(t, wait(t, id), "out-of-memory", "the host ran out")
}
