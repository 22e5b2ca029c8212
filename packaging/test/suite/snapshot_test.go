//go:build machine

package suite

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/store"
)

// forgetEnded makes the scheduler forget all jobs that ended before a time of the machine's clock.
// Meanwhile the daemon is down.
func forgetEnded(t *testing.T) {
	t.Helper()
	const state = stateDir + "/state.db"
	text := sh(t, "", "systemctl stop gpusched.socket gpusched; base64 -w0 "+state)
	defer sh(t, "", "systemctl start gpusched.socket gpusched")
	file := filepath.Join(t.TempDir(), "state.db")
	whole, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err == nil {
		err = os.WriteFile(file, whole, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), file, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Forget(t.Context(), store.History{Age: time.Second}, time.Now().Add(time.Hour)); err != nil || n == 0 {
		t.Fatalf("%d jobs are forgotten: %v", n, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := the.CopyIn(t.Context(), file, state, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSnapshot: a job with --snapshot runs the code that was submitted, whatever its user edits
// while it waits, and the user's repository stays as it was. When the job is forgotten, the copy is
// removed, but not what the job wrote there; a copy that another job has stays.
func TestSnapshot(t *testing.T) {
	begin(t)
	git, err := exec.LookPath("git")
	if err == nil {
		err = the.CopyIn(t.Context(), git, "/usr/local/bin/git", 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sh(t, "alice", "rm -rf ~/proj ~/data ~/plain ~/.local/state/gpusched/snapshots")
		sh(t, "", "rm /usr/local/bin/git")
	})
	sh(t, "alice", `mkdir -p proj/data plain; cd proj; git init -q; echo data >.gitignore
printf '#!/bin/sh\necho old "$@"; git status --porcelain; echo result >data/result; echo more >more; mkdir -p __pycache__; echo >__pycache__/x.pyc\n' >train.sh
chmod +x train.sh; git add .; git -c user.name=a -c user.email=a@b commit -qm begin; echo new >lib; cp train.sh ../plain`)
	const repository = "cd proj; git status --porcelain; git stash list; git worktree list; git log --format=%H; find .git -type f | sort | xargs cat | md5sum"
	before := sh(t, "alice", repository)
	id := submit(t, "alice", "-g 0 --hold -C proj --snapshot -- ./train.sh")
	if after := sh(t, "alice", repository); after != before {
		t.Errorf("the repository was\n%s and is\n%s", before, after)
	}
	sh(t, "alice", fmt.Sprintf("echo 'echo edited' >proj/train.sh; gpusched release %d", id))
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if got := output(t, "alice", id); got != "old\n?? lib" {
		t.Errorf("the job printed %q", got)
	}
	if text := sh(t, "alice", fmt.Sprintf("gpusched show %d; cat proj/data/result; ls proj", id)); !strings.Contains(text, "of /home/alice/proj with 1 file changed (") ||
		!strings.Contains(text, "\nresult\n") || strings.Contains(text, "more") {
		t.Errorf("afterwards: %s", text)
	}
	if text := try(t, "bob", fmt.Sprintf("gpusched show %d; gpusched show --json %d; ls /home/alice/.local/state/gpusched/snapshots", id, id)).Stdout; strings.Contains(text, "proj") {
		t.Errorf("bob sees %s", text)
	}
	sh(t, "alice", "printf '#!/bin/sh\\necho old\\n' >plain/run.sh; chmod +x plain/run.sh")
	settings(t, "[jobs]\nsnapshot = \"script\"")
	script := submit(t, "alice", "-g 0 --hold -C plain -- ./run.sh")
	sh(t, "alice", fmt.Sprintf("echo 'echo new' >>plain/run.sh; gpusched release %d", script))
	if wait(t, script); output(t, "alice", script) != "old" {
		t.Errorf("jobs.snapshot: the job printed %q", output(t, "alice", script))
	}
	plain := submit(t, "alice", "-g 0 -C plain --snapshot -- sh -c 'cat train.sh | head -1'")
	wait(t, plain)
	again := sh(t, "alice", fmt.Sprintf("gpusched resubmit %d --hold -q 2>&1 || gpusched resubmit %d --begin +1d", plain, plain))
	dirs := func() string {
		return strings.TrimSpace(sh(t, "alice", "cd ~/.local/state/gpusched/snapshots; find . -name .made -o -type f -printf '%P\\n' | sed 's/^[^/]*.//' | sort"))
	}
	forgetEnded(t)
	poll(t, "the copy is removed", func() bool { return !strings.Contains(dirs(), "proj/lib") })
	if got := dirs(); got != ".queued\n.queued\nplain/run.sh\nplain/train.sh\nproj/more" {
		t.Errorf("%s: when one job of three waits, there is %q", again, got)
	}
	sh(t, "alice", "gpusched cancel --mine -y")
	forgetEnded(t)
	poll(t, "the other copy is removed", func() bool { return !strings.Contains(dirs(), "plain") })
}
