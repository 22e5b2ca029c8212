package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func (c *Core) command(e Command, now time.Time) *job.Refusal {
	switch e.What.Kind {
	case job.CommandCancel, job.CommandSignal, job.CommandHold, job.CommandRelease, job.CommandRequeue, job.CommandUpdate,
		job.CommandSuspend, job.CommandResume:
		return c.jobCommand(e, now)
	case job.CommandPauseGPU, job.CommandResumeGPU, job.CommandDrainGPU:
		defer c.applyFindings(now)
		return c.gpus.pause(e, now)
	case job.CommandDrain, job.CommandUndrain:
		c.gpus.drainAll(e, now)
		c.applyFindings(now)
		return nil
	case job.CommandReserve:
		return c.reserve(e, now)
	case job.CommandUnreserve:
		return c.unreserve(e)
	}
	return job.Refuse("usage/command", e.What.Kind)
}

// jobCommand does what is asked of a live job by who has the right to.
func (c *Core) jobCommand(e Command, now time.Time) *job.Refusal {
	l := c.jobs.get(e.What.Job)
	if l == nil || l.job.State.Terminal() { // it may have ended by an earlier one of several commands
		return job.Refuse("not-found/live-job", e.What.Job)
	}
	if !e.Who.MayControl(l.job) {
		return job.Refuse("forbidden/owner", l.job.Called(), l.job.Owner.User)
	}
	if e.Who.Is(l.job.Owner) { // names of accounts change, and what is held knows by whom
		e.Who.User = l.job.Owner.User
	}
	switch e.What.Kind {
	case job.CommandSignal:
		return c.signal(l, e.Who)
	case job.CommandCancel:
		if by := c.deps.followersOf(l.job.ID); e.What.Unawaited && len(by) > 0 {
			return job.Refuse("conflict/awaited", c.jobs.called(by[0]), l.job.Called())
		}
		return c.cancel(l, e, now)
	case job.CommandSuspend, job.CommandResume:
		return c.suspend(l, e, now)
	}
	if l.job.Tasks != nil {
		return c.arrayCommand(l, e, now)
	}
	return c.oneCommand(l, e, now)
}

// oneCommand does what is asked of a job that is no array.
func (c *Core) oneCommand(l *trackedJob, e Command, now time.Time) *job.Refusal {
	switch state := l.shown(); {
	case e.What.Kind == job.CommandRequeue:
		return c.requeue(l, e.Who.User, now)
	case e.What.Kind == job.CommandUpdate && state.Live():
		return c.limit(l, e, now)
	case state != job.Queued && !l.canHold(&e):
		return job.Refuse("conflict/not-waiting", l.job.Called(), state)
	case e.What.Kind == job.CommandUpdate:
		return c.update([]*trackedJob{l}, e, now)
	}
	return c.hold(l, e, now)
}

// cancel ends a job, an array with its tasks, or one task.
func (c *Core) cancel(l *trackedJob, e Command, now time.Time) *job.Refusal {
	task, grace := e.What.Task, e.What.Grace
	if own := l.job.Request.GraceTime(); grace != nil && *grace > own {
		return job.Refuse("conflict/longer-grace", l.job.Called(), own)
	}
	if task == nil {
		c.cancelJob(l, e.Who.User, now)
	} else if no := c.cancelTask(l, *task, e.Who.User, now); no != nil {
		return no
	}
	if grace == nil {
		return nil
	}
	for _, r := range append(c.jobs.tasks(l.id), l) {
		if task == nil || r.job.Task != nil && r.job.Task.Index == *task {
			c.killSooner(r, now.Add(leastGrace(r.job, grace.Duration())))
		}
	}
	return nil
}

// leastGrace is the time until SIGKILL of a job that is cancelled. SIGKILL also ends what removes a session of GNU
// screen after its last process, so that has a second.
func leastGrace(j *job.Job, grace time.Duration) time.Duration {
	if j.Request.Screen {
		return max(grace, time.Second)
	}
	return grace
}

// cancelJob cancels a job, wherever it is.
func (c *Core) cancelJob(l *trackedJob, by string, now time.Time) {
	switch {
	case l.job.Tasks != nil:
		c.cancelArray(l, by, now)
	case l.job.State == job.Queued:
		plain := !l.dirty && l.job.Attempt == nil && l.job.AwayAt.IsZero() && l.job.Pending == nil && !l.job.Owed
		waits := l.job.QueuedAt
		l.job.Result = &job.Result{Outcome: job.Cancelled, By: by}
		c.move(l, job.Cancelled, now)
		l.ends = plain && l.job.QueuedAt.Equal(waits)
	default:
		c.requestStop(l, job.StopCancel, by, now)
	}
}

// requestStop tells a live job to stop. The first cause stays, but a cancel goes over
// one after which the job would run again, and keeps one that has ended by itself
// from another attempt. A start that is under way is let finish, so that its unit
// is known.
func (c *Core) requestStop(l *trackedJob, cause job.StopCause, by string, now time.Time) {
	if l.job.Stop == job.StopCancel || cause != job.StopCancel && (l.job.Stop != "" || l.job.State == job.Ending) {
		return
	}
	l.job.Stop, l.job.StopBy, l.job.StopAt = cause, by, time.Time{}
	c.step.markDirty(l)
	start := c.starts.find(l.id)
	switch {
	case l.job.State == job.Running && !c.warnFirst(l, now):
		c.teardown(l, now)
	case l.action == checking, l.action == inLine:
		c.teardown(l, now)
	case start != nil && start.slow: // its user may have sent it SIGSTOP again
		c.step.act(Hasten{Job: *l.job, Again: true})
	case l.job.State == job.Starting && c.systemd.listed():
		c.inspect(l) // where no start is under way nothing else would come
	}
}

// signal reports whether a signal may be sent to a job now.
func (c *Core) signal(l *trackedJob, who job.Actor) *job.Refusal {
	switch {
	case len(c.reached(l, who)) > 0:
		return nil
	case l.job.Tasks != nil:
		return job.Refuse("conflict/no-task-runs", l.job.Called())
	}
	return job.Refuse("conflict/no-signal", l.job.Called(), l.shown())
}

// reached returns the jobs that get a signal for a job: the job itself, or the tasks of an array that run.
func (c *Core) reached(l *trackedJob, who job.Actor) (ids []job.ID) {
	for _, r := range append(c.jobs.tasks(l.id), l) {
		if r.job.State == job.Running && who.MayControl(r.job) { // the owner's number may be another's by now
			ids = append(ids, r.id)
		}
	}
	return ids
}

func (b *gpuBook) pause(e Command, now time.Time) *job.Refusal {
	d := b.byIndex(e.What.GPU)
	if d == nil {
		return job.Refuse("not-found/gpu", e.What.GPU)
	}
	if d.UUID == "" {
		return job.Refuse("conflict/nameless-gpu", e.What.GPU)
	}
	g := job.GPUControl{
		UUID: d.UUID, Paused: e.What.Kind != job.CommandResumeGPU, Drain: e.What.Kind == job.CommandDrainGPU,
		At: now, By: e.Who.User, Fault: b.controls[d.UUID].Fault,
	}
	if g.Paused {
		g.Reason, g.Until = e.What.Reason, e.What.Until
	} else {
		b.acceptFault(&g, d)
		d.failing = failing{}
	}
	b.control(g)
	return nil
}

// acceptFault takes an administrator's word for it that the GPU is well.
func (b *gpuBook) acceptFault(g *job.GPUControl, d *device) {
	fault := g.Fault.Anew()
	if g.Fault.Boot == b.boot() {
		fault.Boot, fault.Seq, fault.Strays = b.boot(), max(b.kernelSeq, g.Fault.Seq), g.Fault.Strays
		if !g.Fault.Left.What.IsZero() { // somebody looked at it instead of us
			d.cleanup = nil
		}
	}
	fault.RowsAccepted = fault.RowsAccepted || d.RowsFailed
	g.Fault = fault
}
