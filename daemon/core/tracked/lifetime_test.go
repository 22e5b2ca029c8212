package tracked

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// No process of an attempt began before the attempt's placement, or more than StartSlack before its
// start.
func TestProcessesBeganWithTheirJob(t *testing.T) {
	placed := time.Unix(1e9, 0)
	for _, c := range []struct{ started, want time.Duration }{{5 * time.Second, 4 * time.Second}, {StartSlack / 2, 0}, {-time.Hour, 0}} {
		l := &Job{Job: &job.Job{Attempt: &job.Attempt{PlacedAt: placed, StartedAt: placed.Add(c.started)}}}
		if got := l.Beginning().Sub(placed); got != c.want {
			t.Errorf("started %s after its placement: not before %s", c.started, got)
		}
	}
}
