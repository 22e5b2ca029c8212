//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const stateDir = "/var/lib/gpusched"

// startDaemon starts the daemon, even if many recent starts have reached systemd's start limit.
const startDaemon = "systemctl reset-failed gpusched.socket gpusched.service; systemctl start gpusched.socket gpusched.service"

// awaitDaemon waits until the daemon answers.
func awaitDaemon(t *testing.T) {
	t.Helper()
	poll(t, "the daemon answers", func() bool { return try(t, "alice", "gpusched version && gpusched list").Code == 0 })
}

// health returns the output and the exit status of 'gpusched health'.
func health(t *testing.T) (string, int) {
	t.Helper()
	r := try(t, "alice", "gpusched health")
	return r.Stdout + r.Stderr, r.Code
}

// TestCorruptStateFile: the daemon starts even if the state file is corrupt, in whatever way.
// Running jobs continue and end as they should, waiting jobs are lost, and every user is told.
func TestCorruptStateFile(t *testing.T) {
	for name, damage := range map[string]string{
		"a page":      "dd if=/dev/urandom of=state.db bs=1024 seek=8 count=24 conv=notrunc status=none",
		"the header":  "dd if=/dev/urandom of=state.db bs=64 count=1 conv=notrunc status=none",
		"cut off":     "truncate -s 20000 state.db",
		"emptied":     "truncate -s 0 state.db",
		"no database": "echo hello > state.db",
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			t.Cleanup(func() { sh(t, "", "rm -f "+stateDir+"/state.db.damaged-*") })
			sh(t, "alice", "rm -f ~/end ~/begun")
			whole := submit(t, "alice", "-g 1 --mem 1G --time 1h -n whole -- bash -c 'echo begun >> ~/begun; while [ ! -e ~/end ]; do sleep 0.05; done; exit 9'")
			part := submit(t, "bob", "-g 0.5 -- sleep 1000")
			waitRun(t, whole)
			waitRun(t, part)
			sh(t, "", fmt.Sprintf("gpusched update %d --time 2h; gpusched suspend %d", whole, part))
			lost := submit(t, "bob", "-g 4 -- true")
			was := show(t, "", whole)
			sh(t, "", "systemctl stop gpusched.socket gpusched.service; cd "+stateDir+"; "+damage+"; "+startDaemon)
			awaitDaemon(t)
			poll(t, "what ran is known again", func() bool {
				return try(t, "", fmt.Sprintf("gpusched show %d && gpusched show %d", whole, part)).Code == 0
			})
			is := show(t, "", whole)
			if is.State != "running" || is.InvocationID != was.InvocationID || is.User != "alice" || is.Name != "whole" || is.TimeLimit != was.TimeLimit || is.MemBytes != was.MemBytes {
				t.Errorf("the running job was %+v and is %+v", was, is)
			}
			if len(is.GPUs) != len(was.GPUs) || is.GPUs[0].UUID != was.GPUs[0].UUID || is.GPUs[0].Milli != was.GPUs[0].Milli {
				t.Errorf("it held %+v and holds %+v", was.GPUs, is.GPUs)
			}
			frozen := func() bool {
				return strings.TrimSpace(sh(t, "", fmt.Sprintf("systemctl show -P FreezerState gpujob-%d", part))) == "frozen"
			}
			if j := show(t, "", part); is.TimeLimit.Duration() != 2*time.Hour || j.SuspendedBy != "root" || !frozen() {
				t.Errorf("the limit is %s, and the other was suspended by %q", is.TimeLimit, j.SuspendedBy)
			}
			sh(t, "", fmt.Sprintf("gpusched resume %d", part))
			poll(t, "the other goes on", func() bool { return !frozen() })
			mustFail(t, "bob", fmt.Sprintf("gpusched show %d", lost), 3, "there is no job")
			if text, _ := health(t); !strings.Contains(text, "DEGRADED") || !strings.Contains(text, stateDir+"/state.db.damaged-") {
				t.Errorf("health: %s", text)
			}
			if told := sh(t, "", "journalctl -u gpusched -p err -o cat | tail -20"); !strings.Contains(told, "is damaged and was moved aside") {
				t.Errorf("the journal has %s", told)
			}
			if mode := sh(t, "", "stat -c '%a %U' "+stateDir+"/state.db.damaged-*Z"); mode != "600 root" {
				t.Errorf("the file that was set aside is %s", mode)
			}
			next := submit(t, "bob", "-g 3 -- true")
			if next <= lost {
				t.Errorf("after job %d comes job %d", lost, next)
			}
			if j := show(t, "", next); j.State != "queued" {
				t.Errorf("a job for 3 GPUs is %s while 2 are held", j.State)
			}
			sh(t, "alice", "touch ~/end")
			mustEnd(t, wait(t, whole), "failed", "exit code 9")
			mustEnd(t, wait(t, next), "completed", "exit code 0")
			cancel(t, "bob", part)
			if n := sh(t, "alice", "wc -l < ~/begun"); n != "1" {
				t.Errorf("the command began %s times", n)
			}
		})
	}
}

// TestNewerStateFile: the daemon does not treat the state file of a
// newer release as corrupt. It refuses the file and leaves it unchanged.
// Once the file has a known version again, the daemon works by itself.
func TestNewerStateFile(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	schema := sh(t, "", "systemctl stop gpusched.socket gpusched.service; cd "+stateDir+"; od -An -tx1 -j63 -N1 state.db | tr -d ' '; printf '\\x63' | dd of=state.db bs=1 seek=63 conv=notrunc status=none; md5sum state.db > /run/before; systemctl reset-failed gpusched.socket gpusched.service; systemctl --no-block start gpusched.socket gpusched.service")
	t.Cleanup(func() { sh(t, "", "rm -f /run/before") })
	poll(t, "the journal says so", func() bool {
		return strings.Contains(sh(t, "", "journalctl -u gpusched -p err -o cat | tail -5"), "newer release")
	})
	if text, code := health(t); code != 1 || !strings.Contains(text, "FAILING") || !strings.Contains(text, "newer release") || !strings.Contains(text, "put back the copy") {
		t.Errorf("health exits %d: %s", code, text)
	}
	mustFail(t, "bob", "gpusched submit -g 0 -- true", 1, "newer release")
	if was := sh(t, "", "systemctl is-active gpusched; systemctl show -P StatusText gpusched"); !strings.Contains(was, "newer release") || !strings.HasPrefix(was, "active") {
		t.Errorf("systemctl says %s", was)
	}
	if r := try(t, "", "cd "+stateDir+"; md5sum -c /run/before; ls state.db.damaged-* 2>/dev/null"); !strings.Contains(r.Stdout, "OK") || strings.Contains(r.Stdout, "damaged") {
		t.Errorf("the file was touched: %s", r.Stdout)
	}
	sh(t, "", "cd "+stateDir+"; printf '\\x"+schema+"' | dd of=state.db bs=1 seek=63 conv=notrunc status=none")
	awaitDaemon(t)
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("the job is %s", j.State)
	}
}

// TestStateDiskFull: jobs are acknowledged until the disk of the state is full. After that, new
// jobs are refused with the reason, and running jobs continue. The ends of these jobs are recorded
// as soon as there is room, without an administrator's help. If the daemon is killed, no
// acknowledged job is lost.
func TestStateDiskFull(t *testing.T) {
	begin(t)
	smallDisk(t)
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	ends, release := submitHold(t, "alice", "-g 1", "exit 7")
	waitRun(t, on)
	sh(t, "", "cd "+stateDir+"; cat /dev/zero > fill 2>/dev/null; truncate -s -1M fill")
	// Each job needs 120 kB of state, so that jobs soon fill the free room that jobs of other tests
	// may have left in the state file.
	first := try(t, "bob", "big=$(head -c 90000 /dev/urandom | base64 -w0); for i in $(seq 1000); do timeout 60 gpusched submit -q -g 4 -e BIG=$big -- true || exit; done")
	if first.Code != 1 || !strings.Contains(first.Stderr, "can't write its state") {
		t.Errorf("submit exits %d: %s", first.Code, first.Stderr)
	}
	acknowledged := strings.Fields(first.Stdout)
	if len(acknowledged) < 3 {
		t.Errorf("%d jobs were acknowledged before the first refusal: the test proves little", len(acknowledged))
	}
	release()
	unitEnded(t, ends)
	if text, code := health(t); code == 0 || !strings.Contains(text, "can't be written") {
		t.Errorf("health exits %d: %s", code, text)
	}
	mustFail(t, "bob", "gpusched submit -g 1 -- true", 1, "can't write its state")
	if r := try(t, "bob", "gpusched list && gpusched gpus && gpusched status"); r.Code != 0 {
		t.Errorf("queries are not answered: %s", r.Stderr)
	}
	if sub := sh(t, "", fmt.Sprintf("systemctl show -P ActiveState gpujob-%d", ends)); sub != "failed" {
		t.Errorf("the ended job's unit is %q, so its result was lost before it was recorded", sub)
	}
	sh(t, "", "cd "+stateDir+"; rm fill")
	mustEnd(t, wait(t, ends), "failed", "exit code 7")
	if j := show(t, "", on); j.State != "running" {
		t.Errorf("the running job is %s", j.State)
	}
	poll(t, "health is good again", func() bool { text, _ := health(t); return !strings.Contains(text, "can't be written") })
	anotherDaemon(t, killDaemon)
	awaitDaemon(t)
	for _, id := range acknowledged {
		if r := try(t, "bob", "gpusched show "+id); r.Code != 0 {
			t.Errorf("job %s was acknowledged and is gone: %s", id, r.Stderr)
		}
	}
	t.Logf("%d jobs were acknowledged before the first refusal", len(acknowledged))
	mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
}

// unitEnded waits until a job's command has exited with a status other than 0. The job's unit is
// then in the state "failed".
func unitEnded(t *testing.T, id int64) {
	t.Helper()
	poll(t, "the unit ended", func() bool {
		return strings.TrimSpace(try(t, "", fmt.Sprintf("systemctl show -P SubState gpujob-%d", id)).Stdout) == "failed"
	})
}

// TestStateDiskAtStart: a daemon that finds its disk read-only or missing at its start creates no
// new state. Jobs continue meanwhile. When the disk is back, the daemon knows everything, including
// the results of these jobs. After a failed mount an administrator must start the daemon, as with
// every unit that systemd no longer starts by itself.
func TestStateDiskAtStart(t *testing.T) {
	const unit = "/etc/systemd/system/var-lib-gpusched.mount"
	stop := "systemctl stop gpusched.socket gpusched.service; "
	for name, disk := range map[string]struct{ set, fail, mend, reset string }{
		// The reload ends the daemon. The daemon would also end by itself after ten seconds.
		"read-only": {
			set:  "mount --bind " + stateDir + " " + stateDir,
			fail: stop + "mount -o remount,bind,ro " + stateDir, mend: "mount -o remount,bind,rw " + stateDir + "; systemctl reload gpusched || true",
			reset: stop + "umount " + stateDir,
		},
		// The mount has a unit, as each line of fstab has. While the mount is missing, processes
		// see the directory below it, which is on another file system.
		"missing": {
			set: stop + "mkdir -p /run/disk/{lower,upper,work}; cp -a " + stateDir + "/. /run/disk/upper; chmod 700 /run/disk/upper; rm -rf " + stateDir + "/*; printf '[Mount]\\nWhat=overlay\\nType=overlay\\nWhere=" + stateDir +
				"\\nOptions=lowerdir=/run/disk/lower,upperdir=/run/disk/upper,workdir=/run/disk/work\\n' > " + unit + "; systemctl daemon-reload; " + startDaemon,
			fail: stop + "systemctl stop var-lib-gpusched.mount; mv /run/disk /run/away", mend: "mv /run/away /run/disk; systemctl reset-failed var-lib-gpusched.mount; " + startDaemon,
			reset: stop + "systemctl stop var-lib-gpusched.mount; rm -f " + unit + "; systemctl daemon-reload; cp -a /run/disk/upper/. " + stateDir + "; rm -rf /run/disk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			begin(t)
			sh(t, "", disk.set)
			t.Cleanup(func() { sh(t, "", disk.reset+"; "+startDaemon) })
			awaitDaemon(t)
			ends, release := submitHold(t, "alice", "-g 1", "exit 7")
			waits := submit(t, "bob", "-g 4 -- true")
			sh(t, "", disk.fail)
			try(t, "", "systemctl reset-failed gpusched.socket gpusched.service; systemctl start gpusched.socket; systemctl --no-block start gpusched.service")
			sh(t, "bob", "rm -f ~/unsaved; (timeout 8 gpusched submit -g 0 -- true; echo $? > ~/unsaved) > /dev/null 2>&1 &")
			release()
			unitEnded(t, ends)
			if made := sh(t, "", "ls "+stateDir); name == "missing" && made != "" {
				t.Errorf("a new state was created: %s", made)
			}
			var status string
			poll(t, "the submission without a disk ends", func() bool {
				status = try(t, "bob", "cat ~/unsaved").Stdout
				return status != ""
			})
			if status == "0\n" {
				t.Error("a job is acknowledged without a disk")
			}
			sh(t, "", disk.mend)
			awaitDaemon(t)
			mustEnd(t, wait(t, ends), "failed", "exit code 7")
			mustEnd(t, wait(t, waits), "completed", "exit code 0")
		})
	}
}

// TestFullAtStart: a daemon that starts on a full disk says so, and systemd does not restart it
// again and again. The daemon works as soon as there is room.
func TestFullAtStart(t *testing.T) {
	begin(t)
	smallDisk(t)
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	waits := submit(t, "bob", "-g 4 -- true")
	sh(t, "", "systemctl stop gpusched.socket gpusched.service; cd "+stateDir+"; cat /dev/zero > fill 2>/dev/null; truncate -s 0 state.db-wal; rm -f state.db-shm; "+startDaemon)
	pid := sh(t, "", "systemctl show -P MainPID gpusched")
	if text, code := health(t); code != 1 || !strings.Contains(text, "FAILING") || !strings.Contains(text, "free space") {
		t.Errorf("health exits %d: %s", code, text)
	}
	mustFail(t, "bob", "gpusched list", 1, "can't work")
	sh(t, "", "rm "+stateDir+"/fill")
	awaitDaemon(t)
	if is := sh(t, "", "systemctl show -P MainPID gpusched"); is != pid {
		t.Errorf("it was process %s and is %s", pid, is)
	}
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("the running job is %s", j.State)
	}
	cancel(t, "alice", id)
	mustEnd(t, wait(t, waits), "completed", "exit code 0")
}

// TestBadSettings: with a mistake in the settings, every restart fails. systemd then starts a
// daemon that reports the mistake. A reload that does not correct it fails too. As soon as a
// successful reload has ended, 'gpusched health' no longer reports the mistake.
func TestBadSettings(t *testing.T) {
	begin(t)
	const file = "/etc/gpusched/conf.d/91-bad.toml"
	t.Cleanup(func() { try(t, "", "rm -f "+file+"; systemctl reload gpusched") })
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; echo 'gpus.no_such_key = 1' > "+file)
	for range 2 {
		if r := try(t, "", "systemctl restart gpusched"); r.Code == 0 {
			t.Errorf("a restart with a mistake in the settings succeeds: %s", r.Stdout)
		}
		poll(t, "health says so", func() bool {
			text, code := health(t)
			return code == 1 && strings.Contains(text, "no_such_key") && strings.Contains(text, "gpusched config check")
		})
	}
	if text := sh(t, "", "systemctl status gpusched"); !strings.Contains(text, "no_such_key") {
		t.Errorf("systemctl status says\n%s", text)
	}
	if r := try(t, "", "systemctl reload gpusched"); r.Code == 0 {
		t.Error("a reload with the same mistake succeeds")
	}
	// A signal bypasses the check that a reload makes, so the daemon itself refuses the settings.
	began := sh(t, "", "date +%s")
	sh(t, "", "systemctl kill --kill-whom=main --signal=HUP gpusched")
	poll(t, "the audit log has a reload that failed", func() bool {
		return strings.Contains(sh(t, "", "journalctl -u gpusched --since @"+began), "action=reload target=settings outcome=failed")
	})
	for _, act := range []string{"rm " + file, "echo 'jobs.max_running = 33' > " + file, "rm " + file} {
		sh(t, "", act+"; systemctl reload gpusched; gpusched health > /tmp/after-reload; ! grep -E 'no_such_key|not those that were read|FAILING' /tmp/after-reload")
	}
	cancel(t, "alice", id)
	awaitDaemon(t)
}

// TestCorruptWhileRunning: the state file becomes corrupt while the daemon runs. Health reports
// this as soon as a read fails. When a request needs a part of the file that cannot be read or
// written, the daemon sets the file aside. Running jobs continue.
func TestCorruptWhileRunning(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "rm -f "+stateDir+"/state.db.damaged-*") })
	for range 30 {
		wait(t, submit(t, "bob", "-g 0 -- true"))
	}
	id := submit(t, "alice", "-g 1 -n kept -- sleep 1000")
	waitRun(t, id)
	sh(t, "", "systemctl restart gpusched; cd "+stateDir+"; n=$(($(stat -c %s state.db) / 1024 - 4)); dd if=/dev/urandom of=state.db bs=1024 seek=4 count=$n conv=notrunc status=none")
	poll(t, "health says so", func() bool {
		try(t, "bob", "gpusched list -a; for i in $(seq 30); do gpusched show $i; done")
		text, _ := health(t)
		return strings.Contains(text, "can't be read") || strings.Contains(text, "state.db.damaged-")
	})
	if j := show(t, "alice", id); j.State != "running" {
		t.Errorf("the running job is %s", j.State)
	}
	poll(t, "a submission sets the file aside", func() bool {
		return try(t, "bob", "timeout 20 gpusched submit -q -g 0 -- true").Code == 0 && try(t, "", "ls "+stateDir+"/state.db.damaged-*").Code == 0
	})
	poll(t, "what ran is known again", func() bool { return try(t, "", fmt.Sprintf("gpusched show %d", id)).Code == 0 })
	if j := show(t, "", id); j.State != "running" || j.Name != "kept" {
		t.Errorf("the running job: %+v", j)
	}
	if text, _ := health(t); !strings.Contains(text, "state.db.damaged-") || strings.Contains(text, "FAILING") {
		t.Errorf("health: %s", text)
	}
}

// smallDisk moves the state to a separate disk with 8 MiB of free space, until the test ends.
func smallDisk(t *testing.T) {
	t.Helper()
	sh(t, "", "systemctl stop gpusched.socket gpusched.service; cp -a "+stateDir+" /run/state; mount -t tmpfs -o size=$(($(du -sm /run/state | cut -f1) + 8))m,mode=700 small "+stateDir+" && cp -a /run/state/. "+stateDir+"/ && "+startDaemon)
	t.Cleanup(func() {
		sh(t, "", `cd /; mount -o remount,rw,size=64m `+stateDir+`; rm -f `+stateDir+`/fill; systemctl stop gpusched.socket gpusched.service; cp -a `+stateDir+`/. /run/state/; umount `+stateDir+`
cp -a /run/state/. `+stateDir+`/; rm -rf /run/state; `+startDaemon)
	})
	awaitDaemon(t)
}

// TestOlderStateDirectory: an older copy replaces the whole state directory. No job id is used
// twice, and no output is mixed with the output of another job.
func TestOlderStateDirectory(t *testing.T) {
	begin(t)
	const stop = "systemctl stop gpusched.socket gpusched.service; "
	t.Cleanup(func() { sh(t, "", "rm -rf /run/older") })
	submit(t, "alice", "-g 0 --wait -- true")
	sh(t, "", stop+"cp -a "+stateDir+" /run/older; "+startDaemon)
	awaitDaemon(t)
	var last int64
	for range 3 {
		last = submit(t, "alice", "-g 0 --wait -- echo alice")
	}
	poll(t, "the units that would show the ids are gone", func() bool {
		return sh(t, "", "systemctl list-units --all --plain --no-legend 'gpujob-*.service'") == ""
	})
	sh(t, "", stop+"rm -rf "+stateDir+"; cp -a /run/older "+stateDir+"; "+startDaemon)
	awaitDaemon(t)
	id := submit(t, "bob", "-g 0 --wait -- echo bob")
	if id != last+1 {
		t.Errorf("job %d comes after %d", id, last)
	}
	if out := sh(t, "", fmt.Sprintf("journalctl -q -o cat -u gpujob-%d", id)); strings.Contains(out, "alice") {
		t.Errorf("job %d has another job's output: %s", id, out)
	}
}

// TestOlderStateFileOfAnArray: an older copy replaces the state file. According to the copy, the
// tasks that now run have not started. None of these tasks starts a second time. The array counts
// them and continues with the remaining tasks.
func TestOlderStateFileOfAnArray(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "rm -rf /run/older") })
	sh(t, "alice", "rm -f ~/begun")
	array := submit(t, "alice", "-g 0 --hold --array 0-2%2 -- bash -c 'echo $GPUSCHED_ARRAY_TASK >> ~/begun; while [ ! -e ~/end ]; do sleep 0.05; done'")
	const stop = "systemctl stop gpusched.socket gpusched.service; cd " + stateDir + "; "
	sh(t, "", stop+"mkdir /run/older; cp -a state.db* /run/older/; "+startDaemon)
	awaitDaemon(t)
	begun := func() string { return sh(t, "alice", "sort -n ~/begun 2>/dev/null | xargs") }
	sh(t, "alice", fmt.Sprintf("gpusched release %d", array))
	poll(t, "two tasks run", func() bool { return begun() == "0 1" })
	sh(t, "", stop+"rm -f state.db*; cp -a /run/older/. .; "+startDaemon)
	awaitDaemon(t)
	poll(t, "the array knows its tasks", func() bool {
		j := show(t, "", array)
		return j.State == "queued" && j.Array.Live == 2
	})
	sh(t, "alice", fmt.Sprintf("gpusched release %d", array))
	submit(t, "alice", "-g 0 --wait -- true") // when this job ends, every task that can start has started
	if now := begun(); now != "0 1" {
		t.Errorf("only two tasks may run at a time, but these have begun: %s", now)
	}
	after := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- true", array))
	sh(t, "alice", "touch ~/end")
	mustEnd(t, wait(t, array), "completed", "exit code 0")
	mustEnd(t, wait(t, after), "completed", "exit code 0")
	if now := begun(); now != "0 1 2" {
		t.Errorf("these tasks have begun: %s", now)
	}
}

// loseState restarts the daemon without its state file. The function restore puts the file back.
func loseState(t *testing.T) (restore func()) {
	t.Helper()
	const away, stop = stateDir + ".away", "systemctl stop gpusched.socket gpusched; "
	sh(t, "", stop+"mkdir "+away+"; mv "+stateDir+"/state.db* "+away+"; "+startDaemon)
	return func() {
		t.Helper()
		sh(t, "", stop+"rm "+stateDir+"/state.db*; mv "+away+"/* "+stateDir+"; rmdir "+away+"; "+startDaemon)
	}
}
