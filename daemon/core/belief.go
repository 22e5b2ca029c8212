package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// triedRuns is how many jobs of a kind must have ended before one makes room for others
// like it: until then none would end, and nothing would be learned of them.
const triedRuns = 5

// believedAtOnce is for how many waiting jobs a pass looks again how long they are
// expected to run.
const believedAtOnce = 256

// shortestLesson is how long a run must have taken to teach anything: what ends sooner
// has not done what it was made for, or was made to teach what is not so.
const shortestLesson = 2 * time.Second

func (l *trackedJob) kind() sched.Kind {
	return sched.KindOf(l.account.UID, &l.job.Request)
}

// estimate is what is believed of a job's run time.
func (c *Core) estimate(l *trackedJob) *sched.Estimate {
	if c.policy.Predict != nil {
		return &sched.Estimate{Median: c.policy.Predict(l.id), Ended: triedRuns, Known: true}
	}
	return c.planning.estimate(l.kind())
}

// expectedRun is how long a queued job is expected to run, with what it has run before.
func (c *Core) expectedRun(l *trackedJob) time.Duration {
	return c.runOf(l, c.estimate(l).Total)
}

// lateRun is what one in five jobs like it exceeds; 0 where that is not asked.
func (c *Core) lateRun(l *trackedJob) time.Duration {
	if c.policy.Sched.Patience == 0 {
		return 0
	}
	return c.runOf(l, c.estimate(l).Late)
}

func (c *Core) runOf(l *trackedJob, total func(ran time.Duration) time.Duration) time.Duration {
	j := l.job
	run := total(j.Served)
	if c.policy.Predict == nil && j.Request.GPUMilli > 0 && !j.Request.Preemptible {
		run = c.planning.corrected(run, l.account.UID)
	}
	if limit := j.Request.TimeLimit.Duration(); limit > 0 {
		run = min(run, j.Served+limit)
	}
	return run
}

// effort is what a job that may be stopped for others is ranked by, see Estimate.Effort, its kind whatever the
// command, and whether too few of its kind have ended.
func (c *Core) effort(l *trackedJob, ran time.Duration) (time.Duration, sched.Kind, bool) {
	e, program := c.estimate(l), l.kind()
	program.Shape = ""
	return e.Effort(ran, c.policy.Sched.Slice), program, e.Ended < triedRuns
}

// believeAll puts some waiting jobs where they belong by what is expected of them now, those
// that were looked at longest ago.
func (c *Core) believeAll() {
	for _, id := range c.planning.nextBelieved(believedAtOnce) {
		if !c.planning.Has(id) {
			continue
		}
		l := c.jobs.get(id)
		if w := c.waiting(l); c.planning.Moves(w) {
			c.planning.Remove(id)
			c.planning.Push(w)
		}
	}
}

// expectedEnd is when the current attempt of a job will end, at its limit at
// the latest.
func (c *Core) expectedEnd(l *trackedJob, now time.Time) time.Time {
	return c.endAfter(l, c.estimate(l).Total, now)
}

// lateEnd is by when it will have ended in four cases of five.
func (c *Core) lateEnd(l *trackedJob, now time.Time) time.Time {
	return c.endAfter(l, c.estimate(l).Late, now)
}

func (c *Core) endAfter(l *trackedJob, total func(ran time.Duration) time.Duration, now time.Time) time.Time {
	ran := ranFor(l.job, now)
	left := total(l.job.Served+ran) - l.job.Served - ran
	if limit := l.job.Request.TimeLimit.Duration(); limit > 0 {
		left = min(left, max(0, limit-ran))
	}
	return now.Add(left)
}

// learn notes how long a job ran, where it came to its end by itself, or else that it runs
// at least so long: a job that is to have another attempt has not come to its end,
// whatever ended this one. So an attempt that failed after hours and is retried says that
// such jobs run for hours, and one that failed at once says nothing. Nor does a launch
// that failed, or a GPU that was lost: that was not the job's doing. A time limit
// is an end, as of jobs that always run to it nothing else would ever be known. So is
// whatever else the job or its owner brought about, once it has run for longer than expected:
// else a long run would look short that its owner cancels as its work is done. What is
// cancelled early was given up. A launch that took so long counts, too: a set-up can do the
// work, or the command end as a launch does that failed.
func (c *Core) learn(l *trackedJob, r *job.Result, last bool, now time.Time) {
	ran, expected := c.ran(l, now), c.estimate(l).Median
	if r.Launch != "" && ran <= expected || r.Cause == job.StopGPULost {
		return
	}
	stopped := r.Outcome == job.Cancelled && (r.Cause == "" || r.Cause == job.StopRequeue)
	others := stopped && r.By != l.job.Owner.User && r.By != l.job.Person().User
	if run := ran - l.job.Served; run > 0 && !others { // what it had run before was taken in then
		c.planning.ran(run, max(0, expected-l.job.Served), l)
	}
	own := stopped && !others || last && (r.Outcome == job.OutOfMemory || r.Breach != nil || r.Launch != "")
	if last && ranToItsEnd(r) || own && ran > expected {
		c.observe(l, true, now)
	} else {
		c.learnBound(l, now)
	}
}

func ranToItsEnd(r *job.Result) bool {
	return r.Outcome == job.Completed || r.Outcome == job.Failed || r.Outcome == job.TimedOut
}

// learnBounds notes which running jobs outlast what was expected.
func (c *Core) learnBounds(now time.Time) {
	if c.policy.Predict != nil {
		return
	}
	for _, id := range c.jobs.activeIDs() {
		if l := c.jobs.active(id); l.job.State == job.Running {
			c.learnBound(l, now)
		}
	}
}

// learnBound notes that a job outlasts what was expected, and again whenever it has run
// twice as long. That is on record, so that a restart teaches nothing twice.
func (c *Core) learnBound(l *trackedJob, now time.Time) {
	ran, taught := c.ran(l, now), l.job.Taught
	if ran < shortestLesson || ran < 2*taught || taught == 0 && ran <= c.estimate(l).Median {
		return
	}
	l.job.Taught = ran
	c.step.markDirtyQuietly(l)
	c.observe(l, false, now)
}

func (c *Core) observe(l *trackedJob, ended bool, now time.Time) {
	ran := c.ran(l, now)
	if ran < shortestLesson || c.policy.Predict != nil {
		return
	}
	for _, p := range c.planning.observe(l.kind(), ran, ended, now) {
		c.step.record(job.Record{Prediction: &p})
	}
}

// ran is how long the job has run in all; 0: its command has not begun.
func (c *Core) ran(l *trackedJob, now time.Time) time.Duration {
	if l.job.Attempt == nil || l.job.Attempt.StartedAt.IsZero() {
		return 0
	}
	return l.job.Served + max(0, now.Sub(l.job.Attempt.StartedAt)-l.job.Rest(now))
}
