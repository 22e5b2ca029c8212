//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestLoginLine: a login prints one line about the scheduler. If the user's shell prints the line,
// it also counts the user's own jobs. No line is printed if the scheduler is down or hangs, or if
// the site has turned the line off.
func TestLoginLine(t *testing.T) {
	begin(t)
	gpusSeen(t)
	waitRun(t, submit(t, "alice", "-g 3 -t 1h -- sleep 1000"))
	waiting := submit(t, "alice", "-g 4 -t 1h -- sleep 1000")
	waitsFor(t, "alice", waiting, "GPU")
	const own = "gpusched --on local status --short"
	if out := sh(t, "alice", own); !strings.HasPrefix(out, "gpusched: 1 of 4 GPUs free, 1 job waiting; yours: 1 running, 1 waiting (the next is expected to start at ") || strings.Contains(out, "\n") {
		t.Errorf("alice reads %q", out)
	}
	if out := sh(t, "bob", own); out != "gpusched: 1 of 4 GPUs free, 1 job waiting" {
		t.Errorf("bob reads %q", out)
	}
	const motd = "/usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin run-parts --lsbsysinit /etc/update-motd.d" // as pam_motd does
	if out := sh(t, "", motd); !strings.Contains(out, "gpusched: 1 of 4 GPUs free, 1 job waiting\n") && !strings.HasSuffix(out, "gpusched: 1 of 4 GPUs free, 1 job waiting") {
		t.Errorf("the message of the day is %q", out)
	}
	sh(t, "", "touch /etc/gpusched/no-motd")
	t.Cleanup(func() { sh(t, "", "rm -f /etc/gpusched/no-motd") })
	if out := sh(t, "", motd); strings.Contains(out, "gpusched") {
		t.Errorf("it is off, and says %q", out)
	}
	const back = "systemctl kill --signal CONT --kill-whom main gpusched; systemctl start gpusched.socket gpusched.service"
	t.Cleanup(func() { try(t, "", back) })
	sh(t, "", "systemctl kill --signal STOP --kill-whom main gpusched")
	if out := sh(t, "alice", "timeout 20 "+own+" 2>&1"); out != "" {
		t.Errorf("while the scheduler hangs alice reads %q", out)
	}
	sh(t, "", "systemctl kill --signal CONT --kill-whom main gpusched; systemctl stop gpusched.socket gpusched.service")
	if out := sh(t, "alice", own+" 2>&1"); out != "" {
		t.Errorf("while the scheduler is down alice reads %q", out)
	}
}
