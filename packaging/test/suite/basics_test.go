//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestJobRunsAsItsSubmitter: a job has its submitter's uid, gid, groups, home, directory and umask.
func TestJobRunsAsItsSubmitter(t *testing.T) {
	begin(t)
	sh(t, "alice", "mkdir -p ~/work")
	id := submit(t, "alice", `--gpus 0 -C ~/work -- bash -c 'id -u; id -g; id -Gn; echo $HOME $USER $SHELL; pwd; umask; echo done'`)
	waitText(t, id, "done")
	want := sh(t, "alice", "id -u; id -g; id -Gn; echo $HOME alice /bin/bash; cd ~/work; pwd; umask; echo done")
	if got := output(t, "alice", id); got != want {
		t.Errorf("the job says\n%s\nand alice is\n%s", got, want)
	}
	if !strings.Contains(want, "lab") {
		t.Errorf("alice has no supplementary group to test with: %s", want)
	}
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestOutputIsPrivate: the owner can read a job's output with plain journalctl and with 'gpusched
// logs'. Another account can read nothing.
func TestOutputIsPrivate(t *testing.T) {
	begin(t)
	id := submit(t, "alice", `--gpus 0 -- echo my-secret-output`)
	wait(t, id)
	waitText(t, id, "my-secret-output")
	plain := fmt.Sprintf("journalctl --no-pager -q -u gpujob-%d", id)
	logs := fmt.Sprintf("gpusched logs %d", id)
	for _, cmd := range []string{plain, logs} {
		if out := sh(t, "alice", cmd); !strings.Contains(out, "my-secret-output") {
			t.Errorf("the owner's %q shows %q", cmd, out)
		}
		if r := try(t, "bob", cmd); strings.Contains(r.Stdout+r.Stderr, "my-secret-output") {
			t.Errorf("another account's %q shows the output", cmd)
		}
	}
}

// TestEndings: each kind of end has its own state and
// sentence. 'gpusched wait' exits with the matching status.
func TestEndings(t *testing.T) {
	begin(t)
	sh(t, "alice", "mkdir -p ~/gone")
	for _, c := range []struct {
		args     string
		state    job.State
		sentence string
		code     int
	}{
		{"-- true", "completed", "exit code 0", 0},
		{"-- bash -c 'exit 7'", "failed", "exit code 7", 7},
		{"-- bash -c 'exit 203'", "failed", "exit code 203", 203},
		{"-- bash -c 'kill -9 $$'", "failed", "killed by signal 9 (KILL)", 137},
		{"-- bash -c 'kill -TERM $$'", "failed", "killed by signal 15 (TERM)", 143},
		{"--force -- /no/such/program", "failed", "could not start: its command could not be run: no such file or directory", 127},
		{"--force -- no-such-program", "failed", "could not start: its command could not be run: no such file or directory", 127},
		{"--force -- /etc/passwd", "failed", "could not start: its command could not be run: permission denied", 126},
		{"-C ~/gone -- bash -c 'true'", "completed", "exit code 0", 0},
		{"--force -C /root -- true", "failed", "could not start: its working directory could not be entered: permission denied", 125},
		{"--force -C /no/such/dir -- true", "failed", "could not start: its working directory could not be entered: no such file or directory", 125},
		{"--time 1s -- sleep 60", "timed-out", "stopped at its time limit of 1s", 124},
	} {
		id := submit(t, "alice", "--gpus 0 "+c.args)
		mustEnd(t, wait(t, id), c.state, c.sentence)
		if r := try(t, "alice", fmt.Sprintf("gpusched wait %d", id)); r.Code != c.code {
			t.Errorf("%s: wait exits %d, want %d", c.args, r.Code, c.code)
		}
	}
}

// TestCancel: queued and running jobs can be cancelled, even a job that ignores SIGTERM.
func TestCancel(t *testing.T) {
	begin(t)
	holder := submit(t, "alice", "--gpus 4 -- sleep 1000")
	waitRun(t, holder)
	waiting := submit(t, "alice", "--gpus 1 -- true")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", waiting))
	mustEnd(t, show(t, "alice", waiting), "cancelled", "cancelled by alice")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", holder))
	mustEnd(t, wait(t, holder), "cancelled", "cancelled by alice")
	deaf := submit(t, "alice", "--gpus 0 --grace 1s -- bash -c 'trap \"\" TERM; echo armed; while :; do sleep 1; done'")
	waitText(t, deaf, "armed")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", deaf))
	mustEnd(t, wait(t, deaf), "cancelled", "cancelled by alice")

	// The job is cancelled with a grace for this cancel only, without a grace, or again without a
	// grace while it is already ending.
	for _, how := range []string{"--grace 1s", "--now", "%[1]d && gpusched cancel --now"} {
		hangs := submit(t, "alice", "--gpus 0 --grace 10m -- bash -c 'trap \"\" TERM; echo armed; while :; do sleep 1; done'")
		waitText(t, hangs, "armed")
		sh(t, "alice", fmt.Sprintf("gpusched cancel "+how+" %[1]d", hangs))
		mustEnd(t, wait(t, hangs), job.Cancelled, "cancelled by alice")
	}
}

// TestArgumentsArriveByteForByte: systemd expands $ and % in the command line of a unit. In a job's
// command line they stay as they are.
func TestArgumentsArriveByteForByte(t *testing.T) {
	begin(t)
	script := `cat > /tmp/args.sh <<'END'
set -- '$HOME' '$$' '${HOME}' '%n' '%%' "it's" '"quoted"' $'new\nline' '' ' two  spaces ' '\x41' $'\xff\xfe' '*' '-x' "$(head -c 100000 /dev/zero | tr '\0' a)"
printf '%s\0' "$@" | sha256sum > ~/want
gpusched submit -q --gpus 0 -- bash -c 'printf "%s\0" "$@" | sha256sum > ~/got' -- "$@"
END
bash /tmp/args.sh; rm /tmp/args.sh`
	var id int64
	if _, err := fmt.Sscan(sh(t, "alice", script), &id); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if got, want := sh(t, "alice", "cat ~/got"), sh(t, "alice", "cat ~/want"); got != want {
		t.Errorf("the arguments changed on the way: %s, %s", got, want)
	}
}

// TestEnvironment: a job's environment contains the daemon's own variables and those that its user
// asked for. The user can choose the current environment (the default), a clean one or that of a
// login, and can add variables.
func TestEnvironment(t *testing.T) {
	begin(t)
	get := func(opts string) string {
		id := submit(t, "alice", opts+" -- bash -c 'env; echo end-of-env'")
		return waitText(t, id, "end-of-env")
	}
	has := func(env, line string) bool { return strings.Contains("\n"+env+"\n", "\n"+line+"\n") }
	var id int64
	if _, err := fmt.Sscan(sh(t, "alice", "MINE=yes CUDA_VISIBLE_DEVICES=7 NOTIFY_SOCKET=/x gpusched submit -q -g 2 -e ADDED=1 -- bash -c 'env; echo end-of-env'"), &id); err != nil {
		t.Fatal(err)
	}
	env := waitText(t, id, "end-of-env")
	for _, line := range []string{
		"MINE=yes", "ADDED=1", "CUDA_VISIBLE_DEVICES=0,1", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
		fmt.Sprintf("GPUSCHED_JOB_ID=%d", id), "GPUSCHED_ATTEMPT=1",
	} {
		if !has(env, line) {
			t.Errorf("no %q in the environment:\n%s", line, env)
		}
	}
	if strings.Contains(env, "NOTIFY_SOCKET") {
		t.Error("the job can notify systemd as the launcher")
	}
	if env := get("--gpus 0 --env clean -e A=b"); !has(env, "A=b") || !has(env, "CUDA_VISIBLE_DEVICES=") || strings.Contains(env, "GPUSCHED_SUITE") {
		t.Errorf("clean environment:\n%s", env)
	}
	sh(t, "alice", "echo 'export FROM_PROFILE=1' > ~/.profile")
	if env := get("--gpus 0 --env login"); !has(env, "FROM_PROFILE=1") {
		t.Errorf("login environment:\n%s", env)
	}
}

// TestNothingToRead: neither unit properties nor files reveal a job's command, environment or
// directory to another account.
func TestNothingToRead(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "--gpus 0 -e TOKEN=hush-hush -C ~ -n public-name -- bash -c 'echo armed; sleep 100 # quiet-word'")
	waitText(t, id, "armed")
	for _, cmd := range []string{
		"systemctl show gpujob-%[1]d", "systemctl cat gpujob-%[1]d", "systemctl status gpujob-%[1]d", "cat /run/systemd/transient/gpujob-%[1]d.service",
		"gpusched show %[1]d", "gpusched show --json %[1]d", "gpusched list --json", "gpusched status --json", "gpusched why %[1]d", "cat /run/gpusched/specs/%[1]d.1",
		"ls -l /run/gpusched/specs", "strings /var/lib/gpusched/state.db",
		"cat /proc/$(systemctl show -P MainPID gpujob-%[1]d)/environ",
	} {
		r := try(t, "bob", fmt.Sprintf(cmd, id))
		for _, secret := range []string{"hush-hush", "quiet-word"} {
			// The kernel shows the command line of a running process to every user.
			if strings.Contains(r.Stdout+r.Stderr, secret) && !strings.HasPrefix(cmd, "systemctl status") {
				t.Errorf("bob reads %q with %q", secret, cmd)
			}
			if strings.HasPrefix(cmd, "systemctl status") && strings.Contains(r.Stdout, "hush-hush") {
				t.Errorf("bob reads the environment with %q", cmd)
			}
		}
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched show --json %d", id)); !strings.Contains(out, "private") {
		t.Errorf("the owner does not see her own command: %s", out)
	}
}

// TestOthersMayNot: another account cannot act on a job with the gpusched command.
// TestForgedRequests tries the same without that command.
func TestOthersMayNot(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "--gpus 1 -- sleep 1000")
	waitRun(t, id)
	for _, cmd := range []string{"gpusched cancel %d", "gpusched cancel --signal USR1 %d", "systemctl stop gpujob-%d", "systemctl kill gpujob-%d"} {
		if r := try(t, "bob", fmt.Sprintf(cmd, id)+" </dev/null"); r.Code == 0 {
			t.Errorf("bob may %q", fmt.Sprintf(cmd, id))
		}
	}
	if r := try(t, "bob", fmt.Sprintf("gpusched cancel %d", id)); r.Code != 4 {
		t.Errorf("cancel of another's job exits %d, want 4: %s", r.Code, r.Stderr)
	}
	if r := try(t, "alice", "gpusched gpu pause 1"); r.Code != 4 {
		t.Errorf("an ordinary account pauses a GPU: exit %d: %s", r.Code, r.Stderr)
	}
	mine := submit(t, "bob", "--gpus 0 -- id -un")
	wait(t, mine)
	if out := waitText(t, mine, "bob"); strings.TrimSpace(out) != "bob" {
		t.Errorf("bob's job runs as %q", out)
	}
	if got := show(t, "bob", id); got.Private != nil || got.State != "running" {
		t.Errorf("bob sees %+v of alice's job", got)
	}
}
