//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// logIn gives a user a terminal outside of jobs. It returns the path of a file that records
// everything that the terminal shows.
func logIn(t *testing.T, user string) (typescript string) {
	t.Helper()
	typescript = "/tmp/typescript-" + user
	sh(t, "", fmt.Sprintf("systemd-run -q --unit suite-login-%s --uid %[1]s -p WorkingDirectory=/tmp script -f -q -c 'sleep 300' %s", user, typescript))
	t.Cleanup(func() { sh(t, "", fmt.Sprintf("systemctl stop suite-login-%s; rm -f %s", user, typescript)) })
	poll(t, user+" has a terminal", func() bool {
		return strings.Contains(try(t, "", "ps -o tty= -u "+user+" -C sleep").Stdout, "pts/")
	})
	return typescript
}

// stranger starts a user's process that uses GPU 0 outside of jobs, and returns the pid.
func stranger(t *testing.T, user, unit, line string) (pid string) {
	t.Helper()
	sh(t, "", fmt.Sprintf("systemd-run -q --uid %s --unit %s --setenv CUDA_VISIBLE_DEVICES=0 %s", user, unit, line))
	t.Cleanup(func() { try(t, "", "systemctl stop "+unit) })
	poll(t, unit+" is on the GPU", func() bool {
		pid = sh(t, "", "systemctl show -P MainPID "+unit)
		return try(t, "", "test -e /run/fakenvml/claims/"+pid+"-0").Code == 0
	})
	return pid
}

// TestStrangersAreTold: bob's process uses a GPU of alice's job. A message on bob's terminal says
// so, once, even if the daemon is killed meanwhile. Everybody can see that bob got the message.
func TestStrangersAreTold(t *testing.T) {
	begin(t)
	settings(t, quickSampling+"\nstrangers = \"tell\"")
	gpusSeen(t)
	shown := logIn(t, "bob")
	id := submit(t, "alice", "--gpu-ids 0 -- simcuda --mem 5G --hold 1000")
	waitRun(t, id)
	sh(t, "", `cp "$(command -v simcuda)" /usr/local/bin/$'se\e[31mcret'`)
	t.Cleanup(func() { sh(t, "", "rm -f /usr/local/bin/se*cret") })
	pid := stranger(t, "bob", "stranger", "bash -c 'exec /usr/local/bin/se*cret --mem 8G --hold 1000'")
	told := func() string { return sh(t, "", "cat "+shown) }
	poll(t, "bob is told", func() bool { return strings.Contains(told(), "gpusched run -- COMMAND") })
	line := told()
	if !strings.Contains(line, fmt.Sprintf("gpusched: GPU 0 has belonged to job %d of alice since ", id)) ||
		!strings.Contains(line, "Your process "+pid+" (se") || !strings.Contains(line, "uses 8G of its memory. Please end it, and queue the work") || strings.Contains(line, "\x1b[31m") {
		t.Errorf("bob reads %q", line)
	}
	awaitSamples(t, 5)
	sh(t, "", "systemctl kill --kill-whom main --signal KILL gpusched")
	awaitSamples(t, 5)
	if n := strings.Count(told(), "gpusched:"); n != 1 {
		t.Errorf("bob is told %d times: %q", n, told())
	}
	for command, want := range map[string]string{
		"gpusched gpus":             "none, told at ",
		"gpusched health":           fmt.Sprintf("process %s of bob uses GPU 0, which job %d has; its user was told at ", pid, id),
		"journalctl -q -u gpusched": "told a user of processes on a job's GPU",
	} {
		if out := try(t, "", command).Stdout; !strings.Contains(out, want) {
			t.Errorf("%s does not say %q:\n%s", command, want, out)
		}
	}
	second := stranger(t, "bob", "stranger-2", "simcuda --mem 1G --hold 1000")
	poll(t, "a further process is noted", func() bool {
		return strings.Contains(sh(t, "alice", "gpusched gpus"), second)
	})
	sh(t, "", "systemctl stop stranger stranger-2")
	poll(t, "health has forgotten them", func() bool { return !strings.Contains(try(t, "", "gpusched health").Stdout, "strangers") })
}

// TestStrangersAreEnded: a message tells bob when bob's process will be ended, as the site's
// settings demand. At that time the process is ended, although it ignores SIGTERM. alice's job, a
// process of root and a desktop on the same GPU continue.
func TestStrangersAreEnded(t *testing.T) {
	begin(t)
	after := 4 * time.Second * the.slow
	settings(t, fmt.Sprintf(quickSampling+"\nstrangers = \"end\"\nstrangers_after = \"%s\"\n[jobs]\ndefault_grace = \"1s\"", after))
	gpusSeen(t)
	shown := logIn(t, "bob")
	id := submit(t, "alice", "--gpu-ids 0 -- simcuda --mem 5G --hold 1000")
	waitRun(t, id)
	roots := stranger(t, "root", "roots", "simcuda --mem 1G --hold 1000")
	sh(t, "", `echo 'echo "1073741824 kind=compute+graphics" >/run/fakenvml/claims/$$-0; exec sleep 1000' >/tmp/desktop.sh`)
	desktop := stranger(t, "bob", "desktop", "bash /tmp/desktop.sh")
	t.Cleanup(func() { sh(t, "", "rm -f /tmp/desktop.sh /run/fakenvml/claims/"+desktop+"-0") })
	began := time.Now()
	pid := stranger(t, "bob", "stranger", "simcuda --mem 8G --ignore-term --hold 1000")
	poll(t, "bob is told", func() bool { return strings.Contains(sh(t, "", "cat "+shown), "gpusched ends it at ") })
	if !strings.Contains(sh(t, "alice", "gpusched gpus"), "none, ends at ") {
		t.Errorf("gpus does not say when it ends: %s", sh(t, "alice", "gpusched gpus"))
	}
	poll(t, "the process is ended", func() bool { return try(t, "", "kill -0 "+pid).Code != 0 })
	if took := time.Since(began); took < after {
		t.Errorf("it is ended after %s", took)
	}
	sh(t, "", "kill -0 "+roots+" "+desktop)
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("alice's job is %s", j.State)
	}
	if n := strings.Count(sh(t, "", "cat "+shown), "gpusched:"); n != 1 {
		t.Errorf("bob is told %d times", n)
	}
	if out := sh(t, "", "journalctl -q -u gpusched | grep 'signalling a process of no job'"); strings.Count(out, "signal=15") != 1 || strings.Count(out, "signal=9") != 1 || !strings.Contains(out, "pid="+pid) {
		t.Errorf("the journal: %s", out)
	}
	if out := sh(t, "alice", "gpusched events"); !strings.Contains(out, fmt.Sprintf("bob was told: process %s uses GPU 0, which job %d has", pid, id)) ||
		!strings.Contains(out, "bob's use of a GPU without a job is being ended: process "+pid) {
		t.Errorf("events: %s", out)
	}
	cancel(t, "alice", id)
}
