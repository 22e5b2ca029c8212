package core

import (
	"cmp"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// startUnit starts the unit of the current attempt as soon as Policy.StartsInFlight allows it. The
// attempt is on record already, or is recorded in this step.
func (c *lifecycle) startUnit(l *tracked.Job, now time.Time) {
	var looked time.Time
	if c.needsSample(l) {
		looked = now
	}
	p := c.starts.Add(l, looked)
	c.beginStarts(now)
	c.barSlow(p, now)
}

// beginStarts begins as many starts as there are free places for starts.
func (c *lifecycle) beginStarts(now time.Time) {
	for w, ok := c.starts.Begin(c.policy.StartsInFlight, now); ok; w, ok = c.starts.Begin(c.policy.StartsInFlight, now) {
		w.Of.Action, w.Of.Unasked = tracked.Starting, false
		w.Of.Lifetime().Asked = now
		c.step.act(Start{Job: *w.Of.Job, SampledAt: w.SampledAt})
	}
}

// startFinished notes that a start has succeeded or failed, and gives the place of that start to
// the next one.
func (c *lifecycle) startFinished(id job.ID, now time.Time) (s *starts.BegunStart) {
	if s = c.starts.End(id); s == nil {
		return nil
	}
	if p := s.By; p.Bar != "" && p.Slow < starts.MaxSlowStarts {
		if p.Account.Barred == p.Bar {
			p.Account.Barred = ""
		}
		p.Bar = ""
		c.step.replan()
	}
	c.beginStarts(now)
	return s
}

// freeSlow frees the place of a slow start, unless the place is free already. If the cause is
// unknown, the argument cause is "".
func (c *lifecycle) freeSlow(s *starts.BegunStart, cause string, now time.Time) {
	s.Why = cmp.Or(s.Why, cause)
	if !s.Slow {
		c.starts.Slowed(s)
		c.step.act(Hasten{Job: *s.Of.Job})
		c.beginStarts(now)
	}
	c.barSlow(s.By, now)
}

// barSlow acts if too many of a person's starts are slow. It then keeps the person's other jobs in
// the queue, so that other users can have GPUs meanwhile.
func (c *lifecycle) barSlow(p *starts.Starter, now time.Time) {
	if p.Slow < starts.MaxSlowStarts {
		return
	}
	if p.Account.Barred == "" || p.Account.Barred == p.Bar {
		p.Bar = c.slowMessage(p)
		p.Account.Barred = p.Bar
	}
	for _, l := range c.starts.WaitingOf(p) {
		c.returnUnstarted(l, job.Text(p.Account.Barred), now)
	}
}

// returnUnstarted returns a placed job to the queue if its start has not begun.
func (c *lifecycle) returnUnstarted(l *tracked.Job, why job.Message, now time.Time) {
	c.starts.Leave(l)
	r := job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: why}
	if l.Unasked {
		c.abandonAttempt(l, r, now)
	} else { // an earlier daemon may have sent the start, so the unit may still appear
		c.endAttempt(l, r, now)
	}
}

// noteShutdown notes whether systemd stops everything. If it does, jobs whose starts have not begun
// return to the queue before the machine is down. If they did not, the record would look as if the
// reboot had ended their starts.
func (c *Core) noteShutdown(down bool, now time.Time) {
	c.systemd.setLeaving(down)
	c.step.replan()
	if !down {
		return
	}
	for l := range c.jobs.Live() {
		if l.Action == tracked.InLine || l.Action == tracked.Checking {
			c.returnUnstarted(l, job.Say("detail/going-down"), now)
		}
	}
}

// slowMessage explains why no other start of a person begins.
func (c *state) slowMessage(p *starts.Starter) string {
	var names []string
	why := ""
	for _, s := range c.starts.SlowOf(p) {
		names, why = append(names, c.jobs.Called(s.Of.ID)), cmp.Or(why, s.Why)
	}
	text := "jobs " + strings.Join(names, ", ") + " of this user take long to start; no other starts until one of these has started or failed"
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// SlowStart is a start that takes very long.
type SlowStart struct {
	Job   job.Job
	Since time.Time
	Why   string // "" means unknown
}

// SlowStart returns the start that has taken longest so far. If no start takes very long, it
// returns nil.
func (c *state) SlowStart(now time.Time) *SlowStart {
	for _, s := range c.starts.Since(now.Add(-starts.LongStart)) {
		return &SlowStart{Job: *s.Of.Job, Since: s.Since, Why: s.Why}
	}
	return nil
}

// startEnded counts whether the start of an ended attempt worked or failed.
func (c *lifecycle) startEnded(l *tracked.Job, r *job.Result, now time.Time) {
	switch {
	case c.systemd.leaving():
	case r.Tries == 0 && r.Launch == "" && r.Outcome != job.Lost && !l.Attempt.StartedAt.IsZero():
		c.troubles.StartWorked(l, now)
	case r.Tries > 0 && r.Launch != "": // without Launch, the failure is that the job's user can't run anything
		c.troubles.StartFailed(l, r.Detail, now)
		c.step.replan()
	}
}

// tryNow ends the back-offs of jobs that could not be started. These are the jobs of one account,
// or of all accounts if a is nil.
func (c *Core) tryNow(a *sched.Account, now time.Time) {
	c.step.replan()
	failed := func(l *tracked.Job) bool {
		return l.State == job.Queued && tracked.TriesOf(l.Job) > 0 && (a == nil || l.Account == a)
	}
	for _, l := range c.jobs.Sorted(failed) {
		l.NotBefore = time.Time{}
		c.step.markDirtyQuietly(l)
		c.queue.Consider(l, now)
	}
}

// NoStarts reports whether several jobs could not be started, no job was started after them, and
// some of these jobs still wait.
func (c *state) NoStarts(now time.Time) bool { return c.troubles.NoStarts(now) }

// StartTroubles returns the present troubles with starts.
func (c *state) StartTroubles(now time.Time) []starts.Trouble { return c.troubles.List(now) }
