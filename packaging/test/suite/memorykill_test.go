//go:build machine

package suite

import (
	"fmt"
	"testing"
)

// TestKilledByTheMachine: the result of a job that systemd-oomd kills does not blame the job's own
// limit.
func TestKilledByTheMachine(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0 -m 512M -- sleep 1000")
	running(t, id)
	// As systemd-oomd does: mark the control group, then kill.
	sh(t, "", fmt.Sprintf(`set -e; unit=gpujob-%d; group=/sys/fs/cgroup$(systemctl show -P ControlGroup $unit)
		python3 -c "import os; [os.setxattr('$group', 'user.oomd_' + x, b'1') for x in ('ooms', 'kill')]"
		kill -9 $(systemctl show -P MainPID $unit)`, id))
	ended(t, wait(t, id), "out-of-memory", "the host ran out")
}
