//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestAlertUnit: systemd starts the site's alert unit once when a GPU goes out of service. It
// starts the unit again only after the GPU was back in service. An alert unit that is missing,
// fails or never ends delays nothing. Health reports a missing or failed unit.
func TestAlertUnit(t *testing.T) {
	begin(t)
	sh(t, "", `printf '[Service]\nType=oneshot\nExecStart=/bin/sh -c "echo GPU %%i >> /run/alerts; [ ! -e /run/alert-fails ]"\n' > /etc/systemd/system/site-alert@.service
printf '[Service]\nType=oneshot\nExecStart=/bin/sleep 1000\n' > /etc/systemd/system/slow-alert@.service; rm -f /run/alerts /run/alert-fails; systemctl daemon-reload`)
	t.Cleanup(func() {
		sh(t, "", "systemctl stop 'slow-alert@*' 'site-alert@*'; rm -f /etc/systemd/system/*-alert@.service /run/alert*; systemctl daemon-reload; systemctl reset-failed")
	})
	bad := func(gpus string) {
		sh(t, "", `for i in 0 1 2 3; do echo "minor=$i$(case "`+gpus+`" in *$i*) echo ' rows_failed=1';; esac)"; done > /run/fakenvml/new; mv /run/fakenvml/new /run/fakenvml/gpus`)
	}
	alerted := func(want string) {
		t.Helper()
		poll(t, "the alerts are "+want, func() bool {
			return strings.Join(strings.Fields(try(t, "", "cat /run/alerts").Stdout), " ") == want
		})
	}
	use := func(unit string) {
		sh(t, "", "printf '[gpus]\nsample_interval = \"200ms\"\nalert_unit = \""+unit+"\"\n' > /etc/gpusched/conf.d/90-suite.toml; systemctl reload gpusched")
	}
	settings(t, "[gpus]\nsample_interval = \"200ms\"\nalert_unit = \"site-alert@.service\"")
	healthSays(t, "site-alert@.service is started when a GPU")
	bad("1")
	alerted("GPU 1")
	bad("1 3")
	alerted("GPU 1 GPU 3")
	sh(t, "", "touch /run/alert-fails")
	bad("1 3 0")
	alerted("GPU 1 GPU 3 GPU 0")
	healthSays(t, "start unit \"site-alert@0.service\": it failed")

	use("no-alert@.service")
	bad("1 3 0 2")
	healthSays(t, "no-alert@2.service not found")
	if text, code := health(t); code != 9 || !strings.Contains(text, "systemctl status 'no-alert@*.service'") {
		t.Errorf("health exits %d: %s", code, text)
	}

	use("slow-alert@.service")
	bad("")
	sh(t, "", "systemctl restart gpusched")
	healthSays(t, "4 of 4 GPUs answer")
	bad("3 2")
	poll(t, "the slow alert unit is started", func() bool {
		return strings.TrimSpace(try(t, "", "systemctl show -P ActiveState slow-alert@3").Stdout) == "activating"
	})
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- true")), "completed", "exit code 0")
	if got := sh(t, "", "journalctl -q -o cat -u gpusched GPUSCHED_ALERT_UNIT=site-alert@1.service | head -1"); !strings.Contains(got, "out of service") {
		t.Errorf("the journal has %q", got)
	}
}
