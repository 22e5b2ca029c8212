//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// withScratch gives jobs scratch directories in /srv/scratch, and returns those of alice.
func withScratch(t *testing.T) (alice string) {
	t.Helper()
	begin(t)
	sh(t, "", "rm -rf /srv/scratch; mkdir -m 755 /srv/scratch")
	settings(t, "[jobs]\nscratch = \"/srv/scratch\"")
	return "/srv/scratch/u" + strings.TrimSpace(sh(t, "", "id -u alice"))
}

func isGone(t *testing.T, path string) {
	t.Helper()
	poll(t, path+" is removed", func() bool { return try(t, "", "[ ! -e "+path+" ]").Code == 0 })
}

// TestScratch: each start of a job has a directory of its own, which nobody else can open and which
// TMPDIR names. It is removed at the end, also if the daemon was killed meanwhile, and kept after a
// failure. What links in it name stays.
func TestScratch(t *testing.T) {
	home := withScratch(t)
	sh(t, "alice", "rm -rf ~/kept; mkdir ~/kept; touch ~/kept/file")
	id := submit(t, "alice", `-g 0 -e TMPDIR=/nonexistent/stale --retries 1 -- bash -c '
		stat -c "%U %a %n" $TMPDIR; [ $TMPDIR = $GPUSCHED_SCRATCH ] && mktemp; mkdir -p $TMPDIR/a/b; ln -s ~/kept $TMPDIR/a/link
		chmod 0 $TMPDIR/a; [ $GPUSCHED_ATTEMPT = 2 ]'`)
	mustEnd(t, wait(t, id), "completed", "")
	out := output(t, "alice", id)
	for n := 1; n <= 2; n++ {
		if dir := fmt.Sprintf("%s/%d.%d", home, id, n); !strings.Contains(out, "alice 700 "+dir+"\n"+dir+"/tmp.") {
			t.Errorf("attempt %d: %q", n, out)
		}
	}
	isGone(t, fmt.Sprintf("%s/%d.2", home, id))
	failed := fmt.Sprintf("%s/%d.1", home, id)
	if got := sh(t, "", "stat -c '%U %a' "+home+" "+failed+"; ls ~alice/kept"); got != "alice 700\nalice 700\nfile" {
		t.Errorf("of the failed attempt: %q", got)
	}

	id = submit(t, "alice", "-g 0 -- bash -c 'touch $TMPDIR/running; until [ -e ~/kept/end ]; do sleep 0.1; done'")
	dir := fmt.Sprintf("%s/%d.1", home, id)
	waitRun(t, id)
	if got := sh(t, "alice", fmt.Sprintf("gpusched exec %d -- sh -c 'ls $TMPDIR; echo $GPUSCHED_SCRATCH'; gpusched show %d", id, id)); !strings.Contains(got, "running\n"+dir+"\n") || !strings.Contains(got, "scratch     "+dir) {
		t.Errorf("exec and show: %s", got)
	}
	if got := sh(t, "bob", fmt.Sprintf("gpusched show %d", id)); strings.Contains(got, dir) {
		t.Errorf("bob sees %s", got)
	}
	sh(t, "", "systemctl kill --kill-whom main --signal KILL gpusched; touch ~alice/kept/end")
	mustEnd(t, wait(t, id), "completed", "")
	isGone(t, dir)

	settings(t, "[jobs]\nscratch = \"/srv/scratch\"\nscratch_keep = \"1s\"")
	id = submit(t, "alice", "-g 0 -- false")
	mustEnd(t, wait(t, id), "failed", "")
	isGone(t, fmt.Sprintf("%s/%d.1", home, id))
}

// TestScratchAttack: where others may write to the site's directory, neither a link nor a directory of
// bob's gets what belongs to alice. Jobs wait, and why and health say what is wrong.
func TestScratchAttack(t *testing.T) {
	home := withScratch(t)
	said := func(id int64, text string) {
		t.Helper()
		poll(t, "why says: "+text, func() bool { return strings.Contains(try(t, "alice", fmt.Sprintf("gpusched why %d", id)).Stdout, text) })
	}
	sh(t, "", "chmod 1777 /srv/scratch")
	sh(t, "bob", "rm -rf ~/trap; mkdir -m 777 ~/trap; ln -s ~/trap "+home)
	id := submit(t, "alice", "-g 0 -- sh -c 'echo secret >$TMPDIR/file; echo $TMPDIR'")
	said(id, "its scratch directory could not be made: "+home+": ")
	sh(t, "bob", "rm "+home+"; mkdir -m 777 "+home)
	said(id, "it belongs to uid")
	if got := sh(t, "", "ls ~bob/trap "+home+"; stat -c %U "+home); strings.Contains(got, ".1") || !strings.HasSuffix(got, "\nbob") {
		t.Errorf("bob's: %s", got)
	}
	sh(t, "bob", "rmdir "+home)
	mustEnd(t, wait(t, id), "completed", "")

	sh(t, "", "rm -r "+home+"; chmod 777 /srv/scratch")
	id = submit(t, "alice", "-g 0 -- true")
	const wrong = "others than root may write to /srv/scratch: make its mode 755"
	said(id, wrong)
	healthSays(t, wrong)
	sh(t, "", "chmod 755 /srv/scratch")
	mustEnd(t, wait(t, id), "completed", "")
}

// TestInContainerScratch: a container has the scratch directory of its job, and nothing of the
// container keeps it from being removed.
func TestInContainerScratch(t *testing.T) {
	beginContainer(t, "podman")
	home := withScratch(t)
	id := submit(t, "alice", "-g 0 --image box -- sh -c 'cat /etc/image; mktemp; touch $GPUSCHED_SCRATCH/file'")
	mustEnd(t, wait(t, id), "completed", "")
	dir := fmt.Sprintf("%s/%d.1", home, id)
	if got := output(t, "alice", id); !strings.Contains(got, "box\n"+dir+"/tmp.") {
		t.Errorf("it printed %q", got)
	}
	isGone(t, dir)
}

// TestScratchFull: on a full disk a job fails to start, and its result says why.
func TestScratchFull(t *testing.T) {
	withScratch(t)
	sh(t, "", "mount -t tmpfs -o nr_inodes=2,mode=755 scratch /srv/scratch") // room for alice's directory alone
	t.Cleanup(func() { try(t, "", "umount /srv/scratch") })
	id := submit(t, "alice", "-g 0 -- true")
	mustEnd(t, wait(t, id), "failed", "could not start: its scratch directory could not be made: no space left on device")
}
