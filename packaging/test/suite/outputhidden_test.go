//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestOutputOfADirectorysUID: systemd reserves some ranges of uids, but some directories give such
// uids to accounts. journald hides the output of these accounts. The commands submit, run and logs
// say so, and --log helps. A journald before version 253 does not hide the output of all these
// ranges.
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
		poll(t, "the output is read", func() bool { return sh(t, user, "gpusched logs") == "hello" })
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
	if code, found := runDoctor(t, user, "--gpu-ids 0"); code != 9 || !strings.Contains(found[0]["journal"].Detail, "can't read") {
		t.Errorf("doctor: %d, %+v", code, found[0])
	}
	logServes(t, user)

	// Imitate an upgrade from an older systemd, which made a journal file for the account. The file
	// is either empty or has entries.
	file := "/var/log/journal/*/user-$(id -u " + user + ").journal"
	t.Cleanup(func() { sh(t, "", "rm -f "+file) })
	sh(t, "alice", "gpusched run -q -g 0 -- echo hello")
	for _, lay := range []string{": >", "cat user-1001.journal >"} {
		sh(t, "", "cd /var/log/journal/*/; f=user-$(id -u "+user+").journal; "+lay+" $f; chmod 644 $f")
		for _, command := range []string{"submit -g 0 --wait -- sh -c 'echo traceback; exit 1'", "run -g 0 -- sh -c 'echo traceback; exit 1'", "logs"} {
			r := try(t, user, "gpusched "+command)
			if !strings.Contains(r.Stderr, "printed nothing, or its output is in the system's journal, which you can't read") {
				t.Errorf("%s, %s: %+v", lay, command, r)
			}
		}
	}
	if r := try(t, user, "gpusched submit -g 0 -- true"); !strings.Contains(r.Stderr, "what the job prints may go to the system's journal") {
		t.Errorf("submit: %+v", r)
	}
	if code, found := runDoctor(t, user, "--gpu-ids 0"); code != 9 || !strings.Contains(found[0]["journal"].Detail, "can't read") {
		t.Errorf("doctor: %d, %+v", code, found[0])
	}
	logServes(t, user)
}

// logServes checks that every command that shows output reads the output from the log file if the
// journal hides it.
func logServes(t *testing.T, user string) {
	t.Helper()
	shown := func(script, want string) {
		t.Helper()
		if r := try(t, user, script); r.Code != 0 || !strings.HasSuffix(r.Stdout, want) || strings.Contains(r.Stderr, "can't read") {
			t.Errorf("%s: %+v, want %q", script, r, want)
		}
	}
	shown("gpusched submit -g 0 --wait --log out -- echo hello && gpusched logs", "hello\nhello\n")
	shown("gpusched run -g 0 --log out -- printf 'hello again'", "hello again")
	shown("rm -f begun-* go; gpusched submit -q -g 0 --array 0-1 --log part-%a -- sh -c 'echo one; echo >begun-$GPUSCHED_ARRAY_TASK; "+
		"while [ ! -e go ]; do sleep 0.05; done; echo two'; gpusched logs -f >seen 2>&1 & "+
		"while ! [ -s seen -a -e begun-0 -a -e begun-1 ]; do sleep 0.05; done; touch go; wait; grep -c '_[01]: \\(one\\|two\\)$' seen; rm go", "\n4\n")
	settings(t, "[jobs]\nlog = \"%h/%j.txt\"")
	gpusSeen(t)
	shown("gpusched run -g 0 -- echo hello", "hello\n")
	if code, found := runDoctor(t, user, "--gpu-ids 0"); !strings.Contains(found[0]["journal"].Detail, "log") || found[0]["filter"].Health != job.Healthy {
		t.Errorf("doctor: %d, %+v", code, found[0])
	}
	sh(t, "", "rm /etc/gpusched/conf.d/90-suite.toml; systemctl restart gpusched")
	gpusSeen(t)
}

// TestOutputOfAnEarlierJob: if the state file is lost, job ids begin at 1 again, but the journal
// stays. The output of an earlier job with the same id is not shown as output of the new job.
func TestOutputOfAnEarlierJob(t *testing.T) {
	begin(t)
	const stop = "systemctl stop gpusched.socket gpusched.service; cd " + stateDir + "; "
	const ids = "/var/cache/gpusched/state.db.last" // ids begin at 1 again only if this file is lost too
	sh(t, "", stop+"mkdir /run/aside; mv state.db* /run/aside/; rm "+ids+"; "+startDaemon)
	t.Cleanup(func() { sh(t, "", stop+"rm -f state.db*; mv /run/aside/* .; rmdir /run/aside; "+startDaemon) })
	for _, word := range []string{"earlier", "later"} {
		awaitDaemon(t)
		for _, command := range []string{"run -q -g 0", "submit -g 0 --wait"} {
			r := try(t, "alice", "gpusched "+command+" -- echo "+word)
			if lines := strings.Fields(r.Stdout); r.Code != 0 || len(lines) == 0 || lines[len(lines)-1] != word ||
				word == "later" && strings.Contains(r.Stdout, "earlier") {
				t.Errorf("%s: %+v", command, r)
			}
		}
		if last := sh(t, "alice", "gpusched list -a -o ids | sort -n | tail -1"); last != "2" {
			t.Errorf("the last number is %s", last)
		}
		poll(t, "no unit is left, from which a job would be recovered", func() bool {
			return sh(t, "", "systemctl list-units --all --no-legend 'gpujob-*.service'") == ""
		})
		sh(t, "", stop+"rm -f state.db* "+ids+"; "+startDaemon)
	}
}

// TestOutputOpenedByName: a script in a job cannot open /dev/stderr, because a job's stderr is a
// socket. The error says what to write instead. In a job with --log the script works.
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
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if out := sh(t, "alice", "cat byname.txt; rm byname.txt"); out != "progress\ntrained" {
		t.Errorf("with a log: %q", out)
	}
}
