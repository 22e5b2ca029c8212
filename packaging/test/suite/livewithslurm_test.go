//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestSlurmsGPUsAreLeftToIt: while slurmd is enabled, no job of gpusched gets a GPU that gres.conf
// assigns to this machine. Running jobs continue, and health, doctor and config check say so. The
// daemon ignores a gres.conf that a user could have written.
func TestSlurmsGPUsAreLeftToIt(t *testing.T) {
	begin(t)
	const enabled = "/etc/systemd/system/multi-user.target.wants/slurmd.service"
	undo := "rm -rf /etc/slurm " + enabled + "; systemctl reload gpusched"
	t.Cleanup(func() { try(t, "", undo) })
	on0, on1 := submit(t, "alice", "--gpu-ids 0 -- sleep 1000"), submit(t, "alice", "--gpu-ids 1 -- sleep 1000")
	waitRun(t, on0)
	waitRun(t, on1)
	sh(t, "", `mkdir -p /etc/slurm; echo "NodeName=elsewhere Name=gpu File=/dev/nvidia3
NodeName=$(hostname -s) Name=gpu Type=a100 File=/dev/nvidia[1-2]" >/etc/slurm/gres.conf; ln -s /dev/null `+enabled)
	gpus := func() string { return sh(t, "bob", "gpusched gpus -o wide") }
	poll(t, "Slurm's GPUs are left to it, without a reload", func() bool { return strings.Contains(gpus(), "Slurm has it") })
	next, waits := submit(t, "bob", "-g 1 -- sleep 1000"), submit(t, "bob", "-g 2 -- true")
	waitRun(t, next)
	if j := show(t, "bob", next); len(j.GPUs) != 1 || j.GPUs[0].Index != 3 {
		t.Errorf("the next job is on %+v", j.GPUs)
	}
	if text := askWhy(t, "bob", waits); !strings.Contains(text, "Slurm has it") {
		t.Errorf("why a job waits does not say that Slurm has GPUs:\n%s", text)
	}
	if j := show(t, "alice", on1); j.State != "running" {
		t.Errorf("the job on a GPU that Slurm got is %s", j.State)
	}
	for _, command := range []string{"health -o wide", "doctor", "config check"} {
		r := try(t, "", "gpusched "+command)
		if text := r.Stdout + r.Stderr; !strings.Contains(text, "Slurm has /dev/nvidia1, /dev/nvidia2") {
			t.Errorf("'gpusched %s' does not say so:\n%s", command, text)
		}
	}
	sh(t, "", "chown alice /etc/slurm/gres.conf; echo Name=gpu File=/dev/nvidia[0-3] >/etc/slurm/gres.conf; systemctl reload gpusched")
	poll(t, "health reports the file of a user", func() bool {
		text := try(t, "", "gpusched health").Stdout
		return strings.Contains(text, "gres.conf: it belongs to uid") && strings.Contains(text, "Slurm has /dev/nvidia1, /dev/nvidia2")
	})
	cancel(t, "alice", on1)
	sh(t, "", undo)
	mustEnd(t, wait(t, waits), "completed", "exit code 0")
	if text := gpus(); strings.Contains(text, "Slurm") {
		t.Errorf("GPUs that Slurm no longer has are shown as:\n%s", text)
	}
	t.Cleanup(func() {
		try(t, "", "systemctl stop slurmd-test; rm -rf /etc/slurm /opt/slurm-test; systemctl reload gpusched")
	})
	// From here on, a reload makes the daemon look at Slurm's settings at once. Above, the daemon
	// looked by itself, within five seconds.
	sh(t, "", "systemd-run -q --unit slurmd-test sleep 1000; systemctl reload gpusched")
	poll(t, "every GPU is left to a slurmd without settings", func() bool { return strings.Count(gpus(), "Slurm has it") == 4 })
	if text := try(t, "", "gpusched health -o wide").Stdout; !strings.Contains(text, "not in /etc/slurm") || !strings.Contains(text, `gpus.slurm = "allow"`) {
		t.Errorf("health does not say so:\n%s", text)
	}
	sh(t, "", "mkdir /opt/slurm-test; echo Name=gpu File=/dev/nvidia1 >/opt/slurm-test/gres.conf; ln -s /opt/slurm-test /etc/slurm; systemctl reload gpusched")
	poll(t, "the files to which a link leads are read", func() bool { return strings.Count(gpus(), "Slurm has it") == 1 })
}
