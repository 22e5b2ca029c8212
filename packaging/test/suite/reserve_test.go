//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSchedulerReservation: reserved GPUs take only jobs of the reservation's users, even after a
// restart, until the reservation ends by itself.
func TestSchedulerReservation(t *testing.T) {
	begin(t)
	mustFail(t, "alice", "gpusched reserve make --gpus 0 --for 1h --user alice", 4, "only administrators")
	last := 6 * time.Second * the.slow
	sh(t, "", fmt.Sprintf("gpusched reserve make --gpus 0-3 --for %s --user bob --reason workshop", last))
	made := time.Now()
	hers, free := submit(t, "alice", "-g 1 -- true"), submit(t, "alice", "-g 0 -- true")
	waitsFor(t, "alice", hers, "reserved (for bob from ")
	mustEnd(t, wait(t, free), "completed", "exit code 0")
	sh(t, "", "systemctl restart gpusched")
	his := submit(t, "bob", "-g 4 -- true")
	mustEnd(t, wait(t, his), "completed", "exit code 0")
	if out := sh(t, "alice", "gpusched list"); strings.Count(out, "(reserved for bob)") != 4 {
		t.Errorf("the list does not say that the GPUs are reserved:\n%s", out)
	}
	if out := sh(t, "alice", "gpusched reserve list"); !strings.Contains(out, "workshop") {
		t.Errorf("reservations: %s", out)
	}
	j := wait(t, hers)
	mustEnd(t, j, "completed", "exit code 0")
	if rest := made.Add(last).Sub(j.StartedAt); rest > time.Second*the.slow {
		t.Errorf("it started %s before the end of the reservation", rest)
	}
	if out := sh(t, "alice", "gpusched reserve list"); !strings.Contains(out, "no reservations") {
		t.Errorf("reservations when it has ended: %s", out)
	}
}

// TestSchedulerReservationAhead: before a reservation begins, a job of another user starts on the
// reserved GPUs only if the job's time limit ends before the reservation begins.
func TestSchedulerReservationAhead(t *testing.T) {
	begin(t)
	id := sh(t, "", "gpusched reserve make --gpus 3 --from +1h --for 8h --user bob -o ids")
	long := submit(t, "alice", "--gpu-ids 3 -t 2h -- true")
	short := submit(t, "alice", "--gpu-ids 3 -t 30m -- true")
	his := submit(t, "bob", "--gpu-ids 3 -- true")
	mustEnd(t, wait(t, short), "completed", "exit code 0")
	mustEnd(t, wait(t, his), "completed", "exit code 0")
	waitsFor(t, "alice", long, "reserved (for bob from ")
	mustFail(t, "alice", "gpusched reserve cancel "+id, 4, "only administrators")
	sh(t, "", "gpusched reserve cancel "+id)
	mustEnd(t, wait(t, long), "completed", "exit code 0")
}

// TestSchedulerReservationIsTheirs: the users of a reservation get its GPUs at once, even if
// another user's job for many GPUs is first in the queue.
func TestSchedulerReservationIsTheirs(t *testing.T) {
	begin(t)
	sh(t, "", "gpusched reserve make --gpus 0-1 --for 1h --user alice")
	wide := submit(t, "bob", "-g 3 -- true")
	waitsFor(t, "bob", wide, "needs 3 GPUs, 2 available now")
	if on := onGPUs(t, submit(t, "alice", "-g 2 -- sleep 1000")); on != "0,1" {
		t.Errorf("alice is on GPUs %s", on)
	}
	mustFail(t, "", "gpusched reserve make --gpus 1-2 --for 1h --user bob", 1, "keeps some of these GPUs for alice")
}
