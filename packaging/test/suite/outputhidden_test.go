//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestOutputOfADirectorysUID: accounts with uids that systemd has set aside, as directories
// give them to people, are told by submit, run and logs where journald keeps their output from
// them; a log serves then. An older journald has a file for the uids of containers.
func TestOutputOfADirectorysUID(t *testing.T) {
	begin(t)
	old := sh(t, "", `[ "$(systemctl --version | awk '{ print $2; exit }')" -lt 253 ] && echo old || true`) == "old"
	for user, uid := range map[string]int{"aduser": 1234600500, "dynamic": 62000} {
		sh(t, "", fmt.Sprintf("useradd -m -u %d %s", uid, user))
		t.Cleanup(func() { sh(t, "", "userdel -r "+user) })
		if user == "dynamic" || !old {
			outputIsHidden(t, user)
			continue
		}
		if r := try(t, user, "gpusched submit -g 0 --wait -- echo hello"); r.Code != 0 || strings.Contains(r.Stderr, "can't read") {
			t.Errorf("submit: %+v", r)
		}
		until(t, "the output is read", func() bool { return sh(t, user, "gpusched logs") == "hello" })
	}
	if out := sh(t, "", "gpusched health || true"); !strings.Contains(out, "61184 to 65519") || strings.Contains(out, "524288 to 1879048191") == old {
		t.Errorf("health: %s", out)
	}
}

func outputIsHidden(t *testing.T, user string) {
	t.Helper()
	r := try(t, user, "gpusched submit -g 0 --wait -- echo hello")
	if r.Code != 0 || !strings.Contains(r.Stderr, "the system's journal, which you can't read") {
		t.Errorf("submit: %+v", r)
	}
	if r := try(t, user, "gpusched logs"); r.Code != 4 || !strings.Contains(r.Stderr, "--log FILE") || strings.Contains(r.Stderr, "printed nothing") {
		t.Errorf("logs: %+v", r)
	}
	if r := try(t, user, "gpusched run -g 0 -- echo hello"); r.Code != 0 || !strings.Contains(r.Stderr, "is not shown: systemd") {
		t.Errorf("run: %+v", r)
	}
	if r := try(t, user, "gpusched submit -g 0 --wait --log out -- echo hello && gpusched logs"); !strings.HasSuffix(r.Stdout, "\nhello\n") || r.Code != 0 {
		t.Errorf("with a log: %+v", r)
	}
}

// TestOutputOpenedByName: a script that opens /dev/stderr, which is a socket, is told what
// to do instead, and with a log it can.
func TestOutputOpenedByName(t *testing.T) {
	begin(t)
	const script = `-g 0 %s-- bash -ec 'echo progress >/dev/stderr; echo trained'`
	r := try(t, "alice", "gpusched run "+fmt.Sprintf(script, ""))
	if r.Code != 1 || !strings.Contains(r.Stderr, "write '>&2'") {
		t.Errorf("run: %+v", r)
	}
	if r := try(t, "alice", "gpusched logs"); !strings.Contains(r.Stderr, "write '>&2'") {
		t.Errorf("logs: %+v", r)
	}
	id := submit(t, "alice", fmt.Sprintf(script, "--log byname.txt "))
	ended(t, wait(t, id), "completed", "exit code 0")
	if out := sh(t, "alice", "cat byname.txt; rm byname.txt"); out != "progress\ntrained" {
		t.Errorf("with a log: %q", out)
	}
}
