//go:build machine

package suite

import (
	"strings"
	"testing"
	"time"
)

// stopper stops what systemd forks to start a unit, as soon as that has the user's uid, and keeps it so.
const stopper = `import os, signal, time
caught, end = set(), time.time() + 1200
def stop(p):
    os.kill(p, signal.SIGSTOP)
    if open("/proc/%d/comm" % p).read()[0] == "(":
        return True
    os.kill(p, signal.SIGCONT)
while time.time() < end:
    last = int(open("/proc/loadavg").read().split()[4])
    for p in list(range(last - 1, last + 10)) * 15 + list(caught):
        try:
            caught.add(p) if stop(p) else caught.discard(p)
        except OSError:
            caught.discard(p)
`

// TestAttackerStarts: a user who stops the starts of his own jobs holds up nobody else's, and is named.
func TestAttackerStarts(t *testing.T) {
	begin(t)
	sh(t, "bob", "cat >~/stopper.py <<'E'\n"+stopper+"E\nsetsid python3 ~/stopper.py >/dev/null 2>&1 </dev/null &")
	t.Cleanup(func() {
		try(t, "", "pkill -KILL -u bob -f stopper; pkill -CONT -u bob; gpusched cancel -y -u bob") // it may have stopped any of bob's processes for a moment
		try(t, "bob", "rm ~/stopper.*")
	})
	array := sh(t, "bob", "gpusched submit -q --array 0-1999 -g 0 -m 16M -- true")
	until(t, "two of his starts are stopped", func() bool {
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
	until(t, "health names him", func() bool {
		return strings.Contains(try(t, "", "gpusched health").Stdout, "of bob has been starting for")
	})
}

// TestStartsInTurn: an array of many short tasks leaves others their turn, and what waits for its turn to be
// started is shown as waiting.
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
