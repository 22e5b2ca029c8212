//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestMemoryMoves: the owner of a running job changes its host memory, within what is free. The unit
// has the new limit, also after systemd and the daemon have started again.
func TestMemoryMoves(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0 -m 300M -- sleep 1000")
	waitRun(t, id)
	hasLimit := func(mib int) {
		t.Helper()
		poll(t, fmt.Sprintf("the unit has a limit of %dM", mib), func() bool {
			return sh(t, "", fmt.Sprintf("systemctl show -P MemoryMax gpujob-%d", id)) == fmt.Sprint(mib<<20)
		})
	}
	hasLimit(300)
	if out := sh(t, "alice", fmt.Sprintf("gpusched update %d -m 400M", id)); !strings.Contains(out, "it may use up to 400M of host memory") {
		t.Errorf("update says %q", out)
	}
	hasLimit(400)
	sh(t, "", fmt.Sprintf("gpusched update %d -m 200M", id))
	hasLimit(200)
	mustFail(t, "bob", fmt.Sprintf("gpusched update %d -m 100M", id), 4, "alice")
	mustFail(t, "alice", fmt.Sprintf("gpusched update %d -m 100T", id), 1, "can't have more than")
	if out := sh(t, "bob", fmt.Sprintf("gpusched events --job %d", id)); !strings.Contains(out, "was changed by root: its limit of host memory was 400M and is 200M") {
		t.Errorf("the events are %s", out)
	}
	sh(t, "", "systemctl daemon-reload; systemctl restart gpusched")
	hasLimit(200)
	sh(t, "alice", fmt.Sprintf("gpusched update %d -m 250M", id))
	hasLimit(250)
	if j := show(t, "", id); j.State != "running" || j.MemBytes != 250<<20 {
		t.Errorf("the job is %s with %d bytes", j.State, j.MemBytes)
	}
	cancel(t, "alice", id)
}

// TestSchedulerCPUs: a job that requests CPUs waits until they are free. 'gpusched why' names the
// jobs that have them. A job that requests no CPUs does not wait. A request for more CPUs than
// there can be is refused, even in an update.
func TestSchedulerCPUs(t *testing.T) {
	begin(t)
	settings(t, `[jobs]
cpus = 8
default_cpus = 4
[quota.default]
cpus = "100%"`)
	gpusSeen(t)
	mustFail(t, "bob", "gpusched submit -g 1 -c 9 -- true", 6, "asks for 9 CPUs, this machine has 8 CPUs for jobs")
	mustFail(t, "bob", "gpusched submit -g 0 -c 7 -- true", 6, "jobs without a GPU have 6 CPUs here")
	his := submit(t, "bob", "-g 1 -c 6 -- sleep 1000")
	waitRun(t, his)
	hers := submit(t, "alice", "-g 0 -c 3 -- sleep 1000")
	waitsFor(t, "alice", hers, "needs 3 CPUs, 2 are free (bob's jobs hold 6 CPUs)")
	mustFail(t, "alice", fmt.Sprintf("gpusched update %d -c 7", hers), 6, "jobs without a GPU have 6 CPUs here")
	free := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, free)
	if told := sh(t, "", "gpusched status"); !regexp.MustCompile(`CPUs \d+ of 8\b`).MatchString(told) {
		t.Errorf("status does not show the CPUs: %s", told)
	}
	sh(t, "", "systemctl restart gpusched")
	gpusSeen(t)
	waitsFor(t, "alice", hers, "needs 3 CPUs")
	cancel(t, "bob", his)
	waitRun(t, hers)
	cancel(t, "alice", hers, free)
}

// TestSchedulerHoarders: with the default quotas, one user cannot take all job slots, all host
// memory or all CPUs. Some of each is always left for other users.
func TestSchedulerHoarders(t *testing.T) {
	begin(t)
	settings(t, "[jobs]\nmax_running = 20\ncpus = 10\n")
	gpusSeen(t)
	places := submit(t, "bob", "-g 0 -m 16M --array 0-19 -- sleep infinity")
	poll(t, "bob has his job slots", func() bool {
		return strings.TrimSpace(sh(t, "bob", "gpusched list -s running -o ids | wc -l")) == "8"
	})
	without, with := submit(t, "alice", "-g 0 -m 16M -- sleep 1000"), submit(t, "alice", "-g 1 -m 16M -- sleep 1000")
	waitRun(t, without)
	waitRun(t, with)
	cancel(t, "alice", without, with)
	sh(t, "bob", fmt.Sprintf("gpusched cancel %d", places))
	poll(t, "all have ended", func() bool { return sh(t, "", "gpusched list -o ids") == "" })

	mustFail(t, "bob", "gpusched submit -g 1 -c 9 -- true", 6, "asks for 9 CPUs, the quota of bob is 8 CPUs")
	waitRun(t, submit(t, "bob", "-g 1 -m 16M -c 8 -- sleep 1000"))
	more := submit(t, "bob", "-g 1 -m 16M -c 1 -- sleep 1000")
	waitsFor(t, "bob", more, "bob has 0 of 8 left")
	waitRun(t, submit(t, "alice", "-g 1 -m 16M -c 2 -- sleep 1000"))

	have := sh(t, "", "awk '/MemTotal/ {print int($2 * 0.95 / 1024)}' /proc/meminfo")
	mustFail(t, "bob", "gpusched submit -g 0 -m "+have+"M -- true", 6, "the quota of bob is")
}
