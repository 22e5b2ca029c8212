//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// awaitHealth waits until the scheduler has started and the output of health contains the sentence.
func awaitHealth(t *testing.T, sentence string) {
	t.Helper()
	poll(t, "a scheduler that works and "+sentence, func() bool {
		text, code := health(t)
		return code == 9 && strings.Contains(text, sentence)
	})
}

// TestCrashes: a daemon that crashes is back as fast as a daemon that was killed. After several
// crashes in a row, the next daemon at first only tells clients about the crashes. It begins to
// work by itself later, or at a reload. Jobs continue.
func TestCrashes(t *testing.T) {
	begin(t)
	forget := func() { sh(t, "", "rm -f /run/gpusched/crash*; systemctl restart gpusched") }
	forget()
	t.Cleanup(forget)
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, on)
	die := func(signal, tells string) time.Duration {
		pid, began := daemonPID(t), time.Now()
		sh(t, "", "kill -"+signal+" "+pid)
		poll(t, "the next daemon tells: "+tells, func() bool {
			text, _ := health(t)
			return daemonPID(t) != pid && strings.Contains(text, tells)
		})
		return time.Since(began)
	}
	t.Logf("killed: back after %s", die("KILL", "none of the scheduler's own").Round(time.Millisecond))
	for n, tells := range []string{"crashed once", "crashed 2 times", "crashed 3 times"} {
		t.Logf("crash %d: back after %s", n+1, die("ABRT", tells).Round(time.Millisecond))
		mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
	}
	die("ABRT", "crashed over and over")
	awaitHealth(t, "crashed 4 times") // the daemon has started by itself
	for range 3 {
		die("ABRT", "crashed over and over")
	}
	text, code := health(t)
	if code != 1 || !strings.Contains(text, "crash.last") {
		t.Errorf("health exits %d: %s", code, text)
	}
	mustFail(t, "bob", "gpusched submit -g 0 -- true", 1, "crashed over and over")
	sh(t, "", "systemctl reload gpusched")
	awaitHealth(t, "crashed 7 times")
	mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
	if j := show(t, "alice", on); j.State != "running" {
		t.Errorf("the job is %s", j.State)
	}
	report := sh(t, "", "stat -c %a:%U /run/gpusched/crash.last; head -c 300 /run/gpusched/crash.last")
	if !strings.HasPrefix(report, "600:root") || !strings.Contains(report, "SIGABRT") {
		t.Errorf("the report is %s", report)
	}
	if r := try(t, "bob", "cat /run/gpusched/crash*"); r.Code == 0 {
		t.Errorf("bob reads %.200s", r.Stdout)
	}
	t.Log(strings.TrimSpace(fmt.Sprint(sh(t, "", "journalctl -u gpusched -o cat --since -1min | grep -c 'crashed over and over'"), " entries tell of it")))
}
