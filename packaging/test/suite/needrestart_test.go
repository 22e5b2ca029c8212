//go:build machine

package suite

import (
	"fmt"
	"testing"
)

// TestNeedrestartLeavesJobs: after the upgrade of a library, needrestart
// restarts services. It does not restart jobs, which would lose their work.
// For comparison, it restarts an ordinary unit that uses the library.
func TestNeedrestartLeavesJobs(t *testing.T) {
	begin(t)
	sh(t, "", "install -m 755 /bin/sleep /usr/local/bin/nap")
	id := submit(t, "alice", "-g 1 -- /usr/local/bin/nap 1000")
	waitRun(t, id)
	sh(t, "", "printf '[Service]\\nExecStart=/usr/local/bin/nap 1000\\n' > /run/systemd/system/control.service; systemctl daemon-reload; systemctl start control")
	t.Cleanup(func() {
		sh(t, "", "systemctl stop control; rm /run/systemd/system/control.service /usr/local/bin/nap; systemctl daemon-reload")
	})
	pid := func(unit string) string { return sh(t, "", "systemctl show -P MainPID "+unit) }
	control, job := pid("control"), pid(fmt.Sprintf("gpujob-%d", id))
	sh(t, "", "install -m 755 /bin/sleep /usr/local/bin/nap.new; mv /usr/local/bin/nap.new /usr/local/bin/nap; NEEDRESTART_MODE=a needrestart -r a -l -q >/tmp/needrestart.log 2>&1; true")
	if pid("control") == control {
		t.Errorf("needrestart restarted nothing, so the test proves nothing:\n%s", sh(t, "", "cat /tmp/needrestart.log"))
	}
	if pid(fmt.Sprintf("gpujob-%d", id)) != job || show(t, "", id).State != "running" {
		t.Errorf("needrestart restarted the job:\n%s", sh(t, "", "cat /tmp/needrestart.log"))
	}
}
