//go:build machine

package suite

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// healthSays waits until the output of health contains the argument text. The test fails if a
// single answer takes too long.
func healthSays(t *testing.T, text string) {
	t.Helper()
	poll(t, "health says: "+text, func() bool {
		begin := time.Now()
		got, _ := health(t)
		if took := time.Since(begin); took > 20*time.Second*the.slow {
			t.Errorf("health took %v", took)
		}
		return strings.Contains(got, text)
	})
}

// TestHealthOfTheBus: while D-Bus is stopped or hangs, jobs continue, and new jobs are accepted and
// shown. Health says what is wrong. Waiting jobs start when D-Bus is back.
func TestHealthOfTheBus(t *testing.T) {
	const pid = `$(systemctl show -P MainPID dbus.service)`
	for name, c := range map[string]struct{ fail, tells, mend string }{
		"stopped": {"systemctl stop dbus.socket dbus.service", "no connection since", "systemctl start dbus.socket dbus.service"},
		"hangs":   {"kill -STOP " + pid, "does not answer over the system bus", "kill -CONT " + pid},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			on := submit(t, "alice", "-g 1 -- sleep 1000")
			waitRun(t, on)
			sh(t, "", c.fail)
			t.Cleanup(func() { try(t, "", c.mend) })
			healthSays(t, c.tells)
			if text, code := health(t); code != 9 || !strings.Contains(text, "systemctl status dbus") {
				t.Errorf("health exits %d: %s", code, text)
			}
			next := submit(t, "bob", "-g 1 -- true")
			if r := try(t, "alice", "timeout 10 gpusched list && timeout 10 gpusched gpus && timeout 10 gpusched status"); r.Code != 0 {
				t.Errorf("queries are not answered: %d %s", r.Code, r.Stderr)
			}
			if j := show(t, "bob", next); j.State == "completed" {
				t.Errorf("a job ran without systemd: %+v", j)
			}
			sh(t, "", c.mend)
			mustEnd(t, wait(t, next), "completed", "exit code 0")
			healthSays(t, "answers over the system bus")
			if j := show(t, "alice", on); j.State != "running" {
				t.Errorf("the job that ran is %s", j.State)
			}
		})
	}
}

// children returns the number of NVML processes.
func children(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(try(t, "", "pgrep -c -P $(systemctl show -P MainPID gpusched)").Stdout))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestHealthOfTheReader: the NVML program is missing, dies again and again, or hangs. (The program
// tail replaces it then, because tail prints nothing until its input ends.) GPU jobs wait, other
// jobs run, no processes accumulate, and the daemon recovers by itself.
func TestHealthOfTheReader(t *testing.T) {
	const bin = "/usr/libexec/gpusched/gpusched-nvml"
	away := "mv " + bin + " " + bin + ".away; "
	failed := regexp.MustCompile(`failed (\d+) times`)
	for name, c := range map[string]struct{ fail, says string }{
		"missing": {away, "no such file or directory"},
		"dies":    {away + "cp /bin/false " + bin + "; ", "exit status 1"},
		"hangs":   {away + "cp /usr/bin/tail " + bin + "; ", "no answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			settings(t, "[gpus]\nsample_interval = \"200ms\"\nsample_timeout = \"1s\"")
			awaitDaemon(t)
			on := submit(t, "alice", "-g 1 -- sleep 1000")
			waitRun(t, on)
			mend := func() { try(t, "", "[ ! -e "+bin+".away ] || mv "+bin+".away "+bin) }
			t.Cleanup(mend)
			sh(t, "", c.fail+"pkill -KILL -x gpusched-nvml || pkill -KILL -f ^"+bin)
			poll(t, "health says so", func() bool {
				text, code := health(t)
				return code == 9 && strings.Contains(text, "run nvidia-smi") && strings.Contains(text, c.says)
			})
			mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
			id := submit(t, "alice", "-g 1 -- true")
			most := 0
			poll(t, "four readers have failed", func() bool {
				most = max(most, children(t))
				text, _ := health(t)
				n := failed.FindStringSubmatch(text)
				return n != nil && (len(n[1]) > 1 || n[1] >= "4")
			})
			if most > 3 {
				t.Errorf("%d readers at once", most)
			}
			if j := show(t, "alice", id); j.State != "queued" {
				t.Errorf("a job is %s while the GPUs are unknown", j.State)
			}
			mend()
			mustEnd(t, wait(t, id), "completed", "exit code 0")
			if j := show(t, "alice", on); j.State != "running" {
				t.Errorf("the job that ran is %s", j.State)
			}
			healthSays(t, "4 of 4 GPUs answer")
		})
	}
}

// TestHealthOfTheDriver: calls into the driver never return, so that even SIGKILL does not end the
// NVML process. Only a few such processes get stuck, the state of the GPUs is unknown, and
// everything else works. When the driver recovers, the stuck processes end and GPU jobs start.
func TestHealthOfTheDriver(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"200ms\"\nsample_timeout = \"1s\"")
	awaitDaemon(t)
	driver, thaw := freezer(t, "driver")
	const stop = "systemctl stop freeze; "
	t.Cleanup(func() { try(t, "", stop+"rm -f /run/freeze.sh") })
	sh(t, "", "echo FROZEN > "+driver+`/freezer.state; cat > /run/freeze.sh <<'END'
while :; do for p in $(pgrep -f -P $(systemctl show -P MainPID gpusched) gpusched-nvml); do echo $p > `+driver+`/cgroup.procs; done; sleep 0.01; done 2>/dev/null
END
systemd-run -q --unit freeze bash /run/freeze.sh`)
	healthSays(t, "too many killed children still hang in the driver")
	id := submit(t, "alice", "-g 1 -- true")
	mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
	if n := children(t); n > 3 {
		t.Errorf("%d readers hang in the driver", n)
	}
	if j := show(t, "alice", id); j.State != "queued" {
		t.Errorf("a job is %s while the GPUs are unknown", j.State)
	}
	sh(t, "", stop+thaw)
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if n := children(t); n > 1 {
		t.Errorf("%d readers are left", n)
	}
}

// TestDoctor: 'gpusched doctor' reports its findings on a healthy machine. If the daemon does not
// answer, the doctor still reports what is broken.
func TestDoctor(t *testing.T) {
	begin(t)
	doctor := func(user string) (string, int) {
		r := try(t, user, "gpusched doctor")
		return r.Stdout + r.Stderr, r.Code
	}
	text, code := doctor("alice")
	if code == 1 || !strings.Contains(text, "the scheduler answers") || !strings.Contains(text, "each job proves it by") {
		t.Errorf("doctor exits %d: %s", code, text)
	}
	t.Logf("on a sound machine doctor exits %d:\n%s", code, text)
	sh(t, "", "mkdir -p /etc/systemd/system/gpujob-.service.d; echo -e '[Service]\nPrivateDevices=yes' > /etc/systemd/system/gpujob-.service.d/bad.conf; rm /dev/gpusched-probe")
	t.Cleanup(func() {
		sh(t, "", "rm -f /etc/systemd/system/gpujob-.service.d/bad.conf; systemd-tmpfiles --create gpusched.conf")
	})
	text, code = doctor("alice")
	for _, want := range []string{"bad.conf:2 sets PrivateDevices", "/dev/gpusched-probe is not there", "systemd-tmpfiles --create"} {
		if code != 9 || !strings.Contains(text, want) {
			t.Errorf("doctor exits %d without %q: %s", code, want, text)
		}
	}
	sh(t, "", "gpusched gpu pause 2 --reason fan")
	if text, _ := doctor("bob"); !strings.Contains(text, "paused by root (fan)") {
		t.Errorf("a paused GPU: %s", text)
	}
	sh(t, "", "chmod 600 /etc/gpusched/gpusched.toml")
	t.Cleanup(func() { sh(t, "", "chmod 644 /etc/gpusched/gpusched.toml") })
	if text, _ := doctor("bob"); !strings.Contains(text, "UNKNOWN") {
		t.Errorf("with settings that bob may not read: %s", text)
	}
	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	if text, code := doctor("bob"); code != 1 || !strings.Contains(text, "systemctl status gpusched.socket") || !strings.Contains(text, "drop-ins") {
		t.Errorf("without a scheduler doctor exits %d: %s", code, text)
	}
	if r := try(t, "bob", "gpusched health"); r.Code != 5 {
		t.Errorf("without a scheduler health exits %d", r.Code)
	}
}
