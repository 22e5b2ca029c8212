//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestAfterASweep: when an array has its maximum number of failed tasks, no other task starts until
// the array is released, even after a restart of the daemon. 'gpusched show' counts the results,
// and the failed tasks can be resubmitted unchanged.
func TestAfterASweep(t *testing.T) {
	begin(t)
	id := submit(t, "alice", `-g 0 --array %1 --max-failures 2 --param x=a,b,c --param n=1,2 --setup 'export S=set' `+
		`-- sh -c 'echo {x}{n} $S; [ {n} = 1 ]'`)
	if r := try(t, "alice", fmt.Sprintf("gpusched wait %d", id)); r.Code != 1 || !strings.Contains(r.Stdout, "2 tasks of the array failed") {
		t.Errorf("wait: %+v", r)
	}
	sh(t, "", "systemctl restart gpusched")
	waitsFor(t, "alice", id, "no more start until it is released")
	out := sh(t, "alice", fmt.Sprintf("gpusched show %d | sed -n '/^tasks/,$p'", id))
	for _, line := range []string{"tasks 4 of 6 have ended, 2 completed, 2 failed, 2 wait\n", "completed           0,2\n", "failed, exit 1      1,3\n", "waiting             4-5\n"} {
		if !strings.Contains(out+"\n", line) {
			t.Errorf("show without %q: %q", line, out)
		}
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched list %d --params -s failed | awk '/_/ {print $1, $NF}' | wc -l", id)); out != "2" {
		t.Errorf("list: %q", out)
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched list %d_1,3 -o csv | cut -d, -f2,22,23", id)); out != "task,param_x,param_n\n"+
		fmt.Sprintf("%[1]d_1,a,2\n%[1]d_3,b,2", id) {
		t.Errorf("csv: %q", out)
	}
	again := sh(t, "alice", fmt.Sprintf("gpusched resubmit %d --failed -o ids", id))
	sh(t, "alice", fmt.Sprintf("gpusched release %d", id))
	mustEnd(t, wait(t, id), job.Failed, "3 of 6 tasks did not complete")
	try(t, "alice", "gpusched wait "+again)
	if out := sh(t, "alice", fmt.Sprintf("gpusched logs %s_[1,3]", again)); out != fmt.Sprintf("%[1]s_1: a2 set\n%[1]s_3: b2 set", again) {
		t.Errorf("the failed ones again: %q", out)
	}
	settings(t, `jobs.log = "%h/site-%j.txt"`)
	with, without := submit(t, "alice", "-g 0 -- echo x"), submit(t, "alice", "-g 0 --log none -- echo x")
	wait(t, with)
	wait(t, without)
	if out := sh(t, "alice", "ls site-*"); out != fmt.Sprintf("site-%d.txt", with) {
		t.Errorf("logs: %q", out)
	}
}
