//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestWatchedFile: each line of a watched file runs once, although the watcher is killed again and
// again while it submits. The test also runs the watcher as a user service.
func TestWatchedFile(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -rf ~/.local/state/gpusched ~/ran ~/jobs.txt; touch ~/jobs.txt ~/ran")
	user := sh(t, "", "id -u alice")
	manager := "XDG_RUNTIME_DIR=/run/user/" + strings.TrimSpace(user) + " systemctl --user "
	unit := "gpusched-watch@$(systemd-escape --path ~/jobs.txt)"
	sh(t, "", "loginctl enable-linger alice")
	t.Cleanup(func() {
		try(t, "alice", manager+"stop "+unit)
		sh(t, "", "loginctl disable-linger alice")
		sh(t, "alice", "rm -rf ~/.local/state/gpusched ~/ran ~/jobs.txt")
	})

	const lines = 40
	sh(t, "alice", fmt.Sprintf("for i in $(seq %d); do echo \"echo $i >> ran\" >> ~/jobs.txt; done", lines))
	const watch = "systemd-run --quiet --collect --unit jobswatch --uid alice --property WorkingDirectory=/home/alice gpusched watch jobs.txt -- -g 0 -m 16M"
	end := func() {
		sh(t, "", "systemctl kill -s KILL jobswatch")
		poll(t, "it is gone", func() bool { return try(t, "", "systemctl is-active jobswatch").Code != 0 })
	}
	for i := range 5 {
		sh(t, "", watch)
		before := 2 + 4*i // a few jobs are queued after each start
		poll(t, "the watcher queues", func() bool { return printedNumber(t, "cat ~/.local/state/gpusched/files/*.jsonl | wc -l") > before })
		end()
		sh(t, "alice", fmt.Sprintf("echo 'echo more%d >> ran' >> ~/jobs.txt", i))
	}
	sh(t, "", watch)
	poll(t, "all lines have run", func() bool { return printedNumber(t, "sort -u ~/ran | wc -l") == lines+5 })
	end()

	poll(t, "alice's manager is up", func() bool { return try(t, "alice", manager+"show -P Version").Code == 0 })
	sh(t, "alice", manager+"start "+unit)
	sh(t, "alice", "echo 'echo service >> ran' >> ~/jobs.txt")
	poll(t, "the service has queued a line", func() bool { return printedNumber(t, "grep -c service ~/ran") == 1 })
	sh(t, "alice", manager+"stop "+unit)
	if out := sh(t, "alice", "gpusched import ~/jobs.txt; sort ~/ran | uniq -d"); !strings.HasPrefix(out, "0 jobs queued, 46 lines known already") || strings.Count(out, "\n") > 1 {
		t.Errorf("after all, import says and twice ran: %s", out)
	}
}

// printedNumber returns the number that a command prints if alice runs it.
func printedNumber(t *testing.T, line string) (n int) {
	t.Helper()
	fmt.Sscan(try(t, "alice", line).Stdout, &n)
	return n
}
