//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// streamed is how many jobs a stream has.
const streamed = 40

// TestSchedulerWideJob: a job for all GPUs starts in the midst of a stream of
// jobs for one that is more than the machine can do, also of the same user.
func TestSchedulerWideJob(t *testing.T) {
	for _, user := range []string{"alice", "bob"} {
		t.Run("of "+user+" in bob's stream", func(t *testing.T) {
			begin(t)
			stream := make(chan string, 1)
			go func() {
				r, err := the.Sh(t.Context(), "bob", fmt.Sprintf("for i in $(seq %d); do gpusched submit -q -t 2m -- sleep %.1f || exit 1; sleep 0.1; done", streamed, 0.6*float64(the.slow)))
				if err != nil || r.Code != 0 {
					stream <- ""
					return
				}
				stream <- r.Stdout
			}()
			until(t, "all GPUs are busy", func() bool { return strings.Count(sh(t, "", "gpusched list -s running"), "bob") >= 4 })
			wide := submit(t, user, "-g 4 -t 2m -- true")
			startsBeforeTheLast(t, wide, strings.Fields(<-stream))
		})
	}
}

// startsBeforeTheLast checks that the wide job started before the last of the
// stream was submitted.
func startsBeforeTheLast(t *testing.T, wide int64, stream []string) {
	t.Helper()
	if len(stream) != streamed {
		t.Fatalf("the stream broke off: %v", stream)
	}
	j := wait(t, wide)
	ended(t, j, "completed", "exit code 0")
	last, err := strconv.ParseInt(stream[len(stream)-1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	l := show(t, "", last)
	t.Logf("waited %s; the last of the stream came %s later", j.StartedAt.Sub(j.SubmittedAt), l.SubmittedAt.Sub(j.StartedAt))
	if !j.StartedAt.Before(l.SubmittedAt) {
		t.Errorf("it started only when the stream had ended")
	}
}
