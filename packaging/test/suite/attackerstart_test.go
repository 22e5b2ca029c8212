//go:build machine

package suite

import (
	"strings"
	"testing"
	"time"
)

// TestAttackerStarts: a user sends SIGSTOP to the processes that start his own jobs. This delays no
// other user's jobs, and health names that user.
func TestAttackerStarts(t *testing.T) {
	begin(t)
	array := sh(t, "bob", "gpusched submit -q --hold --array 0-1999 -g 0 -m 16M -- true")
	// The loop sends SIGSTOP to every process of bob's. To start a unit, systemd forks a process;
	// the loop also stops that process as soon as it has bob's uid. Root starts the loop, because
	// the loop would stop a shell of bob's.
	sh(t, "", "setsid runuser -u bob -- sh -c 'while :; do kill -STOP -1; done' >/dev/null 2>&1 </dev/null &")
	t.Cleanup(func() { try(t, "", "pkill -KILL -u bob; gpusched cancel -y -u bob; pkill -KILL -u bob") })
	sh(t, "", "gpusched release "+array)
	poll(t, "two of his starts are stopped", func() bool {
		try(t, "", "pkill -KILL -u bob -x 'true|gpusched-job'") // jobs that he stops too late run, up to his quota
		return strings.Contains(sh(t, "", "gpusched why "+array), "a process of bob stopped")
	})
	for range 3 {
		begun := time.Now()
		sh(t, "alice", "gpusched run -g 1 -m 16M -- true")
		if took := time.Since(begun); took > 15*time.Second*the.slow {
			t.Errorf("alice's job took %s", took)
		}
	}
	if log := sh(t, "", "journalctl -q -o cat -u gpusched | grep 'a start takes long'"); !strings.Contains(log, "uid=1002") {
		t.Errorf("the log does not name him: %s", log)
	}
	poll(t, "health names him", func() bool {
		return strings.Contains(try(t, "", "gpusched health").Stdout, "of bob has been starting for")
	})
}

// TestStartsInTurn: an array of many short tasks delays the starts of other users only briefly. A
// job whose start is throttled is shown as waiting.
func TestStartsInTurn(t *testing.T) {
	begin(t)
	array := submit(t, "bob", "--array 0-999 -g 0 -m 16M -- true")
	t.Cleanup(func() { try(t, "", "gpusched cancel -y -u bob") })
	for range 3 {
		sh(t, "alice", "gpusched run -g 0 -m 16M -- true")
		if n := len(strings.Fields(sh(t, "", "gpusched list -s starting -o ids"))); n > 8 {
			t.Errorf("%d jobs are starting at once", n)
		}
	}
	if j := show(t, "", array); j.State.Terminal() {
		t.Errorf("the array was over before: %+v", j.Array)
	}
}
