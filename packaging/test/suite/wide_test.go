//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestSchedulerWideJob: a job for all GPUs starts in the midst of an endless
// stream of jobs for one that is more than the machine can do, also of the same
// user. It is expected to run about as long as they are: of jobs that are much
// longer the rules say that they wait for the guard.
func TestSchedulerWideJob(t *testing.T) {
	for _, user := range []string{"alice", "bob"} {
		t.Run("of "+user+" in bob's stream", func(t *testing.T) {
			begin(t)
			stop := stream(t)
			until(t, "all GPUs are busy", func() bool { return strings.Count(sh(t, "", "gpusched list -s running"), "bob") >= 4 })
			j := wait(t, submit(t, user, "-g 4 -t 30s -- true"))
			more := sh(t, "", "gpusched list -s queued -u bob -o ids")
			stop()
			ended(t, j, "completed", "exit code 0")
			t.Logf("waited %s; then %d jobs of the stream waited", j.StartedAt.Sub(j.SubmittedAt), len(strings.Fields(more)))
			if more == "" {
				t.Error("nothing of the stream waited any more: it was not more than the machine can do")
			}
		})
	}
}

// stream has bob submit jobs for one GPU until it is told to stop.
func stream(t *testing.T) (stop func()) {
	t.Helper()
	sh(t, "bob", "rm -f ~/stop")
	done := make(chan error, 1)
	go func() {
		r, err := the.Sh(t.Context(), "bob", fmt.Sprintf("for i in $(seq 1000); do [ ! -e ~/stop ] || exit 0; gpusched submit -q -t 2m -- sleep %.1f || exit 1; sleep %.2f; done; exit 1", 0.8*float64(the.slow), 0.12*float64(the.slow)))
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
