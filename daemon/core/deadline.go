package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// tick does what has come due.
func (c *Core) tick(e Tick, now time.Time) {
	if e.Clock != 0 {
		c.clockSet(e.Clock, now)
	}
	c.due(now)
	c.expire(now)
	c.lateStarts(now)
	if !c.planning.replanAt().IsZero() && !now.Before(c.planning.replanAt()) {
		c.step.replan()
	}
	if c.systemd.listed() { // else a unit may still tell how long it has really run
		c.tickActive(e.Retry, now)
	}
	if c.gpus.dueAgain(now) {
		c.requestSample()
	}
}

// tickActive does what has come due of the jobs with a unit, and what is to be
// tried again.
func (c *Core) tickActive(retry bool, now time.Time) {
	for _, id := range slices.Clone(c.jobs.activeIDs()) {
		l := c.jobs.get(id)
		if due := c.demandAt(l); !due.IsZero() && !now.Before(due) {
			c.lookForDemand(l, now)
		}
		if due := c.goesOnAt(l); !due.IsZero() && !now.Before(due) {
			c.goOn(l, now)
		}
		if due := c.warnAt(l.job); !due.IsZero() && !now.Before(due) {
			c.warn(l, now)
		}
		if !awaitsWarning(l.job) {
			c.stopDue(l, now)
		}
		if due := c.killAt(l.job); !due.IsZero() && !now.Before(due) {
			c.kill(l, now)
		}
		switch {
		case !retry || l.action != noAction:
		case l.job.State == job.Ending:
			c.teardown(l, now)
		case l.job.State == job.Starting:
			c.inspect(l)
		}
	}
}

// stopDue stops a running job whose notice or time limit is over.
func (c *Core) stopDue(l *trackedJob, now time.Time) {
	if due := stopAt(l.job); !due.IsZero() && !now.Before(due) {
		c.teardown(l, now)
	}
	if due := limitAt(l.job); !due.IsZero() && !now.Before(due) {
		c.requestStop(l, job.StopTime, "", now)
	}
}

// dueAgain reports whether a GPU is due to be looked at again.
func (b *gpuBook) dueAgain(now time.Time) (due bool) {
	for _, d := range b.devices {
		if d.cleanup != nil && !d.cleanup.next.IsZero() && !now.Before(d.cleanup.next) {
			d.cleanup.next = time.Time{}
			due = true
		}
	}
	return due
}

// limitAt is when a running job meets its time limit; zero: never, or not while it
// is suspended.
func limitAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Request.TimeLimit == 0 || j.Stop != "" || j.IsSuspended() {
		return time.Time{}
	}
	return j.Attempt.StartedAt.Add(j.Request.TimeLimit.Duration() + j.Rested)
}

// stopAt is when a running job that has been warned is stopped; zero: it is not
// to be stopped, or has been.
func stopAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Stop == "" {
		return time.Time{}
	}
	return j.StopAt
}

// expire ends pauses and reservations whose time is over.
func (c *Core) expire(now time.Time) {
	c.gpus.expire(now)
	c.applyFindings(now)
	if c.gpus.endRests(now) {
		c.step.replan()
	}
	for _, id := range c.reservations.expire(now) {
		c.step.record(job.Record{Unreserve: id})
		c.step.replan()
	}
}

// expire ends pauses whose time is over.
func (b *gpuBook) expire(now time.Time) {
	for _, d := range b.devices {
		g := b.controls[d.UUID]
		if g.Paused && !g.Until.IsZero() && !now.Before(g.Until) {
			b.control(job.GPUControl{UUID: d.UUID, At: now, By: g.By, Fault: g.Fault})
		}
	}
	if g := b.controls[job.EveryGPU]; g.Paused && b.closed(now) == nil {
		b.control(job.GPUControl{UUID: job.EveryGPU, At: now, By: g.By})
	}
}

// Deadline is when the next Tick is needed; zero: not before something else
// happens.
func (c *Core) Deadline() time.Time {
	var first time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if c.systemd.listed() { // as in tick
		for _, l := range c.jobs.allActive() {
			sooner(c.warnAt(l.job))
			if !awaitsWarning(l.job) {
				sooner(limitAt(l.job))
				sooner(stopAt(l.job))
			}
			sooner(c.killAt(l.job))
			sooner(c.goesOnAt(l))
			sooner(c.demandAt(l))
		}
	}
	c.starts.deadlines(sooner)
	sooner(c.jobs.nextTimer().at)
	for _, r := range c.reservations.all() {
		sooner(r.To)
	}
	if !c.systemd.leaving() { // as in deliver
		sooner(c.messages.due())
	}
	sooner(c.planning.replanAt())
	c.gpus.deadlines(sooner)
	return first
}

// deadlines are when something of a GPU comes due.
func (b *gpuBook) deadlines(of func(time.Time)) {
	if g := b.controls[job.EveryGPU]; g.Paused {
		of(g.Until)
	}
	for _, d := range b.devices {
		if d.cleanup != nil {
			of(d.cleanup.next)
		}
		of(d.failing.until)
		of(d.failing.next)
		if g := b.controls[d.UUID]; g.Paused {
			of(g.Until)
		}
	}
}
