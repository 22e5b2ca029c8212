//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSchedulerDedup: with --dedup, a job is not queued again while it waits or runs, or after it
// has completed, even after a crash of the daemon. A job that has failed is queued again, and a job
// that differs is queued too.
func TestSchedulerDedup(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/end; printf '#!/bin/bash\\nwhile [ ! -e ~/end ]; do sleep 0.05; done\\nexit $1\\n' > ~/gate; chmod +x ~/gate")
	again := func(args string) int64 { return submit(t, "alice", "--dedup -g 0 "+args) }
	good, bad := again("-- ./gate 0"), again("-- ./gate 1")
	waitRun(t, good)
	if id := again("-- ./gate 0"); id != good {
		t.Errorf("a job that runs is queued again as %d", id)
	}
	if out := sh(t, "alice", "gpusched submit --dedup -g 0 -- ./gate 0"); !strings.Contains(out, fmt.Sprintf("job %d is the same and is running: nothing queued", good)) {
		t.Errorf("submit says %q", out)
	}
	sh(t, "", killDaemon)
	other := again("-e A=1 -- ./gate 0")
	if id := again("-- ./gate 1"); id != bad || other == good {
		t.Errorf("after a crash: the same is %d, was %d; another is %d", id, bad, other)
	}
	if id := submit(t, "bob", "--dedup -g 0 --hold -C ~alice -- ./gate 0"); id == good {
		t.Error("bob's job counts as alice's")
	}
	sh(t, "alice", "touch ~/end")
	mustEnd(t, wait(t, good), "completed", "exit code 0")
	mustEnd(t, wait(t, bad), "failed", "exit code 1")
	if id := again("-- ./gate 0"); id != good {
		t.Errorf("a job that completed is queued again as %d", id)
	}
	if id := again("-- ./gate 1"); id == bad {
		t.Error("a job that failed is not queued again")
	}
}

// TestSchedulerWarning: a job is warned some time before its time limit, so that it can save its
// work. At the limit, a job with --on-timeout requeue is queued again.
func TestSchedulerWarning(t *testing.T) {
	begin(t)
	limit, before := 6*time.Second*the.slow, 3*time.Second*the.slow // a slow start takes less than the first half
	times := fmt.Sprintf("-g 0 -t %s --signal USR1@%s ", limit, before)
	const saves = `bash -c 'trap "echo saved; trap - USR1" USR1; echo armed; [ $GPUSCHED_ATTEMPT = 1 ] || exit 0; while :; do sleep 0.1; done'`
	killed := submit(t, "alice", times+"--grace 1s -- "+saves)
	requeued := submit(t, "alice", times+"--grace 1s --on-timeout requeue -- "+saves)
	j := wait(t, killed)
	mustEnd(t, j, "timed-out", "stopped at its time limit")
	if ran := j.EndedAt.Sub(j.StartedAt); ran < limit {
		t.Errorf("it ended after %s, before its limit", ran)
	}
	j = wait(t, requeued)
	mustEnd(t, j, "completed", "exit code 0")
	if j.Attempt != 2 || j.Requeues != 1 {
		t.Errorf("attempt %d, requeues %d", j.Attempt, j.Requeues)
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d", requeued)); strings.Count(out, ", ended ") != 2 || !strings.Contains(out, "stopped at its time limit") {
		t.Errorf("show does not list the attempts:\n%s", out)
	}
	for _, id := range []int64{killed, requeued} {
		if out := output(t, "alice", id); strings.Count(out, "saved") != 1 {
			t.Errorf("job %d was not warned once: %s", id, out)
		}
	}
}
