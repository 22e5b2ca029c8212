package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

func (c *Core) command(e Command, now time.Time) *job.Refusal {
	switch e.What.Kind {
	case job.CommandCancel, job.CommandSignal, job.CommandHold, job.CommandRelease, job.CommandRequeue, job.CommandUpdate,
		job.CommandSuspend, job.CommandResume, job.CommandPark, job.CommandUnpark:
		return c.jobCommand(e, now)
	case job.CommandPauseGPU, job.CommandResumeGPU, job.CommandDrainGPU:
		defer c.applyFindings(now)
		return c.gpus.Pause(e.Who.User, &e.What, now)
	case job.CommandDrain, job.CommandUndrain:
		if e.What.Reboot != nil {
			r := *e.What.Reboot
			r.Run, r.Due = c.systemd.runID(), r.By.IsZero()
			e.What.Reboot = &r
		}
		if refusal := c.gpus.DrainAll(e.Who.User, &e.What, now); refusal != nil {
			return refusal
		}
		c.systemd.forgetReboot()
		c.applyFindings(now)
		return nil
	case job.CommandReserve:
		return c.reserve(e, now)
	case job.CommandUnreserve:
		return c.unreserve(e)
	}
	return job.Refuse("usage/command", e.What.Kind)
}

// jobCommand executes a command about a live job.
func (c *Core) jobCommand(e Command, now time.Time) *job.Refusal {
	l := c.jobs.Get(e.What.Job)
	if l == nil || l.State.Terminal() { // an earlier command of the same list may have ended the job
		return job.Refuse("not-found/live-job", e.What.Job)
	}
	if !e.Who.MayControl(l.Job) {
		return job.Refuse("forbidden/owner", l.Called(), l.Owner.User)
	}
	if e.Who.Is(l.Owner) { // Held may contain a former name of the account
		e.Who.User = l.Owner.User
	}
	switch e.What.Kind {
	case job.CommandSignal:
		return c.signal(l, e.Who)
	case job.CommandCancel:
		if by := c.deps.FollowersOf(l.ID); e.What.Unawaited && len(by) > 0 {
			return job.Refuse("conflict/awaited", c.jobs.Called(by[0]), l.Called())
		}
		return c.cancel(l, e, now)
	case job.CommandSuspend, job.CommandResume:
		return c.suspend(l, e, now)
	case job.CommandPark, job.CommandUnpark:
		return park(&c.lifecycle, l, e, now)
	}
	if l.Tasks != nil {
		return c.arrayCommand(l, e, now)
	}
	return c.oneCommand(l, e, now)
}

// oneCommand executes a command about a job that is not an array.
func (c *Core) oneCommand(l *tracked.Job, e Command, now time.Time) *job.Refusal {
	switch state := l.Shown(); {
	case e.What.Kind == job.CommandRequeue:
		return c.requeue(l, e.Who.User, now)
	case e.What.Kind == job.CommandUpdate && state.Live():
		return c.changeRunning(l, e, now)
	case state != job.Queued && !canHold(l, &e):
		return job.Refuse("conflict/not-waiting", l.Called(), state)
	case e.What.Kind == job.CommandUpdate:
		return c.update([]*tracked.Job{l}, e, now)
	}
	return c.hold(l, e, now)
}

// cancel ends a job, an array with its tasks, or one task.
func (c *Core) cancel(l *tracked.Job, e Command, now time.Time) *job.Refusal {
	task, grace := e.What.Task, e.What.Grace
	if own := l.Request.GraceTime(); grace != nil && *grace > own {
		return job.Refuse("conflict/longer-grace", l.Called(), own)
	}
	if task == nil {
		c.cancelJob(l, e.Who.User, now)
	} else if no := c.cancelTask(l, *task, e.Who.User, now); no != nil {
		return no
	}
	if grace == nil {
		return nil
	}
	for _, r := range append(c.jobs.Tasks(l.ID), l) {
		if task == nil || r.Task != nil && r.Task.Index == *task {
			after := grace.Duration()
			// SIGKILL would also end the process that tidies up afterwards
			if r.Request.Screen || r.Request.ContainerEngine == contract.Podman {
				after = max(after, time.Second)
			}
			c.killSooner(r, now.Add(after))
		}
	}
	return nil
}

// cancelJob cancels a job in any state.
func (c *Core) cancelJob(l *tracked.Job, by string, now time.Time) {
	switch {
	case l.Tasks != nil:
		c.cancelArray(l, by, now)
	case l.State == job.Queued:
		l.Result = &job.Result{Outcome: job.Cancelled, By: by}
		c.move(l, job.Cancelled, now)
	default:
		c.requestStop(l, job.StopCancel, by, now)
	}
}

// requestStop tells a live job to stop. If the job was told to stop before, the first cause
// remains, with one exception: a cancel replaces any other cause, since the job must not run again.
// A cancel also prevents the next attempt of a job that has ended by itself. A start that is under
// way is not stopped, since only its answer shows the job's unit.
func (c *lifecycle) requestStop(l *tracked.Job, cause job.StopCause, by string, now time.Time) {
	if l.Stop == job.StopCancel || cause != job.StopCancel && (l.Stop != "" || l.State == job.Ending) {
		return
	}
	l.Stop, l.StopBy, l.StopAt = cause, by, time.Time{}
	c.step.markDirty(l)
	if l.Park == job.IsParked {
		c.queue.Consider(l, now)
	}
	start := c.starts.Find(l.ID)
	switch {
	case l.State == job.Running && !c.warnFirst(l, now):
		c.teardown(l, now)
	case l.Action == tracked.Checking, l.Action == tracked.InLine:
		c.teardown(l, now)
	case start != nil && start.Slow: // the job's user may have sent SIGSTOP again to delay the start
		c.step.act(Hasten{Job: *l.Job, Again: true})
	case l.State == job.Starting && c.systemd.listed():
		c.inspect(l) // no start is under way, so no answer of a start would arrive
	}
}

// signal refuses a signal that can't be sent to the job now.
func (c *state) signal(l *tracked.Job, who job.Actor) *job.Refusal {
	switch {
	case len(c.jobs.Reached(l, who)) > 0:
		return nil
	case l.Tasks != nil:
		return job.Refuse("conflict/no-task-runs", l.Called())
	}
	return job.Refuse("conflict/no-signal", l.Called(), l.Shown())
}

// maxWalked is the largest number of jobs that the expensive commands of one step look at. Looking
// at 200 000 jobs takes a fraction of a second.
const maxWalked = 200_000

// commands executes commands about several jobs. If one is refused, the others are still executed.
// Once maxWalked jobs have been looked at, no further expensive command is executed: the reply ends
// before the first such command.
func (c *Core) commands(e Commands, now time.Time) Reply {
	r := Reply{Token: e.Token, Each: make([]job.Outcome, len(e.List)), of: make([]job.ID, len(e.List))}
	before := c.jobs.HasWalked()
	for i, what := range e.List {
		if what.IsExpensive() && c.jobs.HasWalked()-before > maxWalked {
			r.Each, r.of = r.Each[:i], r.of[:i]
			break
		}
		r.of[i] = what.Job
		if !what.Kind.ForMany() {
			r.Each[i].Refusal = job.Refuse("usage/command", what.Kind)
			continue
		}
		r.Each[i].Refusal = c.command(Command{Who: e.Who, What: what}, now)
		if what.Kind == job.CommandSignal && r.Each[i].Refusal == nil {
			r.Each[i].Reached = c.jobs.Reached(c.jobs.Get(what.Job), e.Who)
		}
	}
	return r
}
