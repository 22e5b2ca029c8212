//go:build machine

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// TestAttackerBytes: one account can fill only a limited amount of state, both while its jobs wait
// and after many of its jobs have ended. Meanwhile other accounts can submit, and keep their
// history.
func TestAttackerBytes(t *testing.T) {
	settings(t, "[limits]\nuser_state = \"16M\"\nuser_history = \"16M\"")
	attacker(t)
	old := submit(t, "alice", "-g 0 -n before -- true")
	wait(t, old)
	size := func() (mib int) {
		fmt.Sscan(sh(t, "", "du -cm /var/lib/gpusched | tail -1"), &mib)
		return mib
	}
	before := size()
	// Each job has 1 MiB of environment, so 16 such jobs are too many.
	sh(t, "bob", `head -c 100000 /dev/zero | tr '\0' x > ~/part`)
	const part = "part=$(<~/part); "
	line := `gpusched submit -q -g 0 --hold --env clean ` + strings.Repeat(`-e V$((n=n+1))="$part" `, 10) + ` -- true`
	measureDuring(t, "submissions of a megabyte", func() {
		out := try(t, "bob", part+"for i in $(seq 20); do "+line+"; done 2>&1 </dev/null | sort | uniq -c | sort -rn | tail -3; gpusched list --mine -o ids | wc -l").Stdout
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if n := strings.TrimSpace(lines[len(lines)-1]); n != "15" && n != "16" {
			t.Errorf("%s of 20 submissions of a megabyte are in the queue: %s", n, out)
		}
		mustFail(t, "bob", part+line+" </dev/null", 8, "this site's limit is 16M")
	})
	mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	full := size()
	measureDuring(t, "jobs of a megabyte that come and go", func() {
		for range 2 {
			sh(t, "bob", "gpusched cancel --mine -y >/dev/null")
			try(t, "bob", part+"for i in $(seq 15); do "+line+"; done >/dev/null 2>&1 </dev/null")
		}
	})
	again := size()
	sh(t, "bob", "gpusched cancel --mine -y >/dev/null")
	t.Logf("the state directory has %d MiB, %d with bob's queue full, %d after filling it twice more", before, full, again)
	if full > before+40 || again > full+16 {
		t.Errorf("the state directory grew from %d to %d and then to %d MiB", before, full, again)
	}
	if j := show(t, "alice", old); j.State != "completed" {
		t.Errorf("alice's earlier job is %+v", j)
	}
}

// TestAttackerLaunches: no user can read or change the processes that start another user's jobs.
func TestAttackerLaunches(t *testing.T) {
	attacker(t)
	sh(t, "", "systemd-run --quiet --unit watcher --uid bob --property StandardOutput=file:/run/watcher.out "+attackerPath+" launch 8")
	t.Cleanup(func() { try(t, "", "systemctl stop watcher; rm -f /run/watcher.out") })
	last := int64(0)
	for range 30 {
		last = submit(t, "alice", "-g 0 -e TOKEN=hush-hush -- sleep 0.02")
	}
	mustEnd(t, wait(t, last), "completed", "exit code 0")
	poll(t, "bob is done", func() bool { return strings.Contains(sh(t, "", "cat /run/watcher.out"), "moments") })
	out := sh(t, "", "cat /run/watcher.out")
	judge(t, out, 1)
	if !strings.Contains(out, "gpusched-job") && strings.Contains(out, "as 1 programs") {
		t.Logf("only the commands were seen: %s", out)
	}
}

// TestAttackerLoader: a job's environment may contain variables for the dynamic loader or a
// language runtime. The variables do not affect the launcher, because it checks the device filter
// before it sets that environment.
func TestAttackerLoader(t *testing.T) {
	attacker(t)
	sh(t, "bob", `printf 'echo loaded > ~/loaded\n' > ~/env.sh; cp /bin/true ~/lib.so; mkdir -p ~/bin; printf '#!/bin/sh\necho mine\n' > ~/bin/sleep; chmod 755 ~/bin/sleep`)
	hostile := "-e LD_PRELOAD=/home/bob/lib.so -e LD_AUDIT=/home/bob/lib.so -e LD_LIBRARY_PATH=/home/bob -e GCONV_PATH=/home/bob -e GLIBC_TUNABLES=glibc.malloc.check=3 " +
		"-e GODEBUG=netdns=cgo -e GOMAXPROCS=0 -e GOTRACEBACK=crash -e GOGC=off -e BASH_ENV=/home/bob/env.sh -e ENV=/home/bob/env.sh -e NOTIFY_SOCKET=/home/bob/notify -e LISTEN_FDS=9 -e CREDENTIALS_DIRECTORY=/root"
	id := submit(t, "bob", "--gpu-ids 0 "+hostile+" -- "+attackerPath+" inside-devices")
	j := wait(t, id)
	judge(t, waitText(t, id, "inherited from the launcher"), 20)
	mustEnd(t, j, "completed", "exit code 0")
	// Set-user-id programs start in a job, but do for bob no more than they do outside jobs.
	for _, line := range []string{"su -c id root", "passwd -d root", "mount --bind / /mnt", "chsh -s /bin/sh root", "gpasswd -a bob gpusched-admin", "newgrp gpusched-admin", "sg gpusched-admin -c id"} {
		id := submit(t, "bob", "-g 0 -- setsid -w "+line)
		if j := wait(t, id); j.State != "failed" || strings.Contains(output(t, "bob", id), "uid=0") {
			t.Errorf("%s: %s: %s", line, j.Result.Sentence, output(t, "bob", id))
		}
	}
}

// TestAttackerManager: bob's own user manager has a unit with a job's name. The daemon does not
// treat that unit as a job: the unit's processes on a GPU count as foreign.
func TestAttackerManager(t *testing.T) {
	victim, _ := attacker(t)
	group := "/user.slice/user-1002.slice/user@1002.service/app.slice/gpujob-" + fmt.Sprint(victim) + ".service"
	base := sh(t, "", "d=/sys/fs/cgroup; [ -d $d/system.slice ] || d=$d/systemd; echo $d")
	sh(t, "", "mkdir -p "+base+group)
	sh(t, "", "systemd-run --quiet --unit intruder --uid bob bash -c 'sleep 1000'")
	t.Cleanup(func() { try(t, "", "systemctl stop intruder; cd "+base+"; rmdir -p ."+group) })
	pid := sh(t, "", "systemctl show -P MainPID intruder")
	sh(t, "", "echo "+pid+" > "+base+group+"/cgroup.procs")
	sh(t, "bob", "echo '1073741824 kind=compute' > /run/fakenvml/claims/"+pid+"-1")
	poll(t, "the process shows as bob's and in no job", func() bool {
		return slices.ContainsFunc(processesOn(t, 1), func(p job.GPUProcess) bool { return fmt.Sprint(p.PID) == pid && p.UID == 1002 && p.Job == 0 })
	})
}

// TestAttackerDescriptor: the kernel checks access to a device only when a process opens the
// device. A job's owner can therefore pass an open GPU to another process. The receiver cannot use
// the descriptor to open other devices, and is listed among the processes on the GPU. After the
// job's end, no other job gets the GPU until the receiver has ended.
func TestAttackerDescriptor(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nextra_devices = [\"/dev/standin\"]\ncleaning_timeout = \"2s\"\nsample_interval = \"1s\"\nstrays = \"keep\"")
	// This node, which can be opened without a driver, replaces a GPU's node.
	sh(t, "", "rm -f /dev/standin; mknod -m 666 /dev/standin c 1 11; systemctl restart gpusched")
	t.Cleanup(func() { try(t, "", "rm -f /dev/standin") })
	installProgram(t, "../attacker", attackerPath)
	giver := submit(t, "alice", "--gpu-ids 1 -- "+attackerPath+" give /dev/standin /tmp/giver")
	waitText(t, giver, "give: listening")
	taker := submit(t, "bob", "-g 0 -- "+attackerPath+" take /dev/standin /tmp/giver 1")
	judge(t, strings.Split(waitText(t, taker, "take: holds"), "take: holds")[0], 2)
	poll(t, "bob's process shows on GPU 1", func() bool {
		return slices.ContainsFunc(processesOn(t, 1), func(p job.GPUProcess) bool { return p.UID == 1002 && p.Job == job.ID(taker) })
	})
	cancel(t, "alice", giver)
	next := submit(t, "alice", "--gpu-ids 1 -- true")
	poll(t, "GPU 1 is not reassigned", func() bool { return strings.Contains(gpuLine(t, 1), "suspect") })
	if j := show(t, "alice", next); j.State != "queued" || !strings.Contains(j.Why, fmt.Sprintf("of job %d of bob uses it", taker)) {
		t.Errorf("the next job on GPU 1 is %s: %s", j.State, j.Why)
	}
	if text, _ := health(t); !strings.Contains(text, "gpu 1") {
		t.Errorf("health does not say so: %s", text)
	}
	settings(t, "[gpus]\nextra_devices = [\"/dev/standin\"]\ncleaning_timeout = \"2s\"\nsample_interval = \"1s\"")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	mustEnd(t, wait(t, taker), "cancelled", "it used GPU 1, which it does not have")
}

// processesOn lists the processes that the driver reports on one GPU, as root sees them.
func processesOn(t *testing.T, index int) []job.GPUProcess {
	t.Helper()
	for _, g := range ask[api.GPUsReply](t, "", "gpusched gpus --json").GPUs {
		if g.Index == index {
			return g.Processes
		}
	}
	return nil
}
