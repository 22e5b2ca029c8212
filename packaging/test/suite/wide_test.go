//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestSchedulerWideJob: an endless stream of one-GPU jobs exceeds the machine's capacity. A job for
// all GPUs starts nevertheless, even if the stream belongs to the same user. The wide job is
// expected to run about as long as the others, because a much longer job would wait for
// guard_after. While little is known about running jobs, others may pass the wide job for at most
// 20 s, which is twice the wide job's limit of 10 s.
func TestSchedulerWideJob(t *testing.T) {
	for _, user := range []string{"alice", "bob"} {
		t.Run("of "+user+" in bob's stream", func(t *testing.T) {
			begin(t)
			stop := stream(t)
			poll(t, "all GPUs are busy", func() bool { return strings.Count(sh(t, "", "gpusched list -s running"), "bob") >= 4 })
			j := wait(t, submit(t, user, "-g 4 -t 10s -- true"))
			stop()
			mustEnd(t, j, "completed", "exit code 0")
			behind := 0 // jobs that were submitted before the wide job started but started later
			for _, other := range allJobs(t) {
				before := other.ID != j.ID && other.SubmittedAt.Before(j.StartedAt)
				if before && (other.StartedAt.IsZero() || other.StartedAt.After(j.StartedAt)) {
					behind++
				}
			}
			t.Logf("waited %s; %d jobs of the stream waited behind it", j.StartedAt.Sub(j.SubmittedAt), behind)
			if behind == 0 {
				t.Error("no job of the stream waited, so it did not exceed the machine's capacity")
			}
		})
	}
}

// streamScript submits jobs until a stop file appears.
const streamScript = `submit() { gpusched submit -q -t 2m -- sleep $1 && sleep 0.12; }
began=$(date +%s%N)
for i in 1 2 3 4; do submit 1 || exit 1; done
hold=$(($(date +%s%N) - began))
hold=$((hold * 4 / 1000000)); [ $hold -gt 1200 ] || hold=1200
for i in $(seq 1000); do [ ! -e ~/stop ] || exit 0; submit $((hold / 1000)).$(printf %03d $((hold % 1000))) || exit 1; done; exit 1`

// stream submits one-GPU jobs as bob until stop is called. Each job runs four times as long as the
// first four submissions took. A quarter of that time would keep four GPUs busy, but submissions
// may become slower later.
func stream(t *testing.T) (stop func()) {
	t.Helper()
	sh(t, "bob", "rm -f ~/stop")
	done := make(chan error, 1)
	go func() {
		r, err := the.Sh(t.Context(), "bob", streamScript)
		if err == nil {
			err = r.Err()
		}
		done <- err
	}()
	return func() {
		t.Helper()
		sh(t, "bob", "touch ~/stop")
		if err := <-done; err != nil {
			t.Errorf("the stream broke off: %v", err)
		}
	}
}
