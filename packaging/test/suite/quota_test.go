//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSchedulerQuotas: a job above a quota waits and says so, while other jobs pass it. A job that
// can never fit is refused, and so is a job that exceeds the allowed number of waiting jobs. A
// group's quota counts the jobs of all members together, even of a member whose process has dropped
// the group.
func TestSchedulerQuotas(t *testing.T) {
	begin(t)
	settings(t, `[quota.default]
gpus = 2
jobs = 3
queued = 2
[quota.group.lab]
gpus = 1`)
	mustFail(t, "bob", "gpusched submit -g 3 -- true", 6, "the quota of bob is 2")
	mustFail(t, "alice", "gpusched submit -g 2 -- true", 6, "lab is 1")
	mustFail(t, "", "cd /; setpriv --reuid alice --regid alice --clear-groups gpusched submit -g 2 -- true", 6, "lab is 1")
	two := submit(t, "bob", "-g 2 -- sleep 1000")
	third := submit(t, "bob", "-g 1 -- sleep 1000")
	hers := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, two)
	waitRun(t, hers)
	waitsFor(t, "bob", third, "bob has 0 of 2 left")
	half := submit(t, "alice", "-g 0.5 -- sleep 1000")
	waitsFor(t, "alice", half, "group lab has 0 of 1 left")
	without := []int64{submit(t, "bob", "-g 0 -- sleep 1000"), submit(t, "bob", "-g 0 -- sleep 1000")}
	fourth := submit(t, "bob", "-g 0 -- true")
	waitsFor(t, "bob", fourth, "bob has 3 jobs running, as many as the quota allows")
	mustFail(t, "bob", "gpusched submit -g 0 -- true", 8, "2 jobs waiting")
	cancel(t, "bob", two)
	waitRun(t, third)
	cancel(t, "bob", without...)
	mustEnd(t, wait(t, fourth), "completed", "exit code 0")
	cancel(t, "alice", hers)
	waitRun(t, half)
}

// TestSchedulerQuotaOfAGroupLater: a group's quota also counts jobs that were submitted before the
// quota was set, or before the daemon knew that their users are members.
func TestSchedulerQuotaOfAGroupLater(t *testing.T) {
	begin(t)
	settings(t, "[quota.default]\nqueued = 50")
	gpusSeen(t)
	const quota = "/etc/gpusched/conf.d/91-suite.toml"
	t.Cleanup(func() {
		sh(t, "", "rm -f "+quota+"; if [ -e /etc/group.kept ]; then mv /etc/group.kept /etc/group; fi; systemctl reload gpusched")
	})
	oneRuns := func(ids ...int64) {
		t.Helper()
		waitRun(t, ids[0])
		for _, id := range ids[1:] {
			poll(t, "the other jobs wait because of the group's quota", func() bool {
				return strings.Contains(askWhy(t, "alice", id), "group lab has 0 of 1 left")
			})
		}
	}
	runs := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, runs)
	waits := submit(t, "alice", "--hold -g 1 -- sleep 1000")
	sh(t, "", "printf '[quota.group.lab]\ngpus = 1\n' > "+quota+"; systemctl reload gpusched")
	sh(t, "alice", fmt.Sprintf("gpusched release %d", waits))
	oneRuns(runs, waits)
	sh(t, "", "systemctl restart gpusched")
	gpusSeen(t)
	oneRuns(runs, waits)
	cancel(t, "alice", runs, waits)

	sh(t, "", "cp -p /etc/group /etc/group.kept; sed -i /^lab:/d /etc/group")
	first, second := submit(t, "bob", "-g 4 -- sleep 1000"), submit(t, "alice", "-g 1 -- sleep 1000")
	third := submit(t, "alice", "-g 1 -- sleep 1000")
	sh(t, "", "mv /etc/group.kept /etc/group")
	cancel(t, "bob", first)
	oneRuns(second, third)
}

// TestAttackerParts: a user cannot spread parts of GPUs over the machine to keep whole GPUs from
// other users. The site sets the smallest part and the GPUs on which parts are allowed. If the user
// chooses the GPU, the part counts as a whole GPU in the user's quota.
func TestAttackerParts(t *testing.T) {
	begin(t)
	settings(t, `[gpus]
smallest_part = 0.1
parts_on = [0]
[quota.default]
gpus = 1`)
	gpusSeen(t)
	mustFail(t, "bob", "gpusched submit -g 0.01 --gpu-ids 0 -- sleep 1000", 8, "below this site's smallest, 0.1")
	mustFail(t, "bob", "gpusched submit -g 0.1 --gpu-ids 1 -- sleep 1000", 6, "gives parts of GPU 0 only")
	first := submit(t, "bob", "-g 0.1 --gpu-ids 0 -- sleep 1000")
	waitRun(t, first)
	next := submit(t, "bob", "-g 0.1 --spread -- sleep 1000")
	waitsFor(t, "bob", next, "bob has 0 of 1 left")
	hers := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, hers)
	cancel(t, "bob", first)
	waitRun(t, next)
}

// TestSchedulerClasses: a class has a time limit, which is also the default limit of its jobs.
// Scavengers are preemptible even if their users do not ask for that. Only administrators may use
// the class interactive, unless the site allows every user to raise a priority.
func TestSchedulerClasses(t *testing.T) {
	begin(t)
	settings(t, `[class.interactive]
max_time = "1h"
[class.scavenger]
max_time = "30m"`)
	mustFail(t, "bob", "gpusched submit -p scavenger -t 1h -- true", 8, "the longest of class scavenger, 30m")
	mustFail(t, "bob", "gpusched submit -p interactive -- true", 4, "only an administrator")
	mustFail(t, "", "gpusched submit -p interactive -t 2h -- true", 8, "the longest of class interactive, 1h")
	j := show(t, "bob", submit(t, "bob", "--hold -p scavenger -- true"))
	if j.TimeLimit.Duration() != 30*time.Minute || !j.Preemptible {
		t.Errorf("a scavenger that asks no limit: %s, preemptible %t", j.TimeLimit, j.Preemptible)
	}
	became := submit(t, "bob", "--hold -t 2h -- true")
	mustFail(t, "bob", "gpusched update @ -p scavenger", 8, "the longest of class scavenger, 30m")
	sh(t, "bob", "gpusched update @ -p scavenger -t 10m")
	if j := show(t, "bob", became); j.TimeLimit.Duration() != 10*time.Minute || !j.Preemptible {
		t.Errorf("a job that became a scavenger: %s, preemptible %t", j.TimeLimit, j.Preemptible)
	}
}
