//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestInhibitor: while a job runs, logind has a lock that prevents sleep. The lock ends with the
// last job. If the daemon or logind is killed, the lock comes back.
func TestInhibitor(t *testing.T) {
	begin(t)
	locks := func() string {
		return sh(t, "", "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListInhibitors")
	}
	has := func(what string) {
		t.Helper()
		poll(t, "the lock is on "+what, func() bool {
			l := locks()
			return strings.Count(l, `"gpusched"`) == 1 && strings.Contains(l, `"`+what+`" "gpusched"`) && strings.Contains(l, `"block"`)
		})
	}
	gone := func() {
		t.Helper()
		poll(t, "there is no lock", func() bool { return !strings.Contains(locks(), `"gpusched"`) })
	}
	gone()
	first, second := submit(t, "alice", "-g 1 -- sleep 1000"), submit(t, "bob", "-g 0 -- sleep 1000")
	has("sleep:idle")
	if text, _ := health(t); !strings.Contains(text, "the machine does not sleep, as jobs run") {
		t.Errorf("health: %s", text)
	}
	sh(t, "alice", fmt.Sprintf("gpusched cancel --now %d", first))
	wait(t, first)
	has("sleep:idle")
	sh(t, "", "systemctl kill -s KILL --kill-whom=main gpusched")
	awaitDaemon(t)
	has("sleep:idle")
	sh(t, "", "systemctl kill -s KILL --kill-whom=main systemd-logind; systemctl start systemd-logind")
	has("sleep:idle")
	sh(t, "bob", fmt.Sprintf("gpusched cancel --now %d", second))
	wait(t, second)
	gone()

	settings(t, "[daemon]\ninhibit = \"shutdown\"")
	third := submit(t, "alice", "-g 1 -- sleep 1000")
	has("shutdown:sleep:idle")
	settings(t, "[daemon]\ninhibit = \"none\"")
	gone()
	if text, _ := health(t); !strings.Contains(text, "the machine may sleep while jobs run (daemon.inhibit)") {
		t.Errorf("health: %s", text)
	}
	settings(t, "")
	has("sleep:idle")
	sh(t, "", "systemctl mask --runtime --now systemd-logind")
	t.Cleanup(func() { sh(t, "", "systemctl unmask --runtime systemd-logind; systemctl start systemd-logind") })
	poll(t, "health says that there is no lock", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "no lock could be taken")
	})
	sh(t, "alice", fmt.Sprintf("gpusched cancel --now %d", third))
	wait(t, third)
	mustEnd(t, wait(t, submit(t, "bob", "-g 1 -- true")), "completed", "exit code 0")
}
