//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"testing"
)

// TestSlicesStopped: who stops the slice of a user or of all jobs ends those that
// run there. What waits starts afterwards.
func TestSlicesStopped(t *testing.T) {
	begin(t)
	if _, err := strconv.ParseUint(sh(t, "", "systemctl show -P TasksMax gpujobs.slice"), 10, 32); err != nil {
		t.Errorf("the processes of all jobs have no bound: %v", err)
	}
	for _, slice := range []string{"gpujobs-u1001.slice", "gpujobs.slice"} {
		runs := submit(t, "alice", "-g 0 -- sleep 1000")
		queued := submit(t, "alice", fmt.Sprintf("-g 0 --after-any %d -- true", runs))
		running(t, runs)
		sh(t, "", "systemctl stop "+slice)
		ended(t, wait(t, runs), "lost", "stopped or removed from outside")
		ended(t, wait(t, queued), "completed", "exit code 0")
		ended(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	}
}
