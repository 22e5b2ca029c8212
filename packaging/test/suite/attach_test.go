//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttachAgain: a user who attaches again after a broken connection sees the last screenful of
// the job's terminal. Several terminals can be attached at once. All of them stay attached during
// the job's next attempt and exit with the status of that attempt.
func TestAttachAgain(t *testing.T) {
	begin(t)
	t.Cleanup(func() { try(t, "alice", "tmux -L again kill-server; gpusched cancel name:again; rm -f again.sh") })
	const job = `for i in $(seq 60); do echo "line $i of attempt $GPUSCHED_ATTEMPT"; done
		while read x; do if [ "$x" = finish ]; then exit 7; fi; echo "got $x"; done`
	sh(t, "alice", "cat >again.sh <<'END'\n"+job+"\nEND")
	opens := func(name, command string) {
		t.Helper()
		sh(t, "alice", fmt.Sprintf("TERM=xterm-256color tmux -L again new-session -d -s %s -x 120 -y 30 '%s; echo left with $?; cat'", name, command))
	}
	shows := func(name, part string) (pane string) {
		t.Helper()
		poll(t, fmt.Sprintf("terminal %s shows %q", name, part), func() bool {
			pane = try(t, "alice", "tmux -L again capture-pane -p -S -200 -t "+name).Stdout
			return strings.Contains(pane, part)
		})
		return pane
	}
	types := func(name, text string) { sh(t, "alice", "tmux -L again send-keys -t "+name+" "+text+" Enter") }

	opens("first", "gpusched run --tty -g 0 -t 1h -n again -- sh again.sh")
	shows("first", "line 60 of attempt 1")
	id := strings.TrimSpace(sh(t, "alice", "gpusched list -o ids --mine"))
	sh(t, "alice", "pkill -9 -f '^gpusched run --tty .*again'")
	shows("first", "left with 137")

	opens("second", "gpusched attach "+id)
	if pane := shows("second", "line 60 of attempt 1"); !strings.Contains(pane, "line 40 of attempt 1\nline 41 of attempt 1\n") {
		t.Errorf("a terminal that attaches again shows %q", pane)
	}
	opens("third", "gpusched attach "+id)
	shows("third", "line 60 of attempt 1")
	types("second", "one")
	types("third", "two")
	for _, name := range []string{"second", "third"} {
		shows(name, "got one")
		shows(name, "got two")
	}

	sh(t, "alice", "gpusched requeue "+id)
	for _, name := range []string{"second", "third"} {
		shows(name, "line 60 of attempt 2")
		shows(name, "runs again; Ctrl-P Ctrl-Q leaves it")
	}
	types("third", "three")
	shows("second", "got three")
	types("second", "finish")
	for _, name := range []string{"second", "third"} {
		shows(name, "left with 7")
	}
}

// TestRunWithoutATerminal: 'gpusched run' gives its job no input, even if there is some on its own
// stdin. Commands that need a terminal say so and queue nothing.
func TestRunWithoutATerminal(t *testing.T) {
	begin(t)
	for _, from := range []string{"</dev/null", "<<<typed", "<&-"} {
		if r := try(t, "alice", "gpusched run -q -g 0 -- sh -c 'cat; tty; echo over; exit 3' "+from); r.Stdout != "not a tty\nover\n" || r.Code != 3 {
			t.Errorf("run %s prints %q and exits %d: %s", from, r.Stdout, r.Code, r.Stderr)
		}
		mustFail(t, "alice", "gpusched run --tty -g 0 -- true "+from, 2, "there is no terminal here")
	}
	if ids := sh(t, "alice", "gpusched list -o ids --mine"); ids != "" {
		t.Errorf("queued: %s", ids)
	}
}
