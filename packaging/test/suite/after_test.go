//go:build machine

package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// TestSchedulerAfter: a job can wait until another job has started, ended or failed, until all
// earlier jobs have ended, or until all tasks of an array have ended.
func TestSchedulerAfter(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/log")
	mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- false")), "failed", "exit code 1")
	before := submit(t, "alice", "-g 0 --after-fail @ -- true")
	held := submit(t, "alice", "-g 0 --hold -- true")
	first, release := submitHold(t, "alice", "-g 0", "true")
	started := submit(t, "alice", fmt.Sprintf("-g 0 --after %d -- true", first))
	either := submit(t, "alice", fmt.Sprintf("-g 0 --after-any %d,%d -- true", first, held))
	failed := submit(t, "alice", fmt.Sprintf("-g 0 --after-fail %d -- true", first))
	array := submit(t, "alice", fmt.Sprintf("-g 0 --after %d --array 0-3%%2 -- bash -c 'echo $GPUSCHED_ARRAY_TASK >> ~/log'", first))
	all := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d --after-any %d -- bash -c 'echo last >> ~/log'", array, before))
	for _, id := range []int64{before, started, all} {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if got := sh(t, "alice", "sort ~/log | tr '\\n' ' '; tail -1 ~/log"); got != "0 1 2 3 last last" {
		t.Errorf("the array and the jobs that wait for it wrote %q", got)
	}
	if j := show(t, "", first); j.State != "running" {
		t.Errorf("the first job is %s", j.State)
	}
	waitsFor(t, "alice", either, fmt.Sprintf("waits until job %d has ended", first))
	sh(t, "", killDaemon)
	cancel(t, "alice", held)
	waitsFor(t, "alice", either, fmt.Sprintf("waits until job %d has ended", first))
	if told := askWhy(t, "alice", either); strings.Contains(told, fmt.Sprintf("job %d has", held)) {
		t.Errorf("it still waits for a cancelled job: %s", told)
	}
	release()
	mustEnd(t, wait(t, either), "completed", "exit code 0")
	mustEnd(t, wait(t, failed), "cancelled", fmt.Sprintf("job %d completed, so --after-fail %d can never be met", first, first))
}

// TestSchedulerLanes: jobs in a lane of one, and singletons, run one after the other, even after a
// crash of the daemon. A lane of the site bounds the jobs of all users.
func TestSchedulerLanes(t *testing.T) {
	begin(t)
	settings(t, "[lane.matlab]\njobs = 1")
	sh(t, "alice", `printf '#!/bin/bash\n#SBATCH --job-name=one --dependency=singleton\nsleep 1\n' > ~/one.sh`)
	first, release := submitHold(t, "alice", "-g 0 --lane matlab", "true")
	other := submit(t, "bob", "-g 0 --lane matlab -- true")
	one, free := submitHold(t, "bob", "-g 0 --lane sweep", "true")
	lanes := [][]int64{{first, other}, {one}, {}}
	for range 2 {
		lanes[1] = append(lanes[1], submit(t, "bob", "-g 0 --lane sweep -- true"))
		lanes[2] = append(lanes[2], submit(t, "alice", "~/one.sh"))
	}
	sh(t, "", killDaemon)
	waitsFor(t, "bob", other, fmt.Sprintf("the site's limit for lane matlab is 1 job at once, and job %d is in it", first))
	waitsFor(t, "bob", lanes[1][1], fmt.Sprintf("its limit for lane sweep is 1 job at once, and job %d is in it", one))
	release()
	free()
	for _, ids := range lanes {
		var runs []api.Job
		for _, id := range ids {
			runs = append(runs, wait(t, id))
			mustEnd(t, runs[len(runs)-1], "completed", "exit code 0")
		}
		slices.SortFunc(runs, func(a, b api.Job) int { return a.StartedAt.Compare(b.StartedAt) })
		for i := range runs[1:] {
			if runs[i+1].StartedAt.Before(runs[i].EndedAt) {
				t.Errorf("job %d starts at %s, before the end of job %d at %s", runs[i+1].ID, runs[i+1].StartedAt, runs[i].ID, runs[i].EndedAt)
			}
		}
	}
}

// TestSchedulerDrainUntil: a drain with an end time ends
// at that time, even if the daemon restarts before then.
func TestSchedulerDrainUntil(t *testing.T) {
	begin(t)
	on := submit(t, "alice", "--gpu-ids 1 -- sleep 1000")
	waitRun(t, on)
	sh(t, "", fmt.Sprintf("gpusched gpu drain 1 --reason fan --until +%ds", 4*the.slow))
	next := submit(t, "bob", "--gpu-ids 1 -- true")
	cancel(t, "alice", on)
	sh(t, "", "systemctl restart gpusched")
	poll(t, "GPU 1 is drained", func() bool { return strings.Contains(sh(t, "", "gpusched gpus"), "drained (fan, until ") })
	waitsFor(t, "bob", next, "drained by an administrator (fan)")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	if out := sh(t, "", "gpusched gpus"); strings.Contains(out, "drain") {
		t.Errorf("a GPU is still drained:\n%s", out)
	}
}
