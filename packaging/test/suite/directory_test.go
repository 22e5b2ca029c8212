//go:build machine

package suite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// addDirectory connects the machine to a directory of accounts until the test ends. The directory
// consists of libnss-extrausers and a second module, which hangs while /run/directory-hangs exists.
// dora is in the group physics, like alice, and erik is in the group chiefs.
func addDirectory(t *testing.T) {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "libnss_hang.so.2")
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-Wl,-soname,libnss_hang.so.2", "-o", lib, "testdata/nss_hang.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(lib); err != nil {
		t.Fatal(err)
	}
	if err := the.CopyIn(t.Context(), lib, "/usr/lib/x86_64-linux-gnu/libnss_hang.so.2", 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sh(t, "", "rm -f /run/directory-hangs; mv /etc/nsswitch.conf.kept /etc/nsswitch.conf; rm -r /var/lib/extrausers/*; systemctl restart gpusched")
	})
	sh(t, "", `cp /etc/nsswitch.conf /etc/nsswitch.conf.kept
sed -i 's/^\(passwd\|group\):.*/\1: files extrausers hang/' /etc/nsswitch.conf
mkdir -p /var/lib/extrausers
printf 'dora:x:70001:70001:Dora:/home/dora:/bin/bash\nerik:x:70002:70002:Erik:/home/erik:/bin/bash\n' > /var/lib/extrausers/passwd
printf 'dora:x:70001:\nerik:x:70002:\nphysics:x:70100:dora,alice\nchiefs:x:70200:erik\n' > /var/lib/extrausers/group
: > /var/lib/extrausers/shadow
for u in dora erik; do install -d -o $u -g $u /home/$u; done`)
}

// loginLine returns a command line that runs the given command line as a user of the directory, as
// after a login.
func loginLine(user, line string) string {
	return "cd /home/" + user + " && env -i HOME=/home/" + user + " PATH=/usr/bin:/bin LANG=C.UTF-8 setpriv --reuid " + user + " --regid " + user + " --init-groups -- " + line
}

// TestDirectory: accounts that are not in /etc/passwd run jobs under
// their names, with the groups, home and shell from the directory.
// Groups of the directory can have quotas and can be administrators.
func TestDirectory(t *testing.T) {
	begin(t)
	addDirectory(t)
	settings(t, "[daemon]\nadmin_group = \"chiefs\"\n[quota.group.physics]\ngpus = 1\n[quota.user.erik]\ngpus = 2")
	if out := sh(t, "", "gpusched config check 2>&1"); strings.Contains(out, "warning") {
		t.Errorf("config check: %s", out)
	}
	first := sh(t, "", loginLine("dora", `gpusched submit -q --env login -g 1 -- sh -c 'echo $USER $HOME $SHELL; id -nG; exec sleep 1000'`))
	poll(t, "dora's job runs", func() bool { return strings.Contains(sh(t, "", "gpusched list -u dora"), "running") })
	if out := sh(t, "", "gpusched list; gpusched show "+first); !strings.Contains(out, "dora") || strings.Contains(out, "70001 ") {
		t.Errorf("there is no name: %s", out)
	}
	poll(t, "dora's job says who it is", func() bool {
		out := sh(t, "", "gpusched logs "+first)
		return strings.Contains(out, "dora /home/dora /bin/bash") && strings.Contains(out, "physics")
	})
	mustFail(t, "", loginLine("dora", "gpusched submit -g 2 -- true"), 6, "physics is 1")
	mustFail(t, "", loginLine("erik", "gpusched submit -g 3 -- true"), 6, "the quota of erik is 2")
	mustFail(t, "", "cd /; setpriv --reuid dora --regid dora --clear-groups gpusched submit -g 2 -- true", 6, "physics is 1")
	hers := submit(t, "alice", "-g 0 -- sleep 1000")
	mustFail(t, "", loginLine("dora", "gpusched cancel "+fmt.Sprint(hers)), 4, "")
	sh(t, "", loginLine("erik", "gpusched cancel "+first+" "+fmt.Sprint(hers)))
	sh(t, "", "sed -i s/erik$// /var/lib/extrausers/group") // erik has left chiefs, but his session still has the group
	healthSays(t, "the directory answers")
	sh(t, "", "systemctl restart gpusched") // without a restart, the daemon may use cached groups for up to a minute
	hers = submit(t, "alice", "-g 0 -- sleep 1000")
	mustFail(t, "", "cd /; setpriv --reuid erik --regid erik --groups 70200 gpusched cancel "+fmt.Sprint(hers), 4, "")
}

// TestDirectoryHangs: the daemon answers while the directory hangs. Jobs still start, although
// systemd asks the directory for each account's groups, and no job fails because of the directory.
func TestDirectoryHangs(t *testing.T) {
	begin(t)
	addDirectory(t)
	settings(t, "[quota.group.physics]\ngpus = 1")
	hold := sh(t, "", loginLine("dora", "gpusched submit -q --hold -g 0 -- true"))
	poll(t, "dora has a name", func() bool { return strings.Contains(sh(t, "", "gpusched list"), "dora") })
	sh(t, "", "touch /run/directory-hangs")
	t.Cleanup(func() { try(t, "", "rm -f /run/directory-hangs") })
	alice := "cd /; setpriv --reuid alice --regid alice --clear-groups "
	begun := time.Now()
	id := sh(t, "", alice+"gpusched submit -q -g 0 -- true")
	out := sh(t, "", alice+"gpusched list; gpusched list -u dora; gpusched status; gpusched why "+id)
	if !strings.Contains(out, "dora") {
		t.Errorf("a name that was known is not any more: %s", out)
	}
	mustFail(t, "", alice+"gpusched list -u nobody-of-us", 1, "does not answer")
	try(t, "", alice+"gpusched cancel "+hold)
	if took := time.Since(begun); took > 30*time.Second*the.slow {
		t.Errorf("all of that took %v", took)
	}
	poll(t, "health says so", func() bool { // root asks, because a command of another account would ask the directory
		// The text "last at" appears because an earlier lookup was answered.
		return strings.Contains(try(t, "", "gpusched health").Stdout, "got no answer, last at")
	})
	if out := sh(t, "", "timeout 10 gpusched config check 2>&1"); !strings.Contains(out, "ok") {
		t.Errorf("config check: %s", out)
	}
	sh(t, "", "rm /run/directory-hangs")
	healthSays(t, "the directory answers")
	sh(t, "", "gpusched wait "+id)
}

// TestSlowNamesOfADirectory: lookups of unknown names get no answer. Meanwhile administrators whose
// accounts are in the directory are still recognized, and other lookups are not delayed.
func TestSlowNamesOfADirectory(t *testing.T) {
	begin(t)
	addDirectory(t)
	settings(t, "[daemon]\nadmin_group = \"chiefs\"")
	sh(t, "", "systemctl restart gpusched") // the restart empties the cache
	sh(t, "bob", `for i in $(seq 6); do gpusched history -u slow$i >/dev/null 2>&1 & sleep 0.3; done`)
	begun := time.Now()
	mustFail(t, "bob", "gpusched history -u slow7", 1, "does not answer")
	for _, what := range []string{"drain", "resume"} {
		sh(t, "", loginLine("erik", "gpusched gpu "+what+" 3"))
	}
	mustFail(t, "alice", "gpusched history -u nobody-of-us", 2, "no account named")
	if took := time.Since(begun); took > 30*time.Second*the.slow {
		t.Errorf("all of that took %v", took)
	}
	if text, _ := health(t); strings.Contains(text, "no answer since") {
		t.Errorf("health: %s", text)
	}
}
