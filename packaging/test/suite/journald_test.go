//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestJournaldFails: journald hangs, is killed or is restarted. Meanwhile jobs are accepted, start
// and end. Jobs that print continue, however much they print, and health is not FAILING. Afterwards
// health recovers and the journal contains the output.
func TestJournaldFails(t *testing.T) {
	begin(t)
	settings(t, "[daemon]\nlog_level = \"debug\"")
	awaitDaemon(t)
	sh(t, "alice", "rm -f ~/end")
	prints := submit(t, "alice", "-g 1 -- bash -c 'for ((n = 1; ; n++)); do echo line $n; sleep 0.02; [ ! -e ~/end ] || break; done; echo last $n'")
	waitText(t, prints, "line 5")
	journald := func(act string) {
		sh(t, "", "systemctl reset-failed systemd-journald; systemctl "+act+" systemd-journald")
	}
	for _, fault := range []struct{ name, fail, mend string }{
		{"hangs", "kill --kill-whom=main -s STOP", "kill --kill-whom=main -s CONT"},
		{"is killed", "kill --kill-whom=main -s KILL", "start"},
		{"is restarted", "restart", "start"},
	} {
		journald(fault.fail)
		began := time.Now()
		id := submit(t, "alice", "-g 0 -- true")
		mustEnd(t, wait(t, id), "completed", "exit code 0")
		if fault.name == "hangs" {
			sh(t, "bob", "for i in $(seq 150); do gpusched submit -q --hold -g 0 -- true && gpusched cancel all; done >/dev/null; true")
			sh(t, "bob", "for i in $(seq 40); do gpusched submit -q -g 0 -- true; done > ~/ids; gpusched wait $(cat ~/ids)")
			if text, _ := health(t); strings.Contains(text, "FAILING") {
				t.Errorf("health while journald hangs: %s", text)
			}
		}
		t.Logf("journald %s: jobs went on for %s", fault.name, time.Since(began).Round(time.Millisecond))
		journald(fault.mend)
		last := submit(t, "alice", "-g 1 -- echo after")
		mustEnd(t, wait(t, last), "completed", "exit code 0")
		waitText(t, last, "after")
	}
	poll(t, "health is good again", func() bool { text, _ := health(t); return !strings.Contains(text, "journald has not read") })
	sh(t, "alice", "touch ~/end")
	mustEnd(t, wait(t, prints), "completed", "exit code 0")
	out := waitText(t, prints, "last")
	var lines int
	if _, err := fmt.Sscanf(out[strings.Index(out, "last"):], "last %d", &lines); err != nil {
		t.Fatal(err)
	}
	got := strings.Count("\n"+out, "\nline ")
	t.Logf("%d of %d lines are in the journal", got, lines)
	if got < lines*9/10 {
		t.Errorf("%d of %d lines are in the journal", got, lines)
	}
}
