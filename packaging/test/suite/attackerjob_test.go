//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestAttackerJob: a job cannot reach other GPUs, control groups, processes and accounts, nor the
// files of other accounts, not even as root of its own namespaces.
func TestAttackerJob(t *testing.T) {
	victim, pid := attacker(t)
	id := submit(t, "bob", fmt.Sprintf("--gpu-ids 0 -- %s inside %d %s", attackerPath, victim, pid))
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	out := waitText(t, id, "notifications")
	judge(t, out, 550)
	if strings.Contains(out, "very-secret") || strings.Contains(out, "hush-hush") {
		t.Errorf("bob's job reads alice's secrets")
	}
}

// TestAttackerUnits: unit names, the service manager and
// the journal give no user access to another user's job.
func TestAttackerUnits(t *testing.T) {
	victim, pid := attacker(t)
	unit := fmt.Sprintf("gpujob-%d.service", victim)
	lines := strings.Split(strings.NewReplacer("UNIT", unit, "PID", pid).Replace(`systemctl stop UNIT
systemctl kill UNIT
systemctl restart UNIT
systemctl freeze UNIT
systemctl reset-failed UNIT
systemctl set-property UNIT DeviceAllow="/dev/nvidia2 rw"
systemctl set-property --runtime UNIT MemoryMax=1
systemctl edit --full --runtime UNIT
systemctl mask --runtime UNIT
systemctl stop gpujobs.slice
systemctl stop gpujobs-u1001.slice
systemctl kill gpujobs.slice
systemctl stop gpusched
systemctl stop gpusched.socket
systemctl reload gpusched
systemctl daemon-reload
systemctl daemon-reexec
systemctl link /home/bob/gpujob-9999.service
systemd-run --unit gpujob-9999 --slice gpujobs.slice true
systemd-run --uid 1001 true
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss UNIT replace
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager KillUnit ssi UNIT all 9
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit ssa(sv)a(sa(sv)) gpujob-9999.service fail 0 0
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager SetUnitProperties sba(sv) UNIT true 0
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager AttachProcessesToUnit ssau UNIT / 1 PID
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager RefUnit s UNIT
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager CleanUnit sas UNIT 1 all
journalctl --rotate
chrt -f -p 1 PID
renice -n 19 -p PID
kill -STOP PID`), "\n")
	for _, line := range lines {
		if r := try(t, "bob", "SYSTEMD_ASK_PASSWORD=0 timeout 20 "+line+" </dev/null"); r.Code == 0 {
			t.Errorf("bob may %q: %s%s", line, r.Stdout, r.Stderr)
		}
	}
	t.Logf("%d attempts refused: the service manager's words", len(lines))
	if out := try(t, "", "systemctl list-units --all --no-legend 'gpujob-9999*'; ls /run/systemd/transient").Stdout; strings.Contains(out, "9999") {
		t.Errorf("a unit of bob's own is there: %s", out)
	}
	forge := fmt.Sprintf("logger --journald <<'END'\nMESSAGE=forged-line\nSYSLOG_IDENTIFIER=gpujob-%d\n_SYSTEMD_UNIT=%s\nUNIT=%s\nOBJECT_SYSTEMD_UNIT=%s\n_UID=1001\nGPUSCHED_JOB=%d\nEND", victim, unit, unit, unit, victim)
	sh(t, "bob", forge+"\nlogger -t gpuschedd forged-line; logger -t gpujob-"+fmt.Sprint(victim)+" forged-line")
	awaitJournal(t)
	for user, cmd := range map[string]string{"": "gpusched logs %d", "alice": "gpusched logs %d; journalctl -q -u gpujob-%[1]d"} {
		if out := try(t, user, fmt.Sprintf(cmd, victim)).Stdout; strings.Contains(out, "forged-line") {
			t.Errorf("%s reads bob's line as the job's: %s", who(user), out)
		}
	}
	if out := sh(t, "", "journalctl -q -u gpusched -o cat --since -1min"); strings.Contains(out, "forged-line") {
		t.Errorf("bob's line is attributed to the daemon")
	}
}

// TestAttackerCommands: no command lets bob act on another
// user's job, or on a GPU without the rights for that.
func TestAttackerCommands(t *testing.T) {
	victim, _ := attacker(t)
	array := submit(t, "alice", "-g 0 --hold -n array --array 0-3 -- sleep 987651234")
	waiting := submit(t, "alice", "-g 0 --hold -- true")
	n := 0
	for _, id := range []string{fmt.Sprint(victim), fmt.Sprint(array), fmt.Sprintf("%d_2", array), fmt.Sprint(waiting)} {
		for _, cmd := range []string{"cancel", "cancel --signal USR1", "hold", "release", "requeue", "update --priority low", "update --name mine", "update --hold"} {
			r := try(t, "bob", "gpusched "+cmd+" "+id+" </dev/null")
			if r.Code != 4 && r.Code != 2 {
				t.Errorf("bob: %s %s exits %d: %s%s", cmd, id, r.Code, r.Stdout, r.Stderr)
			}
			n++
		}
	}
	for _, cmd := range []string{"gpu pause 0", "gpu resume 0", "gpu drain 0 --reason x", "gpu undrain 0", "reserve make --gpus 0 --for 1h", "reserve cancel 1", "submit -p high -- true", "submit -p interactive -- true"} {
		mustFail(t, "bob", "gpusched "+cmd+" </dev/null", 4, "admin")
		n++
	}
	for _, cmd := range []string{"show --json %d", "why %d", "list -a --json", "list -a -o csv", "list -o wide", "status --json", "gpus --json", "health", "wait --timeout 1 %d", "logs %d", "show --json " + fmt.Sprint(array)} {
		if strings.Contains(cmd, "%d") {
			cmd = fmt.Sprintf(cmd, victim)
		}
		r := try(t, "bob", "gpusched "+cmd)
		for _, secret := range []string{"hush-hush", "987651234", "TOKEN", "/home/alice", "private"} {
			if strings.Contains(r.Stdout+r.Stderr, secret) {
				t.Errorf("bob reads %q with %q: %s", secret, cmd, r.Stdout)
			}
		}
		n++
	}
	t.Logf("%d attempts refused: commands on another's jobs", n)
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d %d", array, waiting))
}

// TestAttackerStopping: jobs tell systemd that they are stopping and extend their timeout, while
// the test keeps systemd busy. These jobs still count as running, delay no start of another job,
// and end when they should.
func TestAttackerStopping(t *testing.T) {
	attacker(t)
	noise := "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Dump >/dev/null"
	sh(t, "", "systemd-run --quiet --collect --unit noise --uid bob bash -c 'for i in 1 2; do while :; do "+noise+"; done & done; wait'")
	t.Cleanup(func() { sh(t, "", "systemctl stop noise") })
	array := submit(t, "bob", "-g 0 --array 0-15 --grace 5m -- "+attackerPath+" stopping")
	// If a start waited for these jobs to end, it would take 90 s.
	if r := try(t, "alice", "timeout 60 gpusched submit --wait -g 0 -- true"); r.Code != 0 {
		t.Errorf("alice's job meanwhile: exit %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	poll(t, "all tasks are seen running", func() bool {
		n := 0
		for _, j := range list(t, fmt.Sprint(array)) {
			if int64(j.ID) != array && j.State == "running" {
				n++
			}
		}
		return n == 16
	})
	version := systemdVersion(t)
	heard := strings.Contains(sh(t, "", "systemctl list-units --no-legend 'gpujob-*'"), "stop-sigterm")
	if heard != (version < 254) {
		t.Errorf("systemd %d accepts notifications of commands: %t", version, heard)
	}
	limited := submit(t, "bob", "-g 0 -t 3s --grace 1s -- "+attackerPath+" stopping")
	stopped := submit(t, "bob", "-g 0 --grace 1s -- "+attackerPath+" stopping")
	waitRun(t, stopped)
	mustEnd(t, wait(t, limited), "timed-out", "3s")
	cancel(t, "bob", stopped)
	sh(t, "bob", fmt.Sprintf("gpusched cancel %d", array))
	sh(t, "", "pkill -KILL -u bob -x attacker") // it would take too long to wait until the tasks' grace is over
	wait(t, array)
}

// startEscape starts a job of bob's on GPU 0. A script in the job starts a process that uses the
// GPU. The script asks PID 1 to move itself and that process into bob's user manager, as
// 'systemd-run --user --scope' does, and then tries to open another GPU. startEscape returns the
// job and the pid of the process on the GPU.
func startEscape(t *testing.T) (id int64, pid string) {
	t.Helper()
	sh(t, "", "systemctl start user@1002.service; rm -f /home/bob/escape*")
	sh(t, "bob", `cat > ~/escape.sh <<'END'
#!/bin/bash
simcuda --mem 2G --hold 4242 & p=$!
while [ ! -e ~/escape.go ]; do sleep 0.05; done
busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager AttachProcessesToUnit ssau user@1002.service /init.scope 2 $$ $p >/dev/null
cat /proc/$p/cgroup > ~/escape.where
(exec 3</dev/nvidia2) 2> ~/escape.open
echo $p > ~/escape.pid
wait
END
chmod +x ~/escape.sh`)
	id = submit(t, "bob", "-g 1 --gpu-ids 0 --env clean -- bash -c 'setsid ~/escape.sh & sleep 1000'")
	waitRun(t, id)
	poll(t, "it shows on the GPU", func() bool { return len(processesOn(t, 0)) == 1 })
	sh(t, "bob", "touch ~/escape.go")
	poll(t, "it has moved", func() bool { return try(t, "", "test -s /home/bob/escape.pid").Code == 0 })
	pid = sh(t, "", "cat /home/bob/escape.pid")
	if out := sh(t, "", "cat /home/bob/escape.where"); !strings.Contains(out, "user@1002.service") {
		t.Errorf("it is in %s", out)
	}
	return id, pid
}

// TestAttackerEscape: a process that has left the unit of its job still counts as part of the job.
// The process is killed before another job gets the GPU.
func TestAttackerEscape(t *testing.T) {
	begin(t)
	id, pid := startEscape(t)
	t.Cleanup(func() { try(t, "", "kill -KILL "+pid) })
	poll(t, "it is a stray", func() bool {
		list := processesOn(t, 0)
		return len(list) == 1 && list[0].Job == job.ID(id) && list[0].Stray
	})
	next := submit(t, "alice", "-g 1 --gpu-ids 0 -- bash -c 'kill -0 "+pid+" 2>&1 | grep -q \"No such\"; echo $?'")
	cancel(t, "bob", id)
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	if out := waitText(t, next, "0"); strings.TrimSpace(out) != "0" {
		t.Errorf("the next job got the GPU while the process was still there: %s", out)
	}
	if j := show(t, "bob", id); !strings.Contains(j.Result.Sentence, "process "+pid+" had left its unit, still used GPU 0 and was ended") {
		t.Errorf("the job says %q", j.Result.Sentence)
	}
}

// TestAttackerEscapeIsKept: with strays = "keep", a GPU stays out of service while a process that
// has left its job still uses the GPU.
func TestAttackerEscapeIsKept(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nstrays = \"keep\"\ncleaning_timeout = \"2s\"\nsample_interval = \"200ms\"")
	awaitDaemon(t)
	id, pid := startEscape(t)
	t.Cleanup(func() { try(t, "", "kill -KILL "+pid) })
	cancel(t, "bob", id)
	next := submit(t, "alice", "-g 1 --gpu-ids 0 -- true")
	poll(t, "the GPU is suspect", func() bool { return strings.Contains(gpuLine(t, 0), "suspect") })
	waitsFor(t, "alice", next, fmt.Sprintf("process %s of job %d, which has ended, still runs on it", pid, id))
	if text, _ := health(t); !strings.Contains(text, fmt.Sprintf("end process %s of bob, of job %d", pid, id)) {
		t.Errorf("health: %s", text)
	}
	sh(t, "", "kill "+pid)
	mustEnd(t, wait(t, next), "completed", "exit code 0")
}

// TestAttackerContainer: a process on a job's GPU runs outside the job's unit, under a subordinate
// uid of the job's user. The process counts as part of the job, and is killed before another job
// gets the GPU.
func TestAttackerContainer(t *testing.T) {
	begin(t)
	t.Cleanup(func() { try(t, "", "sed -i /^bob:400000000:/d /etc/subuid; systemctl restart gpusched") })
	sh(t, "", "echo bob:400000000:65536 >> /etc/subuid")
	settings(t, quickSampling)
	sh(t, "", "systemctl restart gpusched") // without a restart, the daemon reads /etc/subuid only every 10 s
	id := submit(t, "bob", "-g 1 --gpu-ids 0 -- sleep 1000")
	waitRun(t, id)
	pid := strings.TrimSpace(sh(t, "", "setpriv --reuid 400000100 --regid 400000100 --clear-groups sleep 1000 >/dev/null 2>&1 & echo $!"))
	t.Cleanup(func() { try(t, "", "kill -KILL "+pid) })
	sh(t, "", "echo '1073741824 kind=compute' > /run/fakenvml/claims/"+pid+"-0")
	poll(t, "it is a stray of bob's", func() bool {
		list := processesOn(t, 0)
		return len(list) == 1 && list[0].Job == job.ID(id) && list[0].Stray && list[0].User == "bob (uid 400000100)"
	})
	next := submit(t, "alice", "-g 1 --gpu-ids 0 -- true")
	cancel(t, "bob", id)
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	if j := show(t, "bob", id); !strings.Contains(j.Result.Sentence, "process "+pid+" had left its unit, still used GPU 0 and was ended") {
		t.Errorf("the job says %q", j.Result.Sentence)
	}
}

// TestClosedSessions: with the package's drop-ins, login sessions, cron, at and processes that left
// a job cannot open a GPU. Root's sessions still can. Access to other devices does not change.
// Without the drop-ins, all sessions and processes can open GPUs, as the manual says.
func TestClosedSessions(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	const (
		on     = "cp -rs /usr/share/gpusched/fence/. /etc/systemd/system/ && systemctl daemon-reload"
		off    = "rm /etc/systemd/system/*.d/50-gpusched-fence.conf && systemctl daemon-reload"
		nodes  = "/dev/nvidia0 /dev/nvidia3 /dev/nvidiactl /dev/gpusched-probe"
		closed = "Operation not permitted"
	)
	t.Cleanup(func() {
		try(t, "", off+"; systemctl stop user@1002.service user-1002.slice cron atd; rm /run/systemd/system/cron.service /run/systemd/system/atd.service; systemctl daemon-reload")
	})
	for _, s := range []string{"cron", "atd"} {
		sh(t, "", fmt.Sprintf("printf '[Service]\nType=oneshot\nUser=bob\nExecStart=/bin/bash /home/bob/tries /home/bob/%s.out\n' > /run/systemd/system/%[1]s.service", s))
	}
	sh(t, "bob", "echo 'for f in "+nodes+" /dev/null /dev/zero /dev/ptmx; do e=$( (exec 3<>$f) 2>&1 ); echo \"$f ${e##*: }\"; done > $1' > ~/tries")
	sh(t, "", "systemctl daemon-reload; systemctl start user@1002.service")
	opens := func(in string) string {
		switch in {
		case "cron", "atd":
			sh(t, "", "systemctl start "+in)
		case "root":
			sh(t, "", "systemd-run -q --wait --slice user-0.slice bash /home/bob/tries /home/bob/root.out")
		default:
			sh(t, "", "systemd-run -q --wait --slice user-1002.slice --uid bob bash /home/bob/tries /home/bob/session.out")
		}
		return sh(t, "", "cat /home/bob/"+in+".out")
	}
	check := func(fenced bool) {
		t.Helper()
		for _, in := range []string{"session", "cron", "atd", "root"} {
			out := opens(in)
			want := 0
			if fenced && in != "root" {
				want = len(strings.Fields(nodes))
			}
			if got := strings.Count(out, closed); got != want || !strings.HasSuffix(out, "/dev/null \n/dev/zero \n/dev/ptmx ") {
				t.Errorf("%s, drop-ins %t: %d nodes are closed, want %d:\n%s", in, fenced, got, want, out)
			}
		}
	}
	check(false)
	id, pid := startEscape(t)
	if out := sh(t, "", "cat /home/bob/escape.open"); strings.Contains(out, closed) {
		t.Errorf("without the drop-ins: %s", out)
	}
	cancel(t, "bob", id)
	poll(t, "the process that left the job has ended", func() bool { return try(t, "", "kill -0 "+pid).Code != 0 })
	sh(t, "", on)
	check(true)
	id, _ = startEscape(t)
	if out := sh(t, "", "cat /home/bob/escape.open"); !strings.Contains(out, closed) {
		t.Errorf("a process that left its job opens another GPU: %s", out)
	}
	cancel(t, "bob", id)
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- bash -c '(exec 3</dev/nvidia$GPUSCHED_GPU_IDS) 2>&1 | grep -q \"No such device\"'")), "completed", "exit code 0")
	sh(t, "", off+"; systemctl stop user@1002.service; systemctl stop user-1002.slice")
	sh(t, "", "systemctl start user@1002.service")
	check(false)
}
