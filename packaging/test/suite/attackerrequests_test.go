//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/config"
)

// TestAttackerRequests: what no client sends is refused, slow and half-open
// connections are cut, who asks is what the kernel says of the process that
// connected, whatever it says, calls itself or becomes; and none of it keeps
// alice waiting.
func TestAttackerRequests(t *testing.T) {
	victim, _ := attacker(t)
	before := sh(t, "", "gpusched list --user bob -a -o ids")
	meanwhile(t, "malformed requests", func() {
		slow := make(chan string, 1)
		go func() { slow <- try(t, "bob", fmt.Sprintf("%s http %d", attackerPath, victim)).Stdout }()
		judge(t, try(t, "bob", fmt.Sprintf("%s identity %d", attackerPath, victim)).Stdout, 12)
		judge(t, <-slow, 290)
	})
	if ids := sh(t, "", "gpusched list --user bob -a -o ids"); ids != before {
		t.Errorf("jobs of bob's were let in: %s, before %s", ids, before)
	}
}

// TestAttackerFloods: an account that asks for all it can, or holds what it can,
// keeps no other from being answered.
func TestAttackerFloods(t *testing.T) {
	settings(t, "[quota.default]\nqueued = 50")
	attacker(t)
	for _, kind := range []string{"list", "ids", "dryrun", "jobs", "broken", "hold", "drip", "crowd"} {
		open := openFiles(t, func() {
			meanwhile(t, "flood "+kind, func() {
				t.Log(sh(t, "bob", fmt.Sprintf("%s flood %s 2", attackerPath, kind)))
			})
		})
		t.Logf("flood %s: the scheduler had %d more files open at most", kind, open)
		conns := config.Default().Limits.UserConns
		most := conns + 64 // some are those of others, and of bob's that are just being turned away
		if kind == "dryrun" || kind == "jobs" {
			most += 4 * conns // who submits is looked up: two directories of /proc, and a file of each
		}
		if open > most || kind == "hold" && open < conns/2 {
			t.Errorf("flood %s: the scheduler had %d more files open, of a user's connections it takes %d", kind, open, conns)
		}
	}
	if n := len(strings.Fields(sh(t, "", "gpusched list --user bob -o ids"))); n != 50 {
		t.Errorf("bob has %d jobs waiting, his quota is 50", n)
	}
	ended(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	t.Logf("the scheduler's memory at its most: %s KiB", sh(t, "", "awk '/VmHWM/ {print $2}' /proc/"+daemonPID(t)+"/status"))
	sh(t, "", "gpusched cancel $(gpusched list --user bob -o ids | paste -sd,)")
}

// TestAttackerOutput: a job that prints as fast as it can, escape codes too,
// keeps no other's output from being read, and reaches no terminal but its
// owner's. Its lines are long, as a job has eight megabytes of them on the way to
// journald: of short ones that is minutes of journald's work, and whatever reads
// the journal next waits for it.
func TestAttackerOutput(t *testing.T) {
	attacker(t)
	meanwhile(t, "flood of output", func() {
		loud := submit(t, "bob", `-g 0 -- bash -c 'printf "\033[31mred\033]0;title\007\n"; timeout 3 yes $(printf "\033[2J%0300d")'`)
		id := submit(t, "alice", "-g 0 -- echo my-line")
		printed(t, id, "my-line")
		ended(t, wait(t, loud), "failed", "exit code 124")
		out := strings.ReplaceAll(strings.TrimRight(sh(t, "", fmt.Sprintf("script -qec 'gpusched logs -n 100 %d' /dev/null </dev/null", loud)), "\r\n"), "\r\n", "\n")
		if !strings.Contains(out, "[2J") || rawBytes(out) != "" {
			t.Errorf("root's terminal gets %s of bob's: %.100q", rawBytes(out), out)
		}
		if out := sh(t, "bob", fmt.Sprintf("gpusched logs %d | head -1", loud)); !strings.Contains(out, "\x1b[31mred") {
			t.Errorf("bob's own colours are gone: %q", out)
		}
	})
}
