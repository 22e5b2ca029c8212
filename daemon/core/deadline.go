package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// tick does everything that is due.
func (c *Core) tick(e Tick, now time.Time) {
	if e.Clock != 0 {
		c.clockSet(e.Clock, now)
	}
	c.queue.ConsiderDue(now)
	c.endExpired(now)
	for _, s := range c.starts.Since(now.Add(-starts.SlowStart)) {
		c.freeSlow(s, "", now)
	}
	if !c.queue.ReplanAt().IsZero() && !now.Before(c.queue.ReplanAt()) {
		c.step.replan()
	}
	if c.systemd.listed() { // before the units are listed, the recorded run time of a job may be wrong
		c.tickActive(e.Retry, now)
	}
	if c.gpus.DueAgain(now) {
		c.requestSample()
	}
}

// tickActive does what is due for jobs with a unit, and retries failed actions.
func (c *Core) tickActive(retry bool, now time.Time) {
	for l := range c.jobs.Live() {
		if due := c.queue.DemandCheckAt(l); !due.IsZero() && !now.Before(due) {
			c.checkDemand(l, now)
		}
		if due := c.queue.ResumesAt(l); !due.IsZero() && !now.Before(due) {
			c.resumeJob(l, now)
		}
		if due := c.systemd.warnAt(l.Job); !due.IsZero() && !now.Before(due) {
			c.warn(l, now)
		}
		if !awaitsWarning(l.Job) {
			c.stopDue(l, now)
		}
		if due := c.systemd.killAt(l.Job); !due.IsZero() && !now.Before(due) {
			c.systemd.warnAgain(l.ID, now.Add(warnUnheard))
			c.step.act(Signal{Job: l.ID, Attempt: l.Attempt.Number, Signal: job.SIGKILL, Whose: whose(l.Job)})
		}
		switch {
		case !retry || l.Action != tracked.NoAction:
		case l.State == job.Ending:
			c.teardown(l, now)
		case l.State == job.Starting:
			c.inspect(l)
		}
		if retry {
			retryCopies(&c.lifecycle, l)
		}
	}
}

// stopDue stops a running job whose time after a warning, or whose time limit, is over.
func (c *lifecycle) stopDue(l *tracked.Job, now time.Time) {
	if due := stopAt(l.Job); !due.IsZero() && !now.Before(due) {
		c.teardown(l, now)
	}
	if due := limitAt(l.Job); !due.IsZero() && !now.Before(due) {
		c.requestStop(l, job.StopTime, "", now)
	}
}

// limitAt returns when a running job reaches its time limit. If the job has no limit or is
// suspended, limitAt returns zero.
func limitAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Request.TimeLimit == 0 || j.Stop != "" || j.IsSuspended() {
		return time.Time{}
	}
	return j.Attempt.StartedAt.Add(j.Request.TimeLimit.Duration() + j.SuspendedTime)
}

// stopAt returns when a warned running job is to be stopped. If no stop is planned, or if the job
// is being stopped already, stopAt returns zero.
func stopAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Stop == "" {
		return time.Time{}
	}
	return j.StopAt
}

// endExpired ends pauses and reservations whose time is over.
func (c *Core) endExpired(now time.Time) {
	c.gpus.Expire(now)
	c.applyFindings(now)
	if c.gpus.EndRests(now) {
		c.step.replan()
	}
	for _, id := range c.gpus.Reservations.Expire(now) {
		c.step.record(job.Record{Unreserve: id})
		c.step.replan()
	}
}

// Deadline returns when the next Tick is needed, or zero if none is needed before the next event.
func (c *state) Deadline() time.Time {
	var first time.Time
	sooner := func(t time.Time) { first = job.Earlier(first, t) }
	if c.systemd.listed() { // before the units are listed, tick ignores these jobs
		for l := range c.jobs.Live() {
			sooner(c.systemd.warnAt(l.Job))
			if !awaitsWarning(l.Job) {
				sooner(limitAt(l.Job))
				sooner(stopAt(l.Job))
			}
			sooner(c.systemd.killAt(l.Job))
			sooner(c.queue.ResumesAt(l))
			sooner(c.queue.DemandCheckAt(l))
		}
	}
	if g := gpus.ForReboot(&c.gpus); g != nil && !g.Reboot.Due && c.systemd.listed() && !c.systemd.leaving() {
		sooner(g.Reboot.By)
	}
	c.starts.Deadlines(sooner)
	sooner(c.jobs.NextTimer().At)
	for _, r := range c.gpus.Reservations.All() {
		sooner(r.To)
	}
	if !c.systemd.leaving() { // while systemd stops everything, Step sends no messages
		sooner(c.messages.Due())
	}
	sooner(c.queue.ReplanAt())
	c.gpus.Deadlines(sooner)
	return first
}
