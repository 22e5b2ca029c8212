//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSuspendAndProlong: a suspended job keeps its GPU but does not run, even across a crash of the
// daemon. The suspension does not count towards the job's time limit. If a suspended job is
// cancelled, it still gets its grace. The time limit of a running job can be changed.
func TestSuspendAndProlong(t *testing.T) {
	begin(t)
	const ticks = `-g 1 -t 1h --grace 5s -- bash -c 'trap "echo farewell; exit 3" TERM; n=0; while :; do n=$((n+1)); echo $n > ~/ticks; sleep 0.05; done'`
	id := submit(t, "alice", ticks)
	waitRun(t, id)
	count := func() string { return strings.TrimSpace(sh(t, "alice", "cat ~/ticks 2>/dev/null || true")) }
	poll(t, "the job counts", func() bool { return count() != "" })
	if r := try(t, "bob", fmt.Sprintf("gpusched suspend %d", id)); r.Code != 4 {
		t.Errorf("bob suspends alice's job: %+v", r)
	}
	frozen := func() string {
		return strings.TrimSpace(sh(t, "", fmt.Sprintf("systemctl show -P FreezerState gpujob-%d", id)))
	}
	sh(t, "alice", fmt.Sprintf("gpusched suspend %d", id))
	poll(t, "its unit is frozen", func() bool { return frozen() == "frozen" })
	at := count()
	sh(t, "", killDaemon)
	if out := sh(t, "alice", fmt.Sprintf("gpusched list %d", id)); !strings.Contains(out, "running (suspended)") || !strings.Contains(out, "suspended by alice since") {
		t.Errorf("list says %s", out)
	}
	sh(t, "alice", "gpusched submit --wait -g 0 -- sleep 0.5")
	if now := count(); now != at || frozen() != "frozen" {
		t.Errorf("it went on from %s to %s: %s", at, now, frozen())
	}
	if j := show(t, "alice", id); len(j.GPUs) != 1 {
		t.Errorf("the reservation keeps %d GPUs", len(j.GPUs))
	}
	sh(t, "alice", fmt.Sprintf("gpusched resume %d; gpusched update %d --time 2h", id, id))
	poll(t, "the job goes on", func() bool { return count() != at })
	if j := show(t, "alice", id); j.TimeLimit.Duration() != 2*time.Hour {
		t.Errorf("its limit is %s", j.TimeLimit)
	}
	sh(t, "alice", fmt.Sprintf("gpusched suspend %d; gpusched cancel %d", id, id))
	wait(t, id)
	poll(t, "the journal has what it printed in its grace", func() bool { return strings.Contains(output(t, "alice", id), "farewell") })

	// The job ends at its changed limit, not at its original limit.
	short := submit(t, "alice", "-g 0 -t 1h -- sleep 1h")
	waitRun(t, short)
	sh(t, "alice", fmt.Sprintf("gpusched update %d --time %ds", short, int(5*the.slow)))
	mustEnd(t, wait(t, short), "timed-out", "stopped at its time limit")
}
