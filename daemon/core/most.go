package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// learnMost notes what an attempt took that is over, however it ended.
func (c *Core) learnMost(l *trackedJob, now time.Time) {
	took := c.took(l, now)
	if took.Run < shortestLesson || c.policy.Predict != nil {
		return
	}
	for _, p := range c.planning.observeMost(l.kind(), took, now) {
		c.step.record(job.Record{Prediction: &p})
	}
}

// took is what a job has taken until now, in its current attempt or the last.
func (c *Core) took(l *trackedJob, now time.Time) sched.Most {
	m := sched.Most{Run: c.ran(l, now)}
	for _, u := range l.currentUses() {
		m.GPUMem = max(m.GPUMem, u.PeakBytes)
	}
	if a := l.job.Attempt; a != nil {
		m.HostMem = a.PeakMemBytes
	}
	return m
}

// most is the most that runs of a job's command took, those that go on and its own earlier
// attempts among them.
func (c *Core) most(l *trackedJob, now time.Time) sched.Most {
	kind := l.kind()
	m := c.planning.most(kind).Max(sched.Most{Run: l.job.Served})
	for _, id := range c.jobs.activeIDs() {
		o := c.jobs.active(id)
		if k := o.kind(); k.UID == kind.UID && k.Shape == kind.Shape && k.Shape != "" {
			m = m.Max(c.took(o, now))
		}
	}
	return m
}

// knowsRuns reports whether so many runs of a job's command have ended that they tell what it needs.
func (c *Core) knowsRuns(l *trackedJob) bool {
	return c.policy.Predict != nil || l.kind().Shape != "" && c.estimate(l).Ended >= triedRuns
}
