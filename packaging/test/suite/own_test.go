//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ownRuntime sets the variable XDG_RUNTIME_DIR, as a login does.
const ownRuntime = "export XDG_RUNTIME_DIR=/run/user/$(id -u); "

// ownScheduler runs alice's own scheduler until the test ends.
func ownScheduler(t *testing.T) {
	t.Helper()
	sh(t, "", "loginctl enable-linger alice")
	t.Cleanup(func() {
		try(t, "alice", ownRuntime+"gpusched --user cancel --mine -y; systemctl --user disable --now gpusched.socket gpusched.service; rm -rf ~/.local/state/gpusched ~/.config/gpusched ~/own*")
		sh(t, "", "loginctl disable-linger alice")
	})
	poll(t, "alice's systemd is up", func() bool { return try(t, "alice", ownRuntime+"systemctl --user show -P Version").Code == 0 })
	sh(t, "alice", ownRuntime+"systemctl --user enable --now gpusched")
}

// ownJob returns a job of alice's own scheduler.
func ownJob(t *testing.T, id int64) api.Job {
	t.Helper()
	return ask[api.JobReply](t, "alice", fmt.Sprintf(ownRuntime+"gpusched --user show --json %d", id)).Job
}

// ownSubmit submits a job to alice's own scheduler.
func ownSubmit(t *testing.T, args string) (id int64) {
	t.Helper()
	fmt.Sscan(sh(t, "alice", ownRuntime+"gpusched --user submit -q "+args), &id)
	return id
}

func ownRuns(t *testing.T, id int64) {
	t.Helper()
	poll(t, "the job runs", func() bool {
		j := ownJob(t, id)
		if j.Result != nil {
			t.Fatalf("job %d ended: %s", id, j.Result.Sentence)
		}
		return j.State == job.Running
	})
}

// TestOwnScheduler: a user without root rights has a scheduler with its own queue. The jobs in it
// survive a stop of its daemon. The user's scheduler says what it cannot enforce, and no other user
// may use it. The machine's scheduler works as before.
func TestOwnScheduler(t *testing.T) {
	begin(t)
	ownScheduler(t)
	poll(t, "all GPUs are tested", func() bool {
		return strings.Count(try(t, "alice", ownRuntime+"gpusched --user gpus --json").Stdout, `"state": "free"`) == 4
	})
	const first = `-g 2 -- bash -c 'echo visible=$CUDA_VISIBLE_DEVICES socket=$GPUSCHED_SOCKET; touch ~/own1; while [ ! -e ~/own-end ]; do sleep 0.05; done; echo last; exit 3'`
	one, two := ownSubmit(t, first), ownSubmit(t, `-g 2 -m 1G -c 1 -- bash -c 'echo visible=$CUDA_VISIBLE_DEVICES; sleep 1000'`)
	three := ownSubmit(t, "-g 1 -- true")
	ownRuns(t, one)
	ownRuns(t, two)
	poll(t, "the first has begun", func() bool { return try(t, "alice", "test -e ~/own1").Code == 0 })
	if j := ownJob(t, three); j.State != job.Queued || j.Manager != api.UserManager || !strings.Contains(strings.Join(j.NotEnforced, " "), "devices") {
		t.Errorf("the third: %+v", j)
	}
	if out := sh(t, "alice", ownRuntime+fmt.Sprintf("systemctl --user show -P Slice -P ActiveState gpujob-%d; gpusched --user logs %d; gpusched --user logs %d", one, one, two)); out !=
		"gpujobs.slice\nactive\nvisible=0,1 socket=/run/user/1001/gpusched/gpusched.sock\nvisible=2,3" {
		t.Errorf("the jobs: %s", out)
	}

	if out := sh(t, "alice", ownRuntime+fmt.Sprintf("gpusched --user exec %d -- bash -c 'echo $CUDA_VISIBLE_DEVICES; grep ^0: /proc/self/cgroup'", two)); !strings.HasPrefix(out, "2,3\n") ||
		!strings.HasSuffix(out, fmt.Sprintf("/user@1001.service/gpujobs.slice/gpujob-%d.service", two)) {
		t.Errorf("exec in the second job: %s", out)
	}
	sh(t, "alice", ownRuntime+"systemctl --user kill -s KILL --kill-whom=main gpusched; touch ~/own-end")
	if out := try(t, "alice", fmt.Sprintf(ownRuntime+"gpusched --user wait %d; echo $?; gpusched --user logs -n 1 %d", one, one)); !strings.HasSuffix(out.Stdout, "3\nlast\n") {
		t.Errorf("after the daemon was killed: %s%s", out.Stdout, out.Stderr)
	}
	poll(t, "the third has run", func() bool { return ownJob(t, three).State == job.Completed })
	ownRuns(t, two)
	shown := sh(t, "alice", ownRuntime+fmt.Sprintf("gpusched --user show %d", two))
	health := try(t, "alice", ownRuntime+"gpusched --user health -o wide").Stdout
	for text, where := range map[string]string{
		"its GPUs (it can open others": shown, "(systemctl --user)": shown,
		"device filter": health, "lingering is on": health, "other users": health, "not enforced": health,
	} {
		if !strings.Contains(where, text) {
			t.Errorf("no %q in: %s", text, where)
		}
	}

	if r := try(t, "bob", "GPUSCHED_SOCKET=/run/user/1001/gpusched/gpusched.sock gpusched list"); r.Code == 0 {
		t.Errorf("bob can use alice's scheduler: %s", r.Stdout)
	}
	if r := try(t, "", "GPUSCHED_SOCKET=/run/user/1001/gpusched/gpusched.sock gpusched submit -- true"); r.Code == 0 || !strings.Contains(r.Stderr, "alice's own") {
		t.Errorf("root submits there: %s", r.Stderr)
	}
	id := submit(t, "bob", "-g 1 -- true")
	mustEnd(t, wait(t, id), job.Completed, "")

	sh(t, "alice", ownRuntime+fmt.Sprintf("gpusched --user cancel %d", two))
	poll(t, "the second is cancelled", func() bool { return ownJob(t, two).State == job.Cancelled })
	if left := sh(t, "alice", ownRuntime+"systemctl --user list-units --all --plain --no-legend 'gpujob-*'"); left != "" {
		t.Errorf("left: %s", left)
	}
}
