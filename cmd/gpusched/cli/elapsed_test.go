package cli

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The time during which a job is suspended counts neither as run time nor against the job's time
// limit.
func TestSuspendedTimeDoesNotCount(t *testing.T) {
	ago := func(minutes time.Duration) time.Time { return noon.Add(-minutes * time.Minute) }
	limit := job.Request{TimeLimit: job.Span(2 * time.Hour)}
	for name, c := range map[string]struct {
		j           api.Job
		ran         string
		left        time.Duration
		limited     bool
		wantElapsed time.Duration
	}{
		"waits":     {api.Job{State: "queued", Request: limit}, "", 0, false, 0},
		"runs":      {api.Job{State: "running", StartedAt: ago(90), Request: limit}, "1h30m", 30 * time.Minute, true, 90 * time.Minute},
		"unlimited": {api.Job{State: "running", StartedAt: ago(90)}, "1h30m", 0, false, 90 * time.Minute},
		"over":      {api.Job{State: "ending", StartedAt: ago(130), Request: limit}, "2h10m", 0, true, 130 * time.Minute},
		"ended":     {api.Job{State: "failed", StartedAt: ago(90), EndedAt: ago(30), Request: limit}, "1h", 0, false, time.Hour},
		"suspended": {
			api.Job{State: "running", StartedAt: ago(90), SuspendedAt: ago(60), SuspendedTime: job.Span(10 * time.Minute), Request: limit},
			"20m", 100 * time.Minute, true, 20 * time.Minute,
		},
	} {
		left, limited := remaining(c.j, noon)
		if ran := RanText(c.j, noon); ran != c.ran || left != c.left || limited != c.limited {
			t.Errorf("%s: ran %q, %s left (%v), want %q, %s (%v)", name, ran, left, limited, c.ran, c.left, c.limited)
		}
		if got := c.j.Elapsed(noon); got != c.wantElapsed {
			t.Errorf("%s: elapsed %s, want %s", name, got, c.wantElapsed)
		}
	}
}
