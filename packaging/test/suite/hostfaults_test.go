//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestFaultsOfTheMachine: a fault of the machine ends no job. Waiting jobs keep their environment;
// 'gpusched why' and health name the failed step. After the repair all jobs continue by themselves.
func TestFaultsOfTheMachine(t *testing.T) {
	const (
		launcher = "/usr/libexec/gpusched/gpusched-job"
		dropIns  = "/run/systemd/system/gpujob-.service.d"
		tidy     = "rm -rf " + dropIns + "; systemctl daemon-reload"
	)
	dropIn := func(lines string) string {
		return "mkdir -p " + dropIns + "; printf '" + lines + "' > " + dropIns + "/90-suite.conf; systemctl daemon-reload"
	}
	for _, c := range []struct{ name, harm, mend, says string }{
		{"launcher", "chmod -x " + launcher, "chmod +x " + launcher, "systemd could not execute the launcher (203)"},
		{"setting", dropIn(`[Service]\nCPUAffinity=999\n`), tidy, "systemd could not set its CPU affinity (215)"},
		{"needed unit", dropIn(`[Unit]\nRequires=no-such.service\n`), tidy, "systemd: "},
		{"first program", dropIn(`[Service]\nExecStartPre=/bin/false\n`), tidy, "a program that the site set to run before jobs"},
		{"last program", dropIn(`[Service]\nExecStartPost=/bin/false\n`), tidy, "a program that the site set to run after the start of jobs"},
		{"condition", dropIn(`[Unit]\nConditionPathExists=/no/such\n`), tidy, "a condition that the site set for jobs"},
		{"assertion", dropIn(`[Unit]\nAssertPathExists=/no/such\n`), tidy, "an assertion that the site set for jobs"},
		{"condition of its own", dropIn(`[Service]\nExecCondition=/bin/false\n`), tidy, "a condition that the site set for jobs"},
		{"memory of the launcher", dropIn(`[Service]\nLimitAS=20M\n`), tidy, "before it began the command"},
		{"system calls", dropIn(`[Service]\nSystemCallFilter=~openat\n`), tidy, "the launcher ended with signal 31 before it began the command"},
		{"damaged launcher", "cp -a " + launcher + " /run/launcher; truncate -s 200000 " + launcher, "mv /run/launcher " + launcher, "the launcher ended with signal "},
		{"homes", "mv /home /home.away; mkdir /home", "[ ! -d /home.away ] || { rmdir /home && mv -T /home.away /home; }", "a file system that is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin(t)
			if c.name == "launcher" {
				alertsTo(t, "/run/starts-alert")
			}
			ids := heldJobs(t, "alice", "bob", "alice")
			mended := false
			mend := func() {
				if !mended {
					sh(t, "", c.mend)
					mended = true
				}
			}
			t.Cleanup(mend)
			sh(t, "", c.harm)
			sh(t, "", fmt.Sprintf("gpusched release %d %d %d", ids[0], ids[1], ids[2]))
			poll(t, "health names the step", func() bool {
				out := try(t, "", "gpusched health").Stdout
				return strings.Contains(out, c.says) && strings.Contains(out, "of several users failed") && strings.Contains(out, "one job is tried at a time")
			})
			for _, id := range ids {
				keepsWaiting(t, id, c.says)
			}
			if c.name == "launcher" {
				poll(t, "the site's unit is started", func() bool { return try(t, "", "grep -qx starts /run/starts-alert").Code == 0 })
			}
			mend()
			for _, id := range ids {
				mustEnd(t, wait(t, id), "completed", "exit code 0")
				waitText(t, id, "rate=3")
			}
			poll(t, "health of starts is good again", func() bool {
				return strings.Contains(try(t, "", "gpusched health").Stdout, "placed jobs start")
			})
		})
	}
}

// TestFileSystemThatNoTableNames: a file system was mounted by hand or by a unit. Jobs wait for it
// as they do for a file system in fstab. If the job's user removed the directory, the job ends.
func TestFileSystemThatNoTableNames(t *testing.T) {
	begin(t)
	const mount = "mount -t tmpfs -o mode=755 scratch /scratch && install -d -o alice /scratch/alice && install -m 755 /bin/true /scratch/alice/run"
	sh(t, "", "mkdir -p /scratch && "+mount)
	t.Cleanup(func() { sh(t, "", "! mountpoint -q /scratch || umount /scratch; rmdir /scratch") })
	sh(t, "alice", "mkdir -p ~/gone")
	waits := []int64{
		submit(t, "alice", "-g 0 --hold --chdir /scratch/alice -- true"),
		submit(t, "alice", "-g 0 --hold -- /scratch/alice/run"),
	}
	ends := submit(t, "alice", "-g 0 --hold --chdir ~/gone -- true")
	sh(t, "", "umount /scratch; rmdir /home/alice/gone; "+fmt.Sprintf("gpusched release %d %d %d", waits[0], waits[1], ends))
	for _, id := range waits {
		keepsWaiting(t, id, "a file system that is not there")
	}
	mustEnd(t, wait(t, ends), "failed", "its working directory")
	sh(t, "", mount)
	for _, id := range waits {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
}

// alertsTo configures an alert unit that writes its instance name to a file.
func alertsTo(t *testing.T, file string) {
	t.Helper()
	const unit = "/etc/systemd/system/starts-alert@.service"
	sh(t, "", "printf '[Service]\\nType=oneshot\\nExecStart=/bin/sh -c \"echo %%i >> "+file+"\"\\n' > "+unit+"; rm -f "+file+"; systemctl daemon-reload")
	t.Cleanup(func() { sh(t, "", "rm -f "+unit+" "+file+"; systemctl daemon-reload") })
	settings(t, "[gpus]\nalert_unit = \"starts-alert@.service\"")
}

// keepsWaiting waits until a job is queued and the output of 'gpusched why' contains the argument
// text. At first, a start of the job may still be in progress.
func keepsWaiting(t *testing.T, id int64, text string) {
	t.Helper()
	poll(t, fmt.Sprintf("job %d waits: %s", id, text), func() bool {
		j := show(t, "", id)
		if j.Result != nil {
			t.Fatalf("job %d is %s: %+v", id, j.State, j.Result)
		}
		return j.State == "queued" && strings.Contains(try(t, "", fmt.Sprintf("gpusched why %d", id)).Stdout, text)
	})
}

// heldJobs submits a held job for each user, with an environment variable. While the site has a
// broken drop-in, the jobs do not end.
func heldJobs(t *testing.T, users ...string) (ids []int64) {
	t.Helper()
	const command = "sh -c 'while [ -e /run/systemd/system/gpujob-.service.d ]; do sleep 0.1; done; echo rate=$RATE'"
	for _, user := range users {
		ids = append(ids, submit(t, user, "-g 0 --hold -e RATE=3 -- "+command))
	}
	return ids
}

// TestMaskedSlice: an administrator masks a user's slice. The user's jobs then cannot start; other
// users' jobs run.
func TestMaskedSlice(t *testing.T) {
	begin(t)
	ids := heldJobs(t, "alice", "alice", "alice", "bob")
	t.Cleanup(func() { sh(t, "", "systemctl unmask --runtime gpujobs-u1001.slice") })
	sh(t, "", "systemctl stop gpujobs-u1001.slice; systemctl mask --runtime gpujobs-u1001.slice")
	sh(t, "", fmt.Sprintf("gpusched release %d %d %d %d", ids[0], ids[1], ids[2], ids[3]))
	mustEnd(t, wait(t, ids[3]), "completed", "exit code 0")
	poll(t, "health names the slice", func() bool {
		out := try(t, "", "gpusched health").Stdout
		return strings.Contains(out, "of jobs of alice failed") && strings.Contains(out, "gpujobs-u1001.slice is masked")
	})
	for _, id := range ids[:3] {
		keepsWaiting(t, id, "gpujobs-u1001.slice is masked")
	}
	sh(t, "", "systemctl unmask --runtime gpujobs-u1001.slice")
	for _, id := range ids[:3] {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
		waitText(t, id, "rate=3")
	}
}

// TestFailingGPU: if every job on a GPU fails within seconds, the GPU takes no more jobs. The
// commands health, gpus and why say so, and an administrator puts the GPU back into service.
func TestFailingGPU(t *testing.T) {
	begin(t)
	sh(t, "", "systemctl restart gpusched") // alice's failures in another test must not count
	gpusSeen(t)
	const command = `-g 1 -m 16M --array 0-29 --hold -- sh -c '[ "$GPUSCHED_GPU_IDS" = 2 ] && exit 1; exec sleep 1000'`
	var ids []any
	for _, user := range []string{"alice", "bob", "alice", "bob"} {
		ids = append(ids, submit(t, user, command))
	}
	sh(t, "", fmt.Sprintf("gpusched release %d %d %d %d", ids...)) // one command releases all, so that several fail
	poll(t, "GPU 2 is suspect", func() bool {
		return strings.Contains(try(t, "", "gpusched health").Stdout, "jobs on it failed within seconds")
	})
	failed := strings.Fields(sh(t, "", fmt.Sprintf("gpusched list -s failed -o ids %d %d %d %d", ids...)))
	if n := len(failed); n < 3 || n > 12 {
		t.Errorf("%d of 120 jobs failed", n)
	}
	if out := sh(t, "", "gpusched gpus"); !strings.Contains(out, "suspect") {
		t.Errorf("gpus: %s", out)
	}
	id := submit(t, "bob", "-g 1 -m 16M -- true")
	if out := sh(t, "bob", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(out, "while others did well on other GPUs; it is tried again at") {
		t.Errorf("why: %s", out)
	}
	sh(t, "", "gpusched cancel -y -u alice; gpusched cancel -y -u bob; gpusched gpu resume 2")
	poll(t, "GPU 2 is in service", func() bool { return strings.Contains(try(t, "", "gpusched health").Stdout, "4 of 4 GPUs answer") })
}
