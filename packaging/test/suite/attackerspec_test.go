//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttackerSpec: only the job's account can read a job's spec. No user can fill /run with the
// specs of the user's own jobs. A spec does not reveal how long the job's command and environment
// are.
func TestAttackerSpec(t *testing.T) {
	begin(t)
	sh(t, "", "rm -f /run/spec-*")
	id := submit(t, "bob", "-g 0 -- sleep 1000")
	large := submit(t, "bob", "-g 0 -e LARGE=$(head -c 5000 /dev/zero | tr '\\0' x) -- sleep 1000")
	waitRun(t, id)
	waitRun(t, large)
	spec := fmt.Sprintf("/run/gpusched/specs/%d.1", id)
	sh(t, "bob", "cat "+spec+" | grep -qa sleep")
	const used = "df --output=used -B1 /run | tail -1"
	before := sh(t, "", "sync; "+used)
	n := 0
	for _, attempt := range []string{
		"chmod 600 SPEC", "chmod 777 SPEC", "head -c 300M /dev/zero >> SPEC", "head -c 300M /dev/zero > SPEC", "truncate -s 300M SPEC", "fallocate -l 300M SPEC", "dd if=/dev/zero of=SPEC bs=1M count=300",
		"rm SPEC", "mv SPEC SPEC.x", "touch SPEC", "ln SPEC /run/spec-x", "ln SPEC /dev/shm/x", "chown bob SPEC", "chgrp bob SPEC", "chattr +i SPEC", "cp /dev/null SPEC.note", "mkdir SPEC.d",
		`python3 -c 'import os; os.setxattr("SPEC", "system.posix_acl_access", os.getxattr("SPEC", "system.posix_acl_access").replace(b"\1\0\6\0", b"\1\0\7\0"))'`,
		`python3 -c 'import os; os.setxattr("SPEC", "user.x", b"x" * 60000)'`, `python3 -c 'import os; os.setxattr("SPEC", "trusted.x", b"x")'`,
		`python3 -c 'import mmap; f = open("SPEC"); mmap.mmap(f.fileno(), 0)'`, `python3 -c 'import os; os.open("/proc/self/fd/%d" % os.open("SPEC", 0), 2)'`,
	} {
		if r := try(t, "bob", strings.ReplaceAll(attempt, "SPEC", spec)); r.Code == 0 {
			t.Errorf("bob may %q: %s", attempt, r.Stdout)
		}
		n++
	}
	for _, line := range []string{"cat SPEC", "grep -c . SPEC", "exec 5<SPEC", "getfacl -c SPEC >/dev/null && cat SPEC"} {
		if r := try(t, "alice", strings.ReplaceAll(line, "SPEC", spec)); r.Code == 0 {
			t.Errorf("alice may %q: %s", line, r.Stdout)
		}
		n++
	}
	t.Logf("%d attempts refused: the spec of one's own job", n)
	var had, has int64
	after := sh(t, "", "sync; "+used)
	if fmt.Sscan(before+" "+after, &had, &has); has > had || has == 0 { // other jobs may have freed some bytes
		t.Errorf("/run had %s bytes in use, and has %s", before, after)
	}
	sizes := sh(t, "alice", fmt.Sprintf("cd /run/gpusched/specs; stat -c '%%s %%b %%a %%U' %d.1 %d.1 | sort -u", id, large))
	if sizes != "16384 32 640 root" {
		t.Errorf("alice sees a difference between the specs of two jobs:\n%s", sizes)
	}
	heldOpen(t, spec, id)
	sh(t, "bob", fmt.Sprintf("gpusched cancel %d", large))
}

// heldOpen checks that the contents of a deleted spec do not stay in memory, even if a process
// still has the spec open.
func heldOpen(t *testing.T, spec string, id int64) {
	t.Helper()
	unit := fmt.Sprintf("systemd-run --quiet --collect --uid bob --unit spec-held bash -c 'exec 5<%s; touch /tmp/spec-held; sleep 1000'", spec)
	sh(t, "", "rm -f /tmp/spec-held; "+unit+"; until [ -e /tmp/spec-held ]; do sleep 0.1; done")
	defer sh(t, "", "systemctl stop spec-held; rm -f /tmp/spec-held")
	sh(t, "bob", fmt.Sprintf("gpusched cancel %d", id))
	wait(t, id)
	held := sh(t, "", "stat -L -c '%s %b' /proc/$(systemctl show -P MainPID spec-held)/fd/5")
	if held != "0 0" {
		t.Errorf("an open spec of an ended job still has %s", held)
	}
}
