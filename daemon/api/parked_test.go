package api

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A list shows who parked a job or why, and whether the job waits for its GPUs.
func TestParkedJobsInAList(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 3, 0, 0, time.UTC)
	for _, c := range []struct {
		p           Parked
		state, text string
	}{
		{Parked{State: job.ParkTakes}, "running (parking)", "parked by bob since 2026-03-01 14:03:00 UTC"},
		{Parked{State: job.IsParked, For: 12}, "running (parked)", "parked for job 12 since 2026-03-01 14:03:00 UTC"},
		{Parked{State: job.IsParked, Awake: true}, "running (parked)", "parked since 2026-03-01 14:03:00 UTC because it did not use its GPUs"},
		{Parked{State: job.IsParked, For: 12, Wants: true}, "running (parked)", "parked for job 12 since 2026-03-01 14:03:00 UTC, waits for its GPUs"},
		{Parked{State: job.ParkGives}, "running (unparking)", "parked by bob since 2026-03-01 14:03:00 UTC"},
	} {
		j := Job{State: job.Running, SuspendedAt: at, SuspendedBy: "bob", Parked: &c.p}
		if got := j.StateWord(); got != c.state {
			t.Errorf("%+v: state %q", c.p, got)
		}
		if got := j.Cause(words.Reader{}); got != c.text {
			t.Errorf("%+v: %q", c.p, got)
		}
	}
	j := Job{State: job.Running, SuspendedAt: at, Parked: &Parked{State: job.IsParked, For: 12, Wants: true}}
	j.Reasons = []Reason{{Reason: job.Reason{Code: job.ReasonGPUBusy, GPU: 0, Job: 12}}}
	if got := j.Cause(words.Reader{}); got != "parked for job 12 since 2026-03-01 14:03:00 UTC, waits for its GPUs; GPU 0 is held by job 12" {
		t.Errorf("with reasons: %q", got)
	}
}
