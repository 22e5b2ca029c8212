//go:build machine

package suite

import (
	"slices"
	"strings"
	"testing"
)

// removeAtEnd removes accounts when the test ends.
func removeAtEnd(t *testing.T, names ...string) {
	t.Helper()
	t.Cleanup(func() {
		all := strings.Join(names, " ")
		// If an account was renamed, its group and subordinate ids still have the old name.
		try(t, "", "for name in "+all+"; do userdel -f -r $name; done; for name in "+all+
			"; do groupdel $name; sed -i /^$name:/d /etc/subuid /etc/subgid; done")
	})
}

// TestNumberOfARemovedAccount: an account with waiting jobs is removed, and a new account gets the
// same uid. The old jobs do not run as the new account. The new account can neither act on the old
// jobs nor read their commands, even after the jobs have ended. An administrator finds the jobs by
// the name of the old account.
func TestNumberOfARemovedAccount(t *testing.T) {
	begin(t)
	removeAtEnd(t, "kate", "liam")
	sh(t, "", "useradd -m -u 2010 kate")
	ended := sh(t, "", loginLine("kate", "sh -c 'gpusched run -g 0 -- true >&2; gpusched list -a --mine -o ids'"))
	sh(t, "", "gpusched daemon drain")
	t.Cleanup(func() { try(t, "", "gpusched daemon resume") })
	id := sh(t, "", loginLine("kate", `env TOKEN=kates gpusched submit -q -g 0 --chdir / -- sh -c 'echo $TOKEN; touch /home/liam/planted'`))
	later := sh(t, "", loginLine("kate", "gpusched submit -q -g 0 --chdir / --begin +1000h -- id"))
	sh(t, "", "userdel -r kate; useradd -m -u 2010 liam; gpusched daemon resume")
	const gone = "account kate is gone: uid 2010 is liam's now"
	for _, j := range []string{id, later} {
		poll(t, "job "+j+" says so", func() bool { return strings.Contains(sh(t, "", "gpusched why "+j), gone) })
	}
	if try(t, "", "test -e /home/liam/planted").Code == 0 {
		t.Error("it ran as liam")
	}
	for _, j := range []string{id, ended} {
		if out := sh(t, "", loginLine("liam", "gpusched show "+j)); strings.Contains(out, "TOKEN") || strings.Contains(out, "planted") {
			t.Errorf("liam reads: %s", out)
		}
		mustFail(t, "", loginLine("liam", "gpusched resubmit "+j), 4, "kate")
		mustFail(t, "", loginLine("liam", "gpusched logs "+j), 4, "kate")
	}
	for _, what := range []string{"cancel", "release", "update --name x", "hold"} {
		mustFail(t, "", loginLine("liam", "gpusched "+what+" "+id), 4, "kate")
	}
	own := sh(t, "", loginLine("liam", "sh -c 'gpusched run -g 0 -- true >&2; gpusched list -a --mine -o ids; gpusched history --mine -o ids'"))
	if list := strings.Fields(own); slices.Contains(list, id) || slices.Contains(list, ended) || len(list) == 0 {
		t.Errorf("liam's own jobs are %q", list)
	}
	if out := sh(t, "", "gpusched list -u kate; gpusched history -u kate"); !strings.Contains(out, id) || !strings.Contains(out, ended) {
		t.Errorf("kate's jobs are: %s", out)
	}
	mustFail(t, "", "gpusched list -u nobody-of-us", 2, "no account named")
	sh(t, "", "gpusched cancel -y -u kate")
	for _, j := range []string{later, id} {
		if out := sh(t, "", "gpusched show "+j); !strings.Contains(out, "cancelled") {
			t.Errorf("it is not cancelled: %s", out)
		}
	}
}

// TestRenamedAccount: an account with a new name looks like a new account that got the same uid.
// Only an administrator can tell gpusched that this is still the old account.
func TestRenamedAccount(t *testing.T) {
	begin(t)
	removeAtEnd(t, "mia", "mimi")
	sh(t, "", "useradd -m mia; gpusched daemon drain")
	t.Cleanup(func() { try(t, "", "gpusched daemon resume") })
	id := sh(t, "", loginLine("mia", "gpusched submit -q -g 0 --chdir / -- id -un"))
	sh(t, "", "usermod -l mimi mia; gpusched daemon resume")
	poll(t, "it is held", func() bool { return strings.Contains(sh(t, "", "gpusched why "+id), "account mia is gone") })
	sh(t, "", "gpusched release "+id+"; gpusched wait "+id)
	if out := sh(t, "", "gpusched logs "+id); !strings.Contains(out, "mimi") {
		t.Errorf("it ran as %s", out)
	}
	if out := sh(t, "", "gpusched list -a -u mimi"); !strings.Contains(out, id) {
		t.Errorf("it is not hers: %s", out)
	}
}

// TestReleaseFindsARenamedAccount: if 'gpusched release' is the first to notice that an account has
// a new name, it holds the account's jobs and asks the administrator. Jobs that their user had held
// stay held.
func TestReleaseFindsARenamedAccount(t *testing.T) {
	begin(t)
	removeAtEnd(t, "nora", "noemi")
	sh(t, "", "useradd -m -u 2012 nora; gpusched daemon drain")
	t.Cleanup(func() { try(t, "", "gpusched daemon resume") })
	waits := sh(t, "", loginLine("nora", "gpusched submit -q -g 0 --chdir / -- id -un"))
	held := sh(t, "", loginLine("nora", "gpusched submit -q --hold -g 0 --chdir / -- true"))
	sh(t, "", "usermod -l noemi nora")
	mustFail(t, "", "gpusched release -u nora", 1, "account nora is gone: uid 2012 is noemi's now")
	if out := sh(t, "", "gpusched release "+waits+" "+held); !strings.Contains(out, held+" is still held: it belongs to noemi") {
		t.Errorf("released: %s", out)
	}
	sh(t, "", "gpusched daemon resume; gpusched wait "+waits)
	if out := sh(t, "", "gpusched logs "+waits); !strings.Contains(out, "noemi") {
		t.Errorf("it ran as %s", out)
	}
	sh(t, "", "cd /; setpriv --reuid 2012 --regid 2012 --clear-groups gpusched release "+held+"; gpusched wait "+held)
}

// TestNumberOfADirectory: at each start of a job, the daemon asks the directory which account has
// the job's uid. While the directory does not answer, the job waits and 'gpusched why' says so. If
// another account takes over the uid, that account gets nothing of the old account, even if the
// daemon looked up the old name a moment ago.
func TestNumberOfADirectory(t *testing.T) {
	begin(t)
	addDirectory(t)
	sh(t, "", "sed -i 's/^passwd:.*/passwd: files hang extrausers/' /etc/nsswitch.conf; systemctl restart gpusched")
	late := sh(t, "", loginLine("dora", "gpusched submit -q --hold -g 0 -- true"))
	secret := sh(t, "", loginLine("dora", "env TOKEN=doras gpusched submit -q --hold -g 0 -- id"))
	sh(t, "", "touch /run/directory-hangs; sleep 1") // the daemon caches an answer for a second
	t.Cleanup(func() { try(t, "", "rm -f /run/directory-hangs") })
	sh(t, "", "gpusched release "+late)
	poll(t, "job "+late+" says so", func() bool {
		return strings.Contains(sh(t, "", "gpusched why "+late), "does not say whether uid 70001 is still dora")
	})
	sh(t, "", "rm /run/directory-hangs; systemctl reload gpusched; gpusched wait "+late) // then the daemon asks again
	sh(t, "", "sed -i 's/^dora/liam/' /var/lib/extrausers/passwd")
	mustFail(t, "", "sleep 1; gpusched release "+secret, 1, "account dora is gone: uid 70001 is liam's now")
	if out := sh(t, "", "gpusched why "+secret); !strings.Contains(out, "account dora is gone: uid 70001 is liam's now") {
		t.Errorf("why: %s", out)
	}
	liam := "cd /; setpriv --reuid 70001 --regid 70001 --clear-groups "
	if out := sh(t, "", liam+"gpusched show "+secret); strings.Contains(out, "TOKEN") {
		t.Errorf("liam reads: %s", out)
	}
	mustFail(t, "", liam+"gpusched release "+secret, 4, "dora")
	sh(t, "", "gpusched cancel -y -u dora")
}
