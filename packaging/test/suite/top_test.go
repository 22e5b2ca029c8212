//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestTop: on a real terminal, 'gpusched top' shows the state, obeys its keys and adapts to a new
// size. It keeps its picture while the daemon is down, and restores the terminal when it ends.
func TestTop(t *testing.T) {
	begin(t)
	t.Cleanup(func() { try(t, "alice", "tmux -L top kill-server") })
	tmux := func(format string, args ...any) string {
		t.Helper()
		return sh(t, "alice", "tmux -L top "+fmt.Sprintf(format, args...))
	}
	shows := func(name, pattern string) (pane string) {
		t.Helper()
		re := regexp.MustCompile(pattern)
		poll(t, fmt.Sprintf("terminal %s shows %s", name, pattern), func() bool {
			pane = try(t, "alice", "tmux -L top capture-pane -p -t "+name).Stdout
			the.lastOutcome.Store(&pane)
			return re.MatchString(pane)
		})
		return pane
	}
	types := func(name, keys string) { t.Helper(); tmux("send-keys -t %s %s", name, keys) }

	id := submit(t, "alice", "-g 1 -t 2h -n größe-模型 -- sh -c 'while :; do echo one more line; sleep 1; done'")
	sh(t, "alice", "TERM=xterm-256color tmux -L top new-session -d -s a -x 80 -y 24 'gpusched top; echo left with $?; cat'")
	row := fmt.Sprintf(`(?m)^ *%d alice +größe-模型 running +0 +\d+s +\S+`, id)
	pane := shows("a", row)
	for _, part := range []string{`you: 1 running on 1 GPU`, `(?m)^  0 A100-SXM4 .* 0/80G +\d+C +\d+W ` + fmt.Sprint(id) + ` alice$`, `(?m)^  3 A100-SXM4 `} {
		if !regexp.MustCompile(part).MatchString(pane) {
			t.Errorf("the screen lacks %s:\n%s", part, pane)
		}
	}
	for i, line := range strings.Split(strings.TrimRight(pane, "\n"), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("line %d has %d characters", i+1, n)
		}
	}

	types("a", "s")
	shows("a", fmt.Sprintf(`gpusched show %d\n(?s).*command +sh -c`, id))
	types("a", "q")
	shows("a", row)
	types("a", "l")
	shows("a", `one more line\none more line\none more line\n`)
	types("a", "q")
	shows("a", row)

	types("a", "Tab p y")
	shows("a", `GPU 0 was not paused: only administrators may do this`)
	tmux("resize-window -t a -x 40 -y 10")
	shows("a", `(?m)^GPU UTIL MEMORY   USED/OF JOBS`)
	shows("a", fmt.Sprintf(`(?m)^ *%d alice running 0 +\d+s$`, id))
	tmux("resize-window -t a -x 120 -y 40")
	shows("a", `(?m)^GPU MODEL          UTIL LAST 60 S            MEMORY `)

	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	shows("a", `no answer for \d+s, this is from \d\d:\d\d:\d\d: `)
	shows("a", row)
	sh(t, "", "systemctl start gpusched.socket gpusched.service")
	poll(t, "the answer is new", func() bool { return !strings.Contains(tmux("capture-pane -p -t a"), "no answer") })

	types("a", "Tab c")
	shows("a", fmt.Sprintf(`Cancel job %d \(größe-模型\), which is running\? +\[y/N\]`, id))
	types("a", "y")
	mustEnd(t, wait(t, id), "cancelled", "cancelled by alice")
	shows("a", `no jobs`)
	types("a", "C-z") // Ctrl-Z does nothing, because no shell could resume top
	shows("a", `cannot suspend: no shell started this`)
	types("a", "q")
	shows("a", `(?m)^left with 0$`)
	if mode := tmux("display -p -t a '#{alternate_on} #{cursor_flag}'"); mode != "0 1" {
		t.Errorf("the terminal was left with %s", mode)
	}
}

// TestTopPlain: on a terminal without colours and UTF-8, 'gpusched top' prints plain ASCII. If a
// shell started it, it can be suspended and resumed. An administrator can pause a GPU in it.
func TestTopPlain(t *testing.T) {
	begin(t)
	t.Cleanup(func() { try(t, "", "tmux -L plain kill-server") })
	keys := func(text string) { t.Helper(); sh(t, "", "tmux -L plain send-keys "+text) }
	shows := func(pattern string) (pane string) {
		t.Helper()
		re := regexp.MustCompile(pattern)
		poll(t, "the terminal shows "+pattern, func() bool {
			pane = try(t, "", "tmux -L plain capture-pane -p -e").Stdout
			the.lastOutcome.Store(&pane)
			return re.MatchString(pane)
		})
		return pane
	}
	sh(t, "", "TERM=xterm-256color tmux -L plain new-session -d -x 80 -y 24 bash --norc")
	keys("'TERM=vt100 PS1=ready: NO_COLOR=1; export TERM NO_COLOR; gpusched top' Enter")
	pane := shows(`(?m)^\S*  0\S* A100-SXM4 .* [0-9 ]{12} \.{10} `)
	for _, r := range pane {
		if r > '~' {
			t.Errorf("there is %q on the screen:\n%s", r, pane)
			break
		}
	}
	if colours := regexp.MustCompile(`\x1b\[[0-9;]*3[1-7]m`).FindString(pane); colours != "" {
		t.Errorf("there are colours: %q", colours)
	}
	keys("Tab j p y")
	shows(`GPU 1 is paused`)
	shows(`(?m)^.*  1.* A100-SXM4 .* paused`)
	keys("p y")
	shows(`GPU 1 is resumed`)
	keys("C-z")
	shows(`Stopped +.*gpusched top`)
	keys("fg Enter")
	shows(`A100-SXM4`)
	keys("C-c")
	shows(`(?m)ready: *$`)
}
