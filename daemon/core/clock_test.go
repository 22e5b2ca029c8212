package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// If a unit's age is known by a monotonic clock, the start of a job that was read from disk is
// computed from that age. So the start stays right when the clock is set.
func TestStartBySteadyClock(t *testing.T) {
	steady := time.Now()
	for name, c := range map[string]struct {
		was, now time.Time
		want     time.Time
	}{
		"read":              {steady.Round(0).Add(-time.Minute), steady, steady.Add(-50 * time.Second)},
		"steady already":    {steady.Add(-time.Minute), steady, steady.Add(-time.Minute)},
		"no steady clock":   {steady.Round(0).Add(-time.Minute), steady.Round(0), steady.Round(0).Add(-time.Minute)},
		"the clock was set": {steady.Add(-time.Hour), steady, steady.Add(-50 * time.Second)},
	} {
		l := &tracked.Job{Job: &job.Job{State: job.Running, Attempt: &job.Attempt{StartedAt: c.was, PlacedAt: c.was.Add(-time.Second)}}}
		startedCore(site.Policy{}, job.Restored{}).correctStart(l, 50*time.Second, c.now)
		if a := l.Attempt; a.StartedAt != c.want || a.StartedAt.Sub(a.PlacedAt) != time.Second {
			t.Errorf("%s: placed %s, started %s, want %s", name, a.PlacedAt, a.StartedAt, c.want)
		}
	}
}

// A job that fits, but that no plan has considered yet, waits with the reason "checking".
func TestReasonOfAJobThatFits(t *testing.T) {
	c := startedCore(site.Policy{}, job.Restored{})
	c.queue.MakePlan(noon)
	l := &tracked.Job{Job: &job.Job{ID: 1, State: job.Queued}, Account: c.accounts.Of(job.Owner{UID: 1001}, nil)}
	if why := c.explain(l); len(why) != 1 || why[0].Code != job.ReasonChecking {
		t.Errorf("%+v", why)
	}
}
