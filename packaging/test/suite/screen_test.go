//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// sessionOf returns the name of a running job's GNU screen session.
func sessionOf(t *testing.T, id int64) string {
	t.Helper()
	var name string
	poll(t, fmt.Sprintf("job %d has a session", id), func() bool {
		name = strings.TrimSpace(sh(t, "alice", fmt.Sprintf("gpusched screens -o csv | awk -F, '$2 == \"%d\" { print $1 }'", id)))
		return name != "" && strings.Contains(try(t, "alice", "screen -ls").Stdout, "."+name+"\t")
	})
	return name
}

// noSessions waits until none of alice's sessions is left.
func noSessions(t *testing.T, after string) {
	t.Helper()
	poll(t, "no session is left after "+after, func() bool { return try(t, "", "ls /run/screen/S-alice").Stdout == "" })
}

// TestScreen: a job runs in a GNU screen session. Its user attaches to the session with a real
// terminal; input and output work. The session is in the job's unit. The journal has the output of
// the command, and the job has the command's exit status. No other user can attach.
func TestScreen(t *testing.T) {
	begin(t)
	t.Cleanup(func() {
		try(t, "alice", "tmux -L screen kill-server; gpusched cancel name:shown; rm -f ~/window ~/.screenrc")
	})
	id := submit(t, "alice", `--screen -g 1 -n shown -- bash -c 'printf "\033[31mred\033[0m $GPUSCHED_GPU_IDS $TERM\n"; while read x; do
		if [ "$x" = end ]; then exit 7; fi; echo "got $x at $(stty size)"; done' x --mode test`)
	name := sessionOf(t, id)
	if want := fmt.Sprintf("gpujob_%d_test_%d", show(t, "alice", id).GPUs[0].Index, id); name != want {
		t.Errorf("the session is %s, not %s", name, want)
	}
	if told := sh(t, "alice", fmt.Sprintf("gpusched screens; gpusched screens --json; gpusched show %d", id)); strings.Count(told, name) != 4 {
		t.Errorf("screens and show say %s", told)
	}
	pane := func(part string) {
		t.Helper()
		poll(t, part+" is on the screen", func() bool {
			return strings.Contains(sh(t, "alice", "tmux -L screen capture-pane -p -e"), part)
		})
	}
	sh(t, "alice", "TERM=xterm-256color tmux -L screen new-session -d -x 91 -y 31 'screen -r "+name+"; echo left; cat'")
	pane("\x1b[31mred")
	sh(t, "alice", "tmux -L screen send-keys first Enter")
	pane("got first at 3") // the window has 30 or 31 lines, because tmux's status line may take one
	sh(t, "alice", "screen -S "+name+` -X screen sh -c 'cat /proc/self/cgroup >~/window; for i in 0 1 2 3; do (: </dev/nvidia$i) 2>/dev/null || echo closed >>~/window; done'`)
	poll(t, "another window is in the job's unit, behind its filter", func() bool {
		got := try(t, "alice", "cat ~/window").Stdout
		return strings.Contains(got, fmt.Sprintf("gpujob-%d.service", id)) && strings.Count(got, "closed") >= 3
	})
	sh(t, "", killDaemon)
	sh(t, "alice", "tmux -L screen send-keys second Enter")
	pane("got second at")
	sh(t, "alice", "tmux -L screen send-keys C-a d")
	pane("left")

	if r := try(t, "bob", "gpusched screens; screen -r alice/"+name); !strings.Contains(r.Stdout, "no job of yours runs in a session") || r.Code == 0 {
		t.Errorf("bob gets %+v", r)
	}
	sh(t, "alice", "screen -S "+name+` -p 0 -X stuff 'end\n'`)
	mustEnd(t, wait(t, id), "failed", "exit code 7")
	if got := output(t, "alice", id); !strings.Contains(got, "got first at 3") || !strings.Contains(got, "got second at") {
		t.Errorf("the journal has %q", got)
	}
	noSessions(t, "its end")
}

// TestScreenLeavesNothing: however a job ends, nothing is left of its session. Each attempt and
// task has its own session. If no session is possible, the job runs without one.
func TestScreenLeavesNothing(t *testing.T) {
	begin(t)
	const deaf = `-- bash -c 'trap "" TERM HUP; echo deaf; while :; do sleep 0.1; done'`
	for how, act := range map[string]string{
		"kill -9":                        "systemctl kill -s KILL gpujob-%d",
		"a cancel that SIGKILL finishes": "gpusched cancel %d",
		// 'gpusched update' refuses a time limit that has already passed, so the loop tries longer
		// limits.
		"a time limit": "for s in 1 5 20; do gpusched update --time ${s}s %d && exit; done; exit 1",
	} {
		id := submit(t, "alice", "--screen -g 0 -t 1h --grace 1s "+deaf)
		sessionOf(t, id)
		waitText(t, id, "deaf")
		sh(t, "", fmt.Sprintf(act, id))
		wait(t, id)
		noSessions(t, how)
	}
	for range 5 {
		id := submit(t, "alice", "--screen -g 0 -- sleep 1h")
		sessionOf(t, id)
		sh(t, "alice", fmt.Sprintf("gpusched cancel --now %d", id))
		wait(t, id)
		noSessions(t, "a cancel --now")
	}
	id := submit(t, "alice", "--screen -g 0 -t 1h -- sleep 1h")
	first := sessionOf(t, id)
	sh(t, "alice", fmt.Sprintf("gpusched requeue %d", id))
	poll(t, "it runs again", func() bool { j := show(t, "alice", id); return j.Attempt == 2 && j.State == "running" })
	if again := sessionOf(t, id); again != first {
		t.Errorf("the second attempt is in %s, the first was in %s", again, first)
	}
	cancel(t, "alice", id)
	array := submit(t, "alice", "--screen -g 0 --array 0-1 -t 1h -- sleep 1h")
	for task := range 2 {
		want := fmt.Sprintf("gpujob_none_cpu_%d_%d", array, task)
		poll(t, want+" is there", func() bool {
			return strings.Contains(try(t, "alice", "screen -ls; gpusched screens").Stdout, want)
		})
	}
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", array))
	noSessions(t, "a cancelled array")

	for what, prepare := range map[string]string{
		"a link":          "rm -rf /run/screen/S-alice; ln -s /etc /run/screen/S-alice; chown -h alice: /run/screen/S-alice",
		"somebody else's": "rm -rf /run/screen/S-alice; install -d -m 700 -o bob /run/screen/S-alice; touch /run/screen/S-alice/1.x",
	} {
		sh(t, "", prepare)
		id, release := submitHold(t, "alice", "--screen -g 0", "echo done; exit 3")
		waitText(t, id, "has no session of GNU screen")
		release()
		mustEnd(t, wait(t, id), "failed", "exit code 3")
		if got := waitText(t, id, "done"); !strings.Contains(got, "has no session of GNU screen") {
			t.Errorf("with %s in the place of the directory the job prints %q", what, got)
		}
	}
	sh(t, "", "rm -rf /run/screen/S-alice")
}
