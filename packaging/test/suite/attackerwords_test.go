//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestAttackerWords: the daemon refuses control characters in texts that every user sees. Texts
// that only the job sees arrive byte for byte, control characters included. No control character
// reaches another user's terminal unescaped.
func TestAttackerWords(t *testing.T) {
	attacker(t)
	since := " --since '" + sh(t, "", "date +'%Y-%m-%d %H:%M:%S'") + "'" // entries before this time contain tabs
	esc := []string{`$'\e[31mred'`, `$'\e]0;x\a'`, `$'a\nb'`, `$'a\rb'`, `$'a\tb'`, `$'\x9b31m'`, `$'\xff\xfe'`, `$'\u202eexe.py'`, `$'\u200b'`, `$'\x7f'`}
	n := 0
	for _, word := range esc {
		for _, option := range []string{"--name ", "--comment ", "--tag k=", "--tag x", "--gpu-type ", "--priority ", "--mem ", "--time ", "--gpus ", "--array ", "--after ", "--begin ", "--signal ", "--env "} {
			r := try(t, "bob", "gpusched submit -q -g 0 "+option+word+" -- true </dev/null")
			if r.Code != 2 || rawBytes(r.Stderr) != "" {
				t.Errorf("bob: %s%s exits %d: %q", option, word, r.Code, r.Stderr)
			}
			n++
		}
		for _, cmd := range []string{"show ", "cancel ", "list --user ", "list --name ", "wait name:", "gpu pause ", "logs ", "nosuch", "list --state ", "help "} {
			r := try(t, "bob", "gpusched "+cmd+word+" </dev/null")
			if r.Code == 0 && cmd != "list --name " || rawBytes(r.Stderr) != "" {
				t.Errorf("bob: %s%s exits %d: %q", cmd, word, r.Code, r.Stderr)
			}
			n++
		}
		// Only the job sees this command, which either runs or is not found.
		id := submit(t, "bob", "-g 0 -e UGLY="+strings.ReplaceAll(word, `\xff\xfe`, "")+" -- bash -c 'printf %s \"$1\" | od -An -tx1; echo seen' x "+word+" 2>/dev/null || gpusched submit -q -g 0 -- bash -c 'printf %s \"$1\" | od -An -tx1; echo seen' x "+word)
		want := sh(t, "bob", "printf %s "+word+" | od -An -tx1")
		if got := waitText(t, id, "seen"); !strings.Contains(got, want) {
			t.Errorf("%s arrives as %q, not %q", word, got, want)
		}
		gone := submit(t, "bob", "-g 0 --force -- "+word+" x")
		if j := wait(t, gone); j.State != "failed" {
			t.Errorf("%s runs: %+v", word, j)
		}
		n += 2
	}
	sh(t, "bob", `head -c 2000000 /dev/zero | tr '\0' x > ~/big; head -c 100000 ~/big > ~/part`)
	for what, line := range map[string]string{
		"an argument of 2 MiB":          `gpusched submit -q -g 0 -- true "$(cat ~/big)"`,
		"a variable of 2 MiB":           `gpusched submit -q -g 0 -e BIG="$(cat ~/big)" -- true`,
		"3 MiB of arguments in pieces":  `gpusched submit -q -g 0 -- true $(for i in $(seq 30); do cat ~/part; echo; done)`,
		"a variable without a name":     `gpusched submit -q -g 0 -e =x -- true`,
		"a parameter that is not text":  `gpusched submit -q -g 0 --param a=$'\xff' -- echo {a}`,
		"a variable that is not text":   `gpusched submit -q -g 0 -e A=$'\xff' -- true`,
		"a sweep that swells":           `gpusched submit -q -g 0 --param a="$(cat ~/part)" -- true "{a}{a}"`,
		"a name as long as a file":      `gpusched submit -q -g 0 -n "$(head -c 5000 ~/big)" -- true`,
		"a submission of nothing":       `gpusched submit -q -g 0 --`,
		"a submission of an empty word": `gpusched submit -q -g 0 -- ""`,
	} {
		if r := try(t, "bob", line+" </dev/null"); r.Code == 0 {
			t.Errorf("%s is accepted: %.200s", what, r.Stdout)
		}
		n++
	}
	views := []string{"gpusched list -a", "gpusched list -a -o wide", "gpusched list -a -o csv", "gpusched list -a --json", "gpusched status", "gpusched health", "gpusched gpus",
		"for i in $(gpusched list -a -o ids); do gpusched show $i; gpusched why $i; systemctl status gpujob-$i; done 2>&1"}
	for _, user := range []string{"alice", ""} {
		for _, view := range append(views, "journalctl -q -a -o cat -u gpusched -u gpusched.socket"+since, "journalctl -q -a -o cat _PID=1 --since -2min") {
			if user != "" && strings.HasPrefix(view, "journalctl") {
				continue
			}
			if out := try(t, user, view).Stdout; rawBytes(out) != "" {
				t.Errorf("%s: %q shows %s", who(user), view, rawBytes(out))
			}
			n++
		}
	}
	t.Logf("%d attempts refused: words", n)
}

// TestAttackerProcessNames: the name of a process on a GPU is shown escaped.
func TestAttackerProcessNames(t *testing.T) {
	attacker(t)
	sh(t, "bob", `cp "$(command -v simcuda)" ~/$'\e[31m\nx'`)
	id := submit(t, "bob", `--gpu-ids 0 -C ~ -- bash -c 'exec ~/$'"'\\e[31m\\nx'"' --mem 1G --hold 1000'`)
	waitRun(t, id)
	poll(t, "the process shows", func() bool {
		return strings.Contains(sh(t, "", "gpusched gpus --json"), fmt.Sprint(`"job": `, id))
	})
	for _, view := range []string{"gpusched gpus", "gpusched gpus -o wide", "gpusched gpus --json", "gpusched status", "gpusched show " + fmt.Sprint(id)} {
		if out := sh(t, "", view); rawBytes(out) != "" {
			t.Errorf("%s shows %s: %q", view, rawBytes(out), out)
		}
	}
	t.Log("5 attempts refused: names of processes")
}

// TestAttackerPaths: gpusched opens every path in an option as the job's account. An option
// therefore reaches nothing that the account cannot reach.
func TestAttackerPaths(t *testing.T) {
	_, pid := attacker(t)
	sh(t, "bob", `cd; mkdir -p d/closed loop; chmod 0 d/closed; mkfifo -m 666 fifo 2>/dev/null; ln -sfn /root root; ln -sfn ~alice home; ln -sfn a b; ln -sfn b a; ln -sfn /proc/1/root init; mkdir -p $'new\nline' $'\xff' $'\e[31m'`)
	n := 0
	for _, dir := range []string{"/root", "~/root", "~/a", "~/fifo", "/dev/null", "/dev/nvidia2", "/proc/1/root", "/proc/1/cwd", "~/init/root", "/proc/" + pid + "/cwd", "/proc/" + pid + "/root", "~/d/closed",
		"/var/lib/gpusched", "/etc/shadow", "/no/such", "/proc/self/fd/0", "/proc/self/fd/9", "~/" + strings.Repeat("x", 300), "/run/gpusched/gpusched.sock"} {
		id := submit(t, "bob", "-g 0 --force -C "+dir+" -- bash -c 'ls -a; cat private; echo was-here'")
		j := wait(t, id)
		if j.State != "failed" || j.Result.Launch != "chdir" {
			t.Errorf("in %s: %s %+v", dir, j.State, j.Result)
		}
		if out := output(t, "", id); strings.Contains(out, "was-here") || strings.Contains(out, "very-secret") || rawBytes(out) != "" {
			t.Errorf("in %s: %q", dir, out)
		}
		n++
	}
	for _, dir := range []string{`~/$'new\nline'`, `~/$'\e[31m'`} {
		id := submit(t, "bob", "-g 0 -C "+dir+" -- bash -c 'pwd | od -An -c; echo was-here'")
		waitText(t, id, "was-here")
		n++
	}
	for _, dir := range []string{"~/home", "/run/gpusched/specs"} { // the account may enter these directories, but not list them
		id := submit(t, "bob", "-g 0 -C "+dir+" -- bash -c 'ls; cat private; cat *; touch x; echo was-here'")
		if out := waitText(t, id, "was-here"); strings.Contains(out, "very-secret") || !strings.Contains(out, "Permission denied") {
			t.Errorf("in %s: %q", dir, out)
		}
		n++
	}
	for _, dir := range []string{`"$(for i in $(seq 2500); do printf /x; done)"`, `$'\xff'`} {
		if r := try(t, "bob", "gpusched submit -q -g 0 -C "+dir+" -- true"); r.Code != 2 {
			t.Errorf("-C %s exits %d: %s", dir, r.Code, r.Stderr)
		}
		n++
	}
	for _, line := range []string{"config check /etc/shadow", "config check ~/fifo", "config check /dev/zero", "config check /var/lib/gpusched/state.db", "config check ~/home/private", "config check /proc/1/mem"} {
		r := try(t, "bob", "timeout 10 gpusched "+line+" </dev/null")
		if r.Code == 0 || strings.Contains(r.Stdout+r.Stderr, "very-secret") || strings.Contains(r.Stdout+r.Stderr, "root:") || rawBytes(r.Stderr) != "" {
			t.Errorf("%s exits %d: %.200q", line, r.Code, r.Stderr)
		}
		n++
	}
	t.Logf("%d attempts refused: paths", n)
}
