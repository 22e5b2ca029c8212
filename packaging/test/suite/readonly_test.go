//go:build machine

package suite

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// These are commands that an administrator types to move the state to a separate disk, and back.
const (
	stopDaemon = "systemctl stop gpusched.socket gpusched.service; "
	mountDisk  = "mount -o loop,errors=remount-ro /state.img "
	ownDisk    = stopDaemon + "truncate -s 64M /state.img && mke2fs -q -t ext4 /state.img && " + mountDisk + "/mnt && cp -a " + stateDir + "/. /mnt && chmod 700 /mnt && umount /mnt && " +
		mountDisk + stateDir + " && " + startDaemon
	noDisk = stopDaemon + "cp -a " + stateDir + " /run/state; umount " + stateDir + "; cp -a /run/state/. " + stateDir + "; rm -rf /run/state /state.img; " + startDaemon
)

// A readOnlyCase describes how a disk becomes read-only and how it is repaired.
type readOnlyCase struct {
	name, fail string
	mend       string // command that repairs the disk; if empty, the machine loses power instead
	own        bool   // the state is on a separate disk
}

// In these cases a disk becomes read-only after an error (the mount has the option
// errors=remount-ro) or by a forced remount. After a forced remount, ext4 still accepts writes to
// open files and reports them as synced.
var turns = []readOnlyCase{
	{name: "an error", own: true, fail: "echo test > /sys/fs/ext4/$(basename $(findmnt -no SOURCE " + stateDir + "))/trigger_fs_error",
		mend: stopDaemon + "umount " + stateDir + " && " + mountDisk + stateDir + " && " + startDaemon},
	{name: "by force and back", fail: "echo u > /proc/sysrq-trigger", mend: "mount -o remount,rw /"},
	{name: "by force, and then a power cut", fail: "echo u > /proc/sysrq-trigger"},
}

// TestBootReadOnly: the kernel makes the disk of the state read-only while the daemon writes to it.
// From then on nothing is acknowledged, every user is told why, and running jobs continue. When the
// disk is back, the daemon knows everything that was acknowledged.
func TestBootReadOnly(t *testing.T) {
	for n, c := range turns {
		t.Run(c.name, func(t *testing.T) {
			begin(t)
			installLoadgen(t)
			if c.own {
				sh(t, "", ownDisk)
				t.Cleanup(func() { sh(t, "", noDisk) })
			}
			// The file is in memory, because all file systems on disk may become read-only.
			ends := submit(t, "alice", "-g 1 --no-requeue -- bash -c 'while [ ! -e /dev/shm/end ]; do sleep 0.2; done; exit 7'")
			t.Cleanup(func() { sh(t, "", "rm -f /dev/shm/end") })
			on := submit(t, "alice", "-g 1 -- sleep 1000")
			waitRun(t, ends)
			waitRun(t, on)
			l := &load{acked: map[string]int64{}}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			l.stream(ctx, t, "bob", "loadgen", "-hold", fmt.Sprint("held", n), "100000", "true")
			poll(t, "jobs are acknowledged", func() bool { return len(l.acknowledgedJobs()) > 10 })
			sh(t, "", c.fail)
			c.checkRefusals(t, l, on)
			sh(t, "", "touch /dev/shm/end")
			unitEnded(t, ends)
			stop()
			l.done.Wait()
			c.comesBack(t)
			checkKept(t, l.acknowledgedJobs())
			if j := wait(t, ends); c.mend != "" {
				mustEnd(t, j, "failed", "exit code 7")
			} else {
				mustEnd(t, j, "lost", "restarted while the job ran")
			}
			waitRun(t, on)
			if attempt := show(t, "", on).Attempt; attempt > 1 && c.mend != "" {
				t.Errorf("the job that ran is in attempt %d", attempt)
			}
			mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
			t.Logf("%d jobs were acknowledged before", len(l.acknowledgedJobs()))
		})
	}
}

// checkRefusals checks that the daemon acknowledges nothing more and still answers queries.
func (c readOnlyCase) checkRefusals(t *testing.T, l *load, on int64) {
	t.Helper()
	poll(t, "health says so", func() bool {
		text, code := health(t)
		return code == 1 && strings.Contains(text, "the state can't be written: ")
	})
	before := len(l.acknowledgedJobs())
	mustFail(t, "bob", "gpusched submit -g 0 -- true", 1, "can't write its state")
	if r := try(t, "bob", fmt.Sprintf("gpusched list && gpusched gpus && gpusched show %d", on)); r.Code != 0 || !strings.Contains(r.Stdout, "running") {
		t.Errorf("queries are not answered: %s%s", r.Stdout, r.Stderr)
	}
	if more := len(l.acknowledgedJobs()) - before; more > 0 {
		t.Errorf("%d jobs were acknowledged after health said that nothing can be written", more)
	}
}

// comesBack repairs the disk or reboots the machine.
func (c readOnlyCase) comesBack(t *testing.T) {
	t.Helper()
	if c.mend != "" {
		sh(t, "", c.mend)
	} else if err := the.PowerCut(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitDaemon(t)
	poll(t, "health is good again", func() bool { text, _ := health(t); return !strings.Contains(text, "can't be written") })
}
