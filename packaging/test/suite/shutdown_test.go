//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestScheduledShutdown: a reboot is scheduled. A job that may still run at that time does not
// start, even after the daemon was killed. Shorter jobs start, and so do jobs that can be queued
// again. When the reboot is called off, the others start too.
func TestScheduledShutdown(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "shutdown -c") })
	sh(t, "", "shutdown -r +60")
	const says = "(scheduled with 'shutdown')"
	has := func(what, command string) {
		t.Helper()
		poll(t, what, func() bool { return strings.Contains(try(t, "alice", command).Stdout, says) })
	}
	has("the list says so", "gpusched list")
	long := submit(t, "alice", "-g 1 -t 2h -- sleep 1000")
	cpu := submit(t, "bob", "-g 0 -t 2h -- sleep 1000")
	endless := submit(t, "alice", "-g 1 -- sleep 1001")
	again := submit(t, "bob", "-g 1 -t 2h --preemptible --requeue -- sleep 1000")
	mustEnd(t, wait(t, submit(t, "bob", "-g 1 -t 10m -- true")), "completed", "exit code 0")
	waitRun(t, again)
	waits := func() {
		t.Helper()
		for _, id := range []int64{long, cpu, endless} {
			waitsFor(t, "", id, "may still run when the machine reboots at ")
		}
	}
	waits()
	has("why says so", fmt.Sprint("gpusched why ", long))
	has("status says so", "gpusched status")
	if text, _ := health(t); !strings.Contains(text, says) {
		t.Errorf("health: %s", text)
	}
	sh(t, "", "systemctl kill -s KILL --kill-whom=main gpusched")
	awaitDaemon(t)
	mustEnd(t, wait(t, submit(t, "bob", "-g 1 -t 10m -- true")), "completed", "exit code 0")
	waits()

	sh(t, "", "shutdown -c")
	for _, id := range []int64{long, cpu, endless} {
		waitRun(t, id)
	}
	if out := sh(t, "alice", "gpusched list"); strings.Contains(out, says) {
		t.Errorf("the list still says so: %s", out)
	}
	cancel(t, "alice", long, endless)
	cancel(t, "bob", cpu, again)
}
