//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSiteRules: the site's limits on memory, and on the directories that programs may come from,
// take effect at a reload, without a restart.
func TestSiteRules(t *testing.T) {
	begin(t)
	const file = "/etc/gpusched/conf.d/90-site.toml"
	t.Cleanup(func() { sh(t, "", "rm -f "+file+"; systemctl reload gpusched") })
	sh(t, "", `mkdir -p /srv/scripts /etc/gpusched/conf.d; printf '#!/bin/sh\necho here\n' >/srv/scripts/ok.sh; chmod 755 /srv/scripts/ok.sh
printf '[jobs]\nmax_mem = "300M"\nallowed_paths = ["/srv/scripts"]\n' >`+file+`; systemctl reload gpusched`)
	mustFail(t, "alice", "gpusched submit -g 0 -m 400M -- /srv/scripts/ok.sh", 8, "more than this site allows a job, 300M")
	mustFail(t, "alice", "gpusched submit -g 0 --force -- ./train.py", 8, "in /srv/scripts: ")
	mustFail(t, "alice", "gpusched submit -g 0 -- bash -c 'echo x'", 8, "in /srv/scripts: ")
	id := submit(t, "alice", "-g 0 -- bash /srv/scripts/ok.sh")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if j := show(t, "alice", id); j.MemBytes != 300<<20 {
		t.Errorf("a job that asked for no memory has %d bytes", j.MemBytes)
	}
}

// TestReloadOfWrongSettings: if the settings are wrong, a reload changes nothing, and fails for the
// administrator who requested it. Health says what is wrong. After a successful reload, health is
// correct at once.
func TestReloadOfWrongSettings(t *testing.T) {
	begin(t)
	const file = "/etc/gpusched/conf.d/90-site.toml"
	t.Cleanup(func() { sh(t, "", "rm -f "+file+"; systemctl reload gpusched") })
	sh(t, "", `mkdir -p /etc/gpusched/conf.d; printf '[jobs]\nmax_runing = 5\n' >`+file)
	if r := try(t, "", "systemctl reload gpusched"); r.Code == 0 {
		t.Error("a reload of wrong settings succeeds")
	}
	if out := sh(t, "", "systemctl is-active gpusched; journalctl -q -u gpusched -n 20 -o cat"); !strings.HasPrefix(out, "active\n") || !strings.Contains(out, "max_runing") {
		t.Errorf("after the reload: %s", out)
	}
	healthSays(t, "90-site.toml is new; a reload refuses them: ")
	if text, code := health(t); code != 9 || !strings.Contains(text, "max_runing") {
		t.Errorf("health: %s", text)
	}
	// The daemon ignores the client's settings, even if they are wrong or name another scheduler.
	t.Cleanup(func() { sh(t, "", "rm -f /etc/gpusched/client.toml") })
	for _, line := range []string{`hosts = ["a b"]`, `engine = "slurm"`, "nonsense"} {
		sh(t, "", "rm -f "+file+"; echo '"+line+"' >/etc/gpusched/client.toml; systemctl reload gpusched")
	}
	sh(t, "", "rm -f /etc/gpusched/client.toml")
	sh(t, "", `printf '[gpus]\nonly = [0, 1, 2, 3, 9]\n[daemon]\nadmin_group = "nobody-has-it"\n' >`+file+`; systemctl reload gpusched`)
	poll(t, "health names the missing GPU and group", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "gpus.only names GPU 9, which is not there") && strings.Contains(text, `no group "nobody-has-it"`)
	})
	r := try(t, "", "gpusched config check")
	if r.Code != 0 || !strings.Contains(r.Stderr, "GPU 9, which is not there") || !strings.Contains(r.Stderr, `no group "nobody-has-it"`) {
		t.Errorf("config check: %+v", r)
	}
}

// TestAScriptIsNotSlowedDown: a shell loop of submissions never reaches a user's rate limit.
func TestAScriptIsNotSlowedDown(t *testing.T) {
	begin(t)
	const loop = "for i in $(seq 200); do gpusched submit --hold -g 0 -m 10M -- true >/dev/null || exit 1; done"
	start := time.Now()
	took := make(chan time.Duration, 1)
	go func() { // runs at the same time as root's loop, so that both have the same load
		the.Sh(t.Context(), "alice", loop)
		took <- time.Since(start)
	}()
	sh(t, "", loop) // root has no rate limit
	free := time.Since(start)
	quiet := <-took
	if n := len(strings.Fields(sh(t, "", "gpusched list -o ids"))); n != 400 {
		t.Errorf("%d jobs wait, of 400", n)
	}
	t.Logf("200 submissions by alice in %s, by root in %s", quiet, free)
	if quiet > 2*free+time.Second {
		t.Errorf("alice's took %s, root's %s", quiet, free)
	}
	sh(t, "", "gpusched cancel $(gpusched list -o ids) >/dev/null")
}

// TestExpiredAccount: jobs of an expired account wait and say so. They start when the account is
// renewed. Running jobs continue.
func TestExpiredAccount(t *testing.T) {
	begin(t)
	t.Cleanup(func() { sh(t, "", "chage -E -1 bob") })
	runs, first, second := submit(t, "bob", "-g 0 -- sleep 1000"), submit(t, "bob", "-g 1 --hold -- true"), submit(t, "bob", "-g 1 --hold -- true")
	waitRun(t, runs)
	sh(t, "", fmt.Sprintf("chage -E 0 bob; gpusched release %d %d", first, second))
	poll(t, "both wait again after they were given a GPU", func() bool {
		return show(t, "alice", first).State == "queued" && show(t, "alice", second).State == "queued"
	})
	waitsFor(t, "alice", first, "the account of bob has expired (1970-01-01)")
	waitsFor(t, "alice", second, "the account of bob has expired (1970-01-01)")
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 -- true")), "completed", "exit code 0")
	sh(t, "", "chage -E -1 bob; systemctl reload gpusched")
	for _, id := range []int64{first, second} {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	waitRun(t, runs)
	cancel(t, "bob", runs)
}
