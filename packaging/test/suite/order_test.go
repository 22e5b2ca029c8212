//go:build machine

package suite

import (
	"fmt"
	"testing"
	"time"
)

// TestSchedulerOrder: a user who has used the GPUs little lately comes before a user who has used
// them much, even after a crash of the daemon. With policy = "fifo", jobs start in the order of
// submission.
func TestSchedulerOrder(t *testing.T) {
	for _, c := range []struct{ policy, first, next string }{{"fair", "vic", "uma"}, {"fifo", "uma", "vic"}} {
		t.Run(c.policy, func(t *testing.T) {
			begin(t)
			sh(t, "", "useradd -m uma; useradd -m vic") // users who have not used GPUs lately
			t.Cleanup(func() { sh(t, "", "userdel -r uma; userdel -r vic") })
			settings(t, fmt.Sprintf("[scheduling]\nhalf_life = \"1m\"\npolicy = %q", c.policy))
			took := fmt.Sprintf("-- sleep %d", 3*the.slow) // all jobs take equally long, so that only the GPU use differs
			uses, spares := submit(t, "uma", "-g 4 "+took), submit(t, "vic", "-g 0 "+took)
			wait(t, uses)
			wait(t, spares)
			_, release := submitHold(t, "", "-g 4", "true")
			ids := map[string]int64{}
			for _, user := range []string{"uma", "vic"} {
				ids[user] = submit(t, user, "--gpu-ids 0 -- true")
			}
			sh(t, "", killDaemon)
			release()
			at := map[string]time.Time{}
			for user, id := range ids {
				j := wait(t, id)
				mustEnd(t, j, "completed", "exit code 0")
				at[user] = j.StartedAt
			}
			if !at[c.first].Before(at[c.next]) {
				t.Errorf("%s starts at %s, %s at %s", c.first, at[c.first], c.next, at[c.next])
			}
		})
	}
}
