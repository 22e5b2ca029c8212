//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"testing"
)

// TestSlicesStopped: if the slice of one user or the slice of all jobs is stopped, the jobs in it
// end. Waiting jobs start afterwards.
func TestSlicesStopped(t *testing.T) {
	begin(t)
	for _, slice := range []string{"gpujobs-u1001.slice", "gpujobs.slice"} {
		runs := submit(t, "alice", "-g 0 -- sleep 1000")
		queued := submit(t, "alice", fmt.Sprintf("-g 0 --after-any %d -- true", runs))
		waitRun(t, runs)
		sh(t, "", "systemctl stop "+slice)
		mustEnd(t, wait(t, runs), "lost", "from outside gpusched")
		mustEnd(t, wait(t, queued), "completed", "exit code 0")
		mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	}
}

// TestSlicesBoundProcesses: one user's jobs may have fewer processes than all jobs together, so
// that a fork bomb leaves room for other users. All jobs together may have fewer than the kernel
// allows. TestLimitsForkBombOfManyJobs shows the effect.
func TestSlicesBoundProcesses(t *testing.T) {
	begin(t)
	waitRun(t, submit(t, "alice", "-g 0 -- sleep 1000"))
	bound := func(slice string) uint64 {
		n, err := strconv.ParseUint(sh(t, "", "systemctl show -P TasksMax "+slice), 10, 32)
		if err != nil {
			t.Fatalf("the number of processes in %s is unlimited: %v", slice, err)
		}
		return n
	}
	if user, all := bound("gpujobs-u1001.slice"), bound("gpujobs.slice"); 2*user >= all {
		t.Errorf("one user's jobs may have %d processes, all jobs %d", user, all)
	}
}

// TestIsolate: an administrator runs 'systemctl isolate' to switch to another target, for instance
// to stop a desktop or for maintenance. Jobs continue, as login sessions do. If the target does not
// want the daemon, the daemon stops. When the daemon is back, waiting jobs start.
func TestIsolate(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "systemctl default") })
	runs := submit(t, "alice", "--gpu-ids 0 -- sleep 1000")
	waitRun(t, runs)
	was := show(t, "", runs)
	for _, to := range []struct{ target, daemon string }{{"multi-user.target", "active"}, {"rescue.target", "inactive"}} {
		queued := submit(t, "bob", "--gpu-ids 0 -- true")
		array := submit(t, "bob", "--gpu-ids 0 --array 0-2 -- true")
		sh(t, "", "systemctl isolate "+to.target)
		poll(t, "the daemon is "+to.daemon+" in "+to.target, func() bool { // this command returns before units have stopped
			return try(t, "", "systemctl is-active gpusched").Stdout == to.daemon+"\n"
		})
		sh(t, "", "systemctl default")
		poll(t, "the daemon answers", func() bool { return try(t, "", "gpusched version").Code == 0 })
		if j := show(t, "", runs); j.State != "running" || j.InvocationID != was.InvocationID {
			t.Fatalf("after %s the job is %s, %+v", to.target, j.State, j.Result)
		}
		for _, id := range []int64{queued, array} {
			if j := show(t, "", id); j.State != "queued" {
				t.Errorf("after %s waiting job %d is %s", to.target, id, j.State)
			}
		}
		cancel(t, "bob", queued)
		sh(t, "bob", fmt.Sprintf("gpusched cancel %d", array))
	}
	next := submit(t, "bob", "--gpu-ids 0 -- true")
	cancel(t, "alice", runs)
	mustEnd(t, wait(t, next), "completed", "exit code 0")
}
