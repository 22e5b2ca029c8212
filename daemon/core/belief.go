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

// beliefs is where a look at all waiting jobs stands, which begins when something is
// learned.
type beliefs struct {
	left []job.ID // that have not been looked at, the last first
	of   uint64   // the generation of the predictor that they are looked at for

	memo   map[sched.Kind]*sched.Estimate
	memoOf uint64 // the generation that they are of
}

// maxMemo is how many estimates are kept for the next who asks.
const maxMemo = 1024

// estimate is the predictor's for a kind.
func (b *beliefs) estimate(p *sched.Predictor, k sched.Kind) *sched.Estimate {
	if g := p.Generation(); b.memoOf != g || len(b.memo) >= maxMemo {
		b.memo, b.memoOf = map[sched.Kind]*sched.Estimate{}, g
	}
	e := b.memo[k]
	if e == nil {
		fresh := p.Estimate(k)
		e = &fresh
		b.memo[k] = e
	}
	return e
}

// next returns up to so many of the waiting jobs to look at.
func (b *beliefs) next(p *planning, most int) []job.ID {
	if g := p.Predictor.Generation(); len(b.left) == 0 && b.of != g {
		b.left, b.of = p.IDs(b.left), g
	}
	rest := max(0, len(b.left)-most)
	list := b.left[rest:]
	b.left = b.left[:rest]
	return list
}

func (l *trackedJob) kind() sched.Kind { return sched.KindOf(l.account.UID, &l.job.Request) }

// estimate is what is believed of a job's run time.
func (c *Core) estimate(l *trackedJob) *sched.Estimate {
	if c.policy.Predict != nil {
		return &sched.Estimate{Median: c.policy.Predict(l.job.ID), Ended: triedRuns}
	}
	return c.beliefs.estimate(c.planning.Predictor, l.kind())
}

// believe brings what is expected of a queued job up to date.
func (c *Core) believe(l *trackedJob) {
	l.job.Expected = c.estimate(l).Total(l.job.Served)
}

// effort is what a job that may be stopped for others is ranked by, see Estimate.Effort, and its kind where
// that has not been tried.
func (c *Core) effort(l *trackedJob, ran time.Duration, runs bool) (time.Duration, sched.Kind) {
	e, kind := c.estimate(l), sched.Kind{}
	if e.Ended < triedRuns {
		kind = l.kind()
	}
	return e.Effort(ran, c.policy.Sched.Slice, runs), kind
}

// believeAll brings what is expected of some waiting jobs up to date, those that were
// looked at longest ago.
func (c *Core) believeAll() {
	for _, id := range c.beliefs.next(&c.planning, believedAtOnce) {
		if !c.planning.Has(id) {
			continue
		}
		l := c.jobs.get(id)
		if c.believe(l); c.planning.Moves(c.waiting(l)) {
			c.planning.Remove(l.job.ID)
			c.planning.Push(c.waiting(l))
		}
	}
}

// expectedEnd is when the current attempt of a job will end, at its limit at
// the latest.
func (c *Core) expectedEnd(l *trackedJob, now time.Time) time.Time {
	ran := ranFor(l.job.Attempt, now)
	left := c.estimate(l).Total(l.job.Served+ran) - l.job.Served - ran
	if limit := l.job.Request.TimeLimit.Duration(); limit > 0 {
		left = min(left, max(0, limit-ran))
	}
	return now.Add(left)
}

// learn notes how long the job ran, where it ended by itself, or that it ran at least
// so long.
func (c *Core) learn(l *trackedJob, r *job.Result, now time.Time) {
	if r.Launch != "" || r.Cause == job.StopGPULost {
		return
	}
	if ranToItsEnd(r) {
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
// twice as long.
func (c *Core) learnBound(l *trackedJob, now time.Time) {
	ran, taught := c.ran(l, now), l.taught
	if ran < 2*taught || taught == 0 && ran <= c.estimate(l).Median {
		return
	}
	l.taught = ran
	c.observe(l, false, now)
}

func (c *Core) observe(l *trackedJob, ended bool, now time.Time) {
	ran := c.ran(l, now)
	if ended && ran > 0 {
		c.planning.ran(ran, &l.job)
	}
	if ran < shortestLesson || c.policy.Predict != nil {
		return
	}
	for _, p := range c.planning.Predictor.Observe(l.kind(), ran, ended, now) {
		c.step.record(job.Record{Prediction: &p})
	}
}

// ran is how long the job has run in all; 0: its command has not begun.
func (c *Core) ran(l *trackedJob, now time.Time) time.Duration {
	if l.job.Attempt == nil || l.job.Attempt.StartedAt.IsZero() {
		return 0
	}
	return l.job.Served + max(0, now.Sub(l.job.Attempt.StartedAt))
}
