//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestManyAtOnce: one request holds, releases or cancels a whole queue. Its answer says what
// happened to every job. Other users' jobs are not changed.
func TestManyAtOnce(t *testing.T) {
	begin(t)
	blocker := submit(t, "bob", "--gpus 1 --hold -- sleep 1000")
	const n = 40
	var ids []int64
	for range n {
		ids = append(ids, submit(t, "alice", "--gpus 1 --hold --env clean -- true"))
	}
	say := func(user, command string, code int, want string) string {
		t.Helper()
		r := try(t, user, command+" </dev/null")
		if r.Code != code || !strings.Contains(r.Stdout+r.Stderr, want) {
			t.Errorf("%s: exit %d, want %d: %s%s", command, r.Code, code, r.Stdout, r.Stderr)
		}
		return r.Stdout
	}
	held := fmt.Sprintf("job %d is held until 'gpusched release %[1]d'", ids[0])
	say("alice", fmt.Sprintf("gpusched hold %d-%d", ids[0], ids[n-1]), 0, held)
	say("bob", fmt.Sprintf("gpusched cancel %d %d", ids[0], ids[1]), 4, fmt.Sprintf("job %d belongs to alice", ids[1]))
	say("alice", fmt.Sprintf("gpusched cancel %d %d", ids[0], blocker), 4, fmt.Sprintf("job %d cancelled by alice", ids[0]))
	if out := say("alice", "gpusched cancel --mine", 2, fmt.Sprintf("end %d jobs of yours?", n-1)); out != "" {
		t.Errorf("without -y something was done: %s", out)
	}
	out := say("alice", "gpusched cancel --mine -y", 0, "cancelled by alice")
	if lines := strings.Count(out, "\n"); lines != n-1 {
		t.Errorf("%d lines, want %d: %s", lines, n-1, out)
	}
	say("alice", "gpusched release --mine -y", 0, "you have no job that is held")
	if got := show(t, "bob", blocker); got.State != "queued" {
		t.Errorf("bob's job is %s", got.State)
	}
	say("bob", "gpusched release --mine -y", 0, fmt.Sprintf("job %d released", blocker))
	say("bob", "gpusched cancel --mine -y", 0, fmt.Sprintf("job %d ", blocker))
}
