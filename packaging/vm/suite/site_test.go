//go:build machine

package suite

import (
	"fmt"
	"strings"
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

// TestAuditLog: what an administrator did and what was refused is in the
// journal, a reload too, and no command or environment with it.
func TestAuditLog(t *testing.T) {
	begin(t)
	since := sh(t, "", "date '+%F %T'")
	id := submit(t, "alice", "-g 0 -m 50M -- env VERY=secret sleep 1000")
	running(t, id)
	refused(t, "bob", fmt.Sprintf("gpusched cancel %d", id), 4, "belongs to alice")
	refused(t, "bob", "gpusched gpu pause 0", 4, "only administrators")
	sh(t, "", fmt.Sprintf("gpusched gpu pause 0; gpusched gpu resume 0; gpusched cancel %d; systemctl reload gpusched", id))
	var log string
	until(t, "the reload is in the audit log", func() bool {
		log = sh(t, "", "journalctl -u gpusched -o cat --since '"+since+"' | grep msg=audit")
		return strings.Contains(log, "action=reload")
	})
	for _, want := range []string{
		fmt.Sprintf(`uid=1002 user=bob action=cancel target="job %d" outcome=refused`, id),
		`uid=1002 user=bob action=pause target="GPU 0" outcome=refused`,
		`uid=0 user=root action=pause target="GPU 0" outcome=done`,
		fmt.Sprintf(`uid=0 user=root action=cancel target="job %d" outcome=done`, id),
		`uid=0 user=root action=reload target=settings outcome=done`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("%q is not in the audit log:\n%s", want, log)
		}
	}
	if strings.Contains(log, "secret") {
		t.Errorf("the audit log tells of a command:\n%s", log)
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
