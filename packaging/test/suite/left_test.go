//go:build machine

package suite

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
)

// gpuLine returns the line of 'gpusched gpus' about a GPU, which every user can read.
func gpuLine(t *testing.T, index int) string {
	t.Helper()
	return sh(t, "bob", fmt.Sprintf("gpusched gpus -o csv | awk -F, '$1 == %d'", index))
}

// TestLeakedMemory: after a job has ended, some GPU memory is still in use, but by no process. The
// GPU is out of service until the memory is free, even across a restart of the daemon. The job's
// result says so.
func TestLeakedMemory(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\ncleaning_timeout = \"2s\"\nsample_interval = \"200ms\"")
	awaitDaemon(t)
	on := submit(t, "alice", "--gpu-ids 1 -- sleep 1000")
	waitRun(t, on)
	sh(t, "", `printf 'minor=0\nminor=1 used_mib=20480\nminor=2\nminor=3\n' > /run/fakenvml/gpus`)
	cancel(t, "alice", on)
	poll(t, "the GPU is out of service", func() bool { return strings.Contains(gpuLine(t, 1), "sick") })
	next := submit(t, "alice", "--gpu-ids 1 -- true")
	waitsFor(t, "alice", next, fmt.Sprintf("20G of its memory is in use by no process since job %d ended, it needs a reset", on))
	if text, _ := health(t); !strings.Contains(text, "nvidia-smi -i 1 --gpu-reset") {
		t.Errorf("health: %s", text)
	}
	if j := show(t, "alice", on); !strings.Contains(j.Result.Sentence, "after it ended, GPU 1 was out of service: 20G of its memory") {
		t.Errorf("the job that leaked it: %q", j.Result.Sentence)
	}
	sh(t, "", "systemctl restart gpusched")
	awaitDaemon(t)
	poll(t, "it is known after a restart", func() bool { return strings.Contains(gpuLine(t, 1), "sick") })
	sh(t, "", "rm /run/fakenvml/gpus")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
}

// freezer creates a group in the kernel's freezer. It returns the group's directory and a command
// that thaws the group's processes. All boxes share the freezer of the host, so the group's name is
// unique. The group is removed when the test ends.
func freezer(t *testing.T, name string) (dir, thaw string) {
	t.Helper()
	dir = "/run/freezer/" + name + "-" + rand.Text()
	thaw = "[ ! -e " + dir + " ] || echo THAWED > " + dir + "/freezer.state"
	t.Cleanup(func() {
		try(t, "", thaw+"; for n in $(seq 100); do for p in $(cat "+dir+"/cgroup.procs); do echo $p > /run/freezer/cgroup.procs; done; rmdir "+dir+" && break; sleep 0.1; done; umount /run/freezer; rmdir /run/freezer")
	})
	sh(t, "", "mkdir -p /run/freezer && mount -t cgroup -o freezer none /run/freezer && mkdir "+dir)
	return dir, thaw
}

// TestUnkillable: a process of a job survives SIGKILL, because the test has frozen it without
// systemd's knowledge. The job keeps its GPU, every user can read why, and other jobs run. Once the
// process can end, the job ends by itself.
func TestUnkillable(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\ncleaning_timeout = \"2s\"\nsample_interval = \"200ms\"")
	awaitDaemon(t)
	stuck, thaw := freezer(t, "stuck")
	on := submit(t, "alice", "--gpu-ids 1 --grace 1s -- sleep 1000")
	waitRun(t, on)
	pid := strings.TrimSpace(sh(t, "", fmt.Sprintf("systemctl show -P MainPID gpujob-%d", on)))
	sh(t, "", "echo "+pid+" > "+stuck+"/cgroup.procs; echo FROZEN > "+stuck+"/freezer.state")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", on))
	poll(t, "health says so", func() bool {
		text, _ := health(t)
		return strings.Contains(text, fmt.Sprintf("job %d", on)) && strings.Contains(text, "process "+pid+" did not end after SIGKILL")
	})
	if line := gpuLine(t, 1); !strings.Contains(line, "sick") {
		t.Errorf("its GPU is %s", line)
	}
	if j := show(t, "bob", on); j.State != "ending" || !strings.Contains(j.Why, "did not end after SIGKILL") {
		t.Errorf("the job is %s: %s", j.State, j.Why)
	}
	mustEnd(t, wait(t, submit(t, "bob", "-g 1 -- true")), "completed", "exit code 0")
	next := submit(t, "bob", "--gpu-ids 1 -- true")
	waitsFor(t, "bob", next, fmt.Sprintf("job %d can't be ended", on))
	sh(t, "", thaw)
	mustEnd(t, wait(t, on), "cancelled", "cancelled by alice; process "+pid+" did not end after SIGKILL")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
}
