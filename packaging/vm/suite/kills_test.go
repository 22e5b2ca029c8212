//go:build machine

package suite

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	killJobs = flag.Int("kill-jobs", 60, "jobs submitted while the daemon is killed again and again")
	kills    = flag.Int("kills", 25, "how often it is killed, at random moments")
)

// TestKills: the daemon is killed at random moments while jobs are submitted,
// start, run and end. Each acknowledged job has exactly one end, and its command
// began once: it makes a file that must not be there yet.
func TestKills(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -rf ~/kills; mkdir ~/kills")
	script := fmt.Sprintf(`for i in $(seq %d); do
  gpusched submit -q --gpus $((i %% 3 / 2)) -- bash -c 'set -C; echo $$ > ~/kills/$GPUSCHED_JOB_ID || echo again >> ~/kills/twice; sleep 0.$((RANDOM %% 4)); exit $((GPUSCHED_JOB_ID %% 5))' || exit 1
done`, *killJobs)
	done := make(chan string, 1)
	go func() {
		r, err := the.Sh(t.Context(), "alice", script)
		if err != nil || r.Code != 0 {
			t.Errorf("submitting: %v, exit %d: %s", err, r.Code, r.Stderr)
		}
		done <- r.Stdout
	}()
	const seed = 1
	moments := rand.New(rand.NewPCG(seed, seed))
	began := time.Now()
	for range *kills {
		<-time.After(time.Duration(moments.IntN(400)) * time.Millisecond)
		pid := sh(t, "", "systemctl show -P MainPID gpusched")
		try(t, "", killDaemon)
		until(t, "another daemon runs", func() bool {
			now := sh(t, "", "systemctl show -P MainPID gpusched")
			return now != "0" && now != pid
		})
	}
	took := time.Since(began)
	ids := strings.Fields(<-done)
	if len(ids) != *killJobs {
		t.Errorf("%d jobs were acknowledged, want %d", len(ids), *killJobs)
	}
	seen := map[string]bool{}
	for _, text := range ids {
		var id int64
		if _, err := fmt.Sscan(text, &id); err != nil {
			t.Fatal(err)
		}
		if seen[text] {
			t.Errorf("id %d was given out twice", id)
		}
		seen[text] = true
		if code := id % 5; code == 0 {
			ended(t, wait(t, id), "completed", "exit code 0")
		} else {
			ended(t, wait(t, id), "failed", fmt.Sprintf("exit code %d", code))
		}
		if j := show(t, "", id); j.Attempt != 1 {
			t.Errorf("job %d ended in attempt %d", id, j.Attempt)
		}
	}
	if ran := sh(t, "alice", "ls ~/kills | sort -n"); strings.Contains(ran, "twice") || len(strings.Fields(ran)) != len(ids) {
		t.Errorf("%d jobs, and these ran: %s", len(ids), ran)
	}
	if left := sh(t, "", "systemctl list-units --all --no-legend 'gpujob-*'"); left != "" {
		t.Errorf("units are left: %s", left)
	}
	t.Logf("%d jobs, %d kills in %s", len(ids), *kills, took.Round(time.Second))
}
