//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestBootDrain: a drain for a reboot reboots the machine, and no job is lost. At the time that the
// drain names, the jobs that can be queued again get SIGTERM. The reboot waits for the one job that
// can't. The daemon is killed meanwhile. After the boot the drain is over, and all jobs complete.
func TestBootDrain(t *testing.T) { drainForReboot(t) }

// TestContainerDrain does the same in a container.
func TestContainerDrain(t *testing.T) { drainForReboot(t) }

func drainForReboot(t *testing.T) {
	begin(t)
	hour := 5 * time.Second * the.slow
	sh(t, "alice", "rm -f ~/told")
	const first = "bash -c '[ $GPUSCHED_ATTEMPT = 1 ] || exit 0; trap \"echo told >> ~/told; sync; exit 1\" TERM; sleep 1000 & wait'"
	again := []int64{
		submit(t, "alice", "--gpu-ids 0 -- "+first), submit(t, "alice", "--gpu-ids 1 -- "+first), submit(t, "bob", "--gpu-ids 2 --preemptible -- "+first),
	}
	stays := submit(t, "bob", fmt.Sprintf("--gpu-ids 3 --no-requeue -- sleep %d", int((hour+5*time.Second*the.slow).Seconds())))
	for _, id := range append(again, stays) {
		waitRun(t, id)
	}
	var wait4 []int64
	for _, user := range []string{"alice", "alice", "bob", "bob"} {
		wait4 = append(wait4, submit(t, user, "-g 4 -- true"))
	}
	sh(t, "", fmt.Sprintf("gpusched daemon drain --then reboot --by +%ds --reason kernel", int(hour.Seconds())))
	if text, _ := health(t); !strings.Contains(text, "drained for a reboot by root (kernel)") || !strings.Contains(text, fmt.Sprintf("%d of bob", stays)) {
		t.Errorf("health does not say who holds it up: %s", text)
	}
	if out := sh(t, "alice", "gpusched list"); !strings.Contains(out, "(drained by root: kernel)") {
		t.Errorf("the list does not say that the machine reboots: %s", out)
	}
	sh(t, "", "systemctl kill -s KILL --kill-whom=main gpusched; sync")
	if err := the.RebootBy(t.Context(), "true"); err != nil {
		t.Fatal(err)
	}
	awaitDaemon(t)
	for _, id := range again {
		j := wait(t, id)
		if mustEnd(t, j, "completed", "exit code 0"); j.Attempt != 2 {
			t.Errorf("job %d had %d attempts", id, j.Attempt)
		}
	}
	for _, id := range append(wait4, stays) {
		j := wait(t, id)
		if mustEnd(t, j, "completed", "exit code 0"); j.Attempt != 1 {
			t.Errorf("job %d had %d attempts", id, j.Attempt)
		}
	}
	if n := sh(t, "alice", "wc -l < ~/told"); n != "2" {
		t.Errorf("%s of alice's 2 jobs got SIGTERM", n)
	}
	if out := sh(t, "alice", "gpusched list"); strings.Contains(out, "drained") {
		t.Errorf("the drain is not over: %s", out)
	}
}

// TestContainerDrainForced: with --force the reboot does not wait for a job that can't be queued
// again, and the job is lost. This holds even if the site's settings block reboots while jobs run.
func TestContainerDrainForced(t *testing.T) {
	begin(t)
	settings(t, "[daemon]\ninhibit = \"shutdown\"")
	lost := submit(t, "alice", "-g 1 --no-requeue -- sleep 1000")
	waitRun(t, lost)
	poll(t, "the lock is on shutdown", func() bool { return strings.Contains(sh(t, "", "systemd-inhibit --list"), "shutdown") })
	if err := the.RebootBy(t.Context(), "gpusched", "daemon", "drain", "--then", "reboot", "--by", "now", "--force"); err != nil {
		t.Fatal(err)
	}
	awaitDaemon(t)
	mustEnd(t, wait(t, lost), job.Lost, "restarted while the job ran")
}

// TestDrainForReboot: if another program blocks the reboot, the drain waits and health names that
// program. While the drain lasts, a drain without a reboot is refused. The drain can be called off
// like any other.
func TestDrainForReboot(t *testing.T) {
	begin(t)
	sh(t, "", "systemd-run --quiet --unit updater systemd-inhibit --what=shutdown --mode=block --who=dnf --why=upgrading sleep 1000")
	t.Cleanup(func() { sh(t, "", "gpusched daemon resume; systemctl stop updater") })
	poll(t, "the updater has its lock", func() bool { return strings.Contains(sh(t, "", "systemd-inhibit --list"), "dnf") })
	mustFail(t, "alice", "gpusched daemon drain --then reboot", 4, "only administrators")
	mustFail(t, "", "gpusched daemon drain --force", 2, "add --then reboot")
	mustFail(t, "", "gpusched daemon drain --then reboot --force", 2, "name one, such as --by now")
	mustFail(t, "", "gpusched daemon drain --then reboot --until +1h", 2, "leave out --until")
	sh(t, "", "gpusched daemon drain --then reboot --reason kernel")
	poll(t, "health says who holds it up", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "holds it up: upgrading")
	})
	id := submit(t, "alice", "-g 1 -- true")
	waitsFor(t, "alice", id, "no new job starts: drained for a reboot by root (kernel)")
	if r := try(t, "", "gpusched daemon drain"); r.Code == 0 || !strings.Contains(r.Stderr, "the machine is drained for a reboot by root (kernel)") {
		t.Errorf("another drain: %+v", r)
	}
	sh(t, "", "echo linux-image > /run/reboot-required.pkgs; touch /run/reboot-required")
	t.Cleanup(func() { sh(t, "", "rm -f /run/reboot-required*") })
	poll(t, "health says that a reboot is due", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "reboot due since 20") && strings.Contains(text, ": linux-image")
	})
	sh(t, "", "gpusched daemon resume")
	if out := sh(t, "alice", "gpusched status --short"); !strings.Contains(out, "reboot due since 20") {
		t.Errorf("the short status does not say that a reboot is due: %s", out)
	}
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}
