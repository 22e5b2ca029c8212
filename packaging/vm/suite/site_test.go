//go:build machine

package suite

import (
	"testing"
	"time"
)

// TestSiteRules: what the site decided of memory and of places for programs
// holds from a reload on, without a restart.
func TestSiteRules(t *testing.T) {
	begin(t)
	const file = "/etc/gpusched/conf.d/90-site.toml"
	t.Cleanup(func() { sh(t, "", "rm -f "+file+"; systemctl reload gpusched") })
	sh(t, "", `mkdir -p /srv/scripts /etc/gpusched/conf.d; printf '#!/bin/sh\necho here\n' >/srv/scripts/ok.sh; chmod 755 /srv/scripts/ok.sh
printf '[jobs]\nmax_mem = "300M"\nallowed_paths = ["/srv/scripts"]\n' >`+file+`; systemctl reload gpusched`)
	refused(t, "alice", "gpusched submit -g 0 -m 400M -- /srv/scripts/ok.sh", 8, "above this site's most for a job, 300M")
	refused(t, "alice", "gpusched submit -g 0 -- ./train.py", 8, "out of /srv/scripts only")
	refused(t, "alice", "gpusched submit -g 0 -- bash -c 'echo x'", 8, "out of /srv/scripts only")
	id := submit(t, "alice", "-g 0 -- bash /srv/scripts/ok.sh")
	ended(t, wait(t, id), "completed", "exit code 0")
	if j := show(t, "alice", id); j.MemBytes != 300<<20 {
		t.Errorf("a job that asked none has %d bytes of memory", j.MemBytes)
	}
}

// TestAScriptIsNotSlowedDown: a loop that submits at the speed of a shell never
// meets the pace of a user, and a flood of one user does.
func TestAScriptIsNotSlowedDown(t *testing.T) {
	begin(t)
	const loop = "for i in $(seq 200); do gpusched submit --hold -g 0 -m 10M -- true >/dev/null || exit 1; done"
	start := time.Now()
	sh(t, "alice", loop)
	quiet := time.Since(start)
	start = time.Now()
	sh(t, "", loop) // root has no pace
	free := time.Since(start)
	t.Logf("200 submissions by alice in %s, by root in %s", quiet, free)
	if quiet > 2*free+time.Second {
		t.Errorf("alice's took %s, root's %s", quiet, free)
	}
	sh(t, "", "gpusched cancel $(gpusched list -o ids) >/dev/null")
}
