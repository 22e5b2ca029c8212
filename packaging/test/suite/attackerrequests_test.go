//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestAttackerRequests: malformed requests are refused, and slow and half-open
// connections are closed. The caller of a request is always the account that
// the kernel reports for the connecting process, whatever name or account the
// process claims or takes later. Alice's requests are answered meanwhile.
func TestAttackerRequests(t *testing.T) {
	victim, _ := attacker(t)
	before := sh(t, "", "gpusched list --user bob -a -o ids")
	measureDuring(t, "malformed requests", func() {
		slow := make(chan string, 1)
		go func() { slow <- try(t, "bob", fmt.Sprintf("%s http %d", attackerPath, victim)).Stdout }()
		judge(t, try(t, "bob", fmt.Sprintf("%s identity %d", attackerPath, victim)).Stdout, 12)
		judge(t, <-slow, 290)
	})
	if ids := sh(t, "", "gpusched list --user bob -a -o ids"); ids != before {
		t.Errorf("jobs of bob's were queued: %s, before %s", ids, before)
	}
}

// TestAttackerFloods: an account sends as many requests or keeps as many connections open as it
// can. This delays no other account.
func TestAttackerFloods(t *testing.T) {
	settings(t, "[quota.default]\nqueued = 50")
	attacker(t)
	for _, kind := range []string{"list", "ids", "dryrun", "jobs", "broken", "hold", "drip", "crowd"} {
		// The requests of the last flood may still be charged to bob. The next flood would then be refused from the
		// first to the last request.
		sh(t, "bob", "until gpusched list >/dev/null 2>&1; do sleep 0.1; done")
		open := openFiles(t, func() {
			measureDuring(t, "flood "+kind, func() {
				t.Log(sh(t, "bob", fmt.Sprintf("%s flood %s 2", attackerPath, kind)))
			})
		})
		t.Logf("flood %s: the daemon had at most %d more files open", kind, open)
		conns := config.Default().Limits.UserConns
		most := conns + 64 // 64 more: connections of other users, and refused connections of bob's
		if kind == "dryrun" || kind == "jobs" {
			most += 4 * conns // to look up a submitter, the daemon opens two directories of /proc and a file in each
		}
		if open > most || kind == "hold" && open < conns/2 {
			t.Errorf("flood %s: the daemon had %d more files open; a user may have %d connections", kind, open, conns)
		}
	}
	if n := len(strings.Fields(sh(t, "", "gpusched list --user bob -o ids"))); n != 50 {
		t.Errorf("bob has %d jobs waiting, his quota is 50", n)
	}
	mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	t.Logf("the daemon's peak memory: %s KiB", sh(t, "", "awk '/VmHWM/ {print $2}' /proc/"+daemonPID(t)+"/status"))
	sh(t, "", "gpusched cancel $(gpusched list --user bob -o ids | paste -sd,)")
}

// TestAttackerOutput: a job prints as fast as it can, including escape codes. Other jobs' output
// can still be read, and the escape codes reach only the terminal of the job's owner. The job
// prints long lines, because up to eight megabytes of its output can wait for journald. In short
// lines, so much output would keep journald busy for minutes and delay everybody who then reads the
// journal.
func TestAttackerOutput(t *testing.T) {
	attacker(t)
	measureDuring(t, "flood of output", func() {
		loud := submit(t, "bob", `-g 0 -- bash -c 'printf "\033[31mred\033]0;title\007\n"; timeout 3 yes $(printf "\033[2J%0300d")'`)
		id := submit(t, "alice", "-g 0 -- echo my-line")
		waitText(t, id, "my-line")
		mustEnd(t, wait(t, loud), "failed", "exit code 124")
		out := strings.ReplaceAll(strings.TrimRight(sh(t, "", fmt.Sprintf("script -qec 'gpusched logs -n 100 %d' /dev/null </dev/null", loud)), "\r\n"), "\r\n", "\n")
		if !strings.Contains(out, "[2J") || rawBytes(out) != "" {
			t.Errorf("root's terminal gets %s of bob's: %.100q", rawBytes(out), out)
		}
		if out := sh(t, "bob", fmt.Sprintf("gpusched logs %d | head -1", loud)); !strings.Contains(out, "\x1b[31mred") {
			t.Errorf("bob's own colours are gone: %q", out)
		}
	})
}
