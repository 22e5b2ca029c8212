package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// attempt finds the live job whose current attempt an answer speaks of. A late
// answer about an earlier attempt finds nothing.
func (c *Core) attempt(id job.ID, number int) *trackedJob {
	l := c.jobs.active(id)
	if l == nil || l.job.Attempt.Number != number {
		return nil
	}
	return l
}

func (c *Core) started(e Started, now time.Time) {
	l := c.attempt(e.Job, e.Attempt)
	if l == nil {
		return
	}
	l.action = noAction
	c.systemd.hasStarted()
	c.applyUnitState(l, e.Unit, now)
	c.reinspect(l)
}

// reinspect inspects a unit that changed while we were at it: the answer may be
// older than the change.
func (c *Core) reinspect(l *trackedJob) {
	if l.recheck && l.action == noAction {
		l.recheck = false
		c.inspect(l)
	}
}

func (c *Core) startFailed(e StartFailed, now time.Time) {
	l := c.attempt(e.Job, e.Attempt)
	if l == nil {
		return
	}
	l.action = noAction
	r := job.Result{Outcome: job.Lost, Launch: e.Launch, Detail: e.Detail, Tries: l.tries + 1}
	switch e.How {
	case StartUnsure: // the next listing or retry says whether the unit exists
		return
	case StartExists:
		c.inspect(l)
		return
	case StartRefused:
		r.Outcome, r.Tries = job.Failed, 0
	case StartLater:
		c.systemd.holdStarts(&l.job.Owner, now)
	case StartBarred:
		c.systemd.bar(l.account, e.Detail, now)
	}
	c.endAttempt(l, r, now)
}

// endAttempt records how an attempt ended and tears its unit down.
func (c *Core) endAttempt(l *trackedJob, r job.Result, now time.Time) {
	c.edit(l, func(a *job.Attempt) { a.Result = &r })
	c.teardown(l, now)
}

// teardown brings a job to its end: every process of its unit stopped, the unit
// collected.
func (c *Core) teardown(l *trackedJob, now time.Time) {
	if l.job.State != job.Ending {
		c.move(l, job.Ending, now)
	}
	if l.action == noAction || l.action == inspecting || l.action == checking {
		l.action = stopping
		c.step.act(Stop{Job: l.job.ID, Attempt: l.job.Attempt.Number, Grace: l.job.Request.Grace.Duration(), Look: l.job.Attempt.Result == nil, Notice: c.stopNotice(&l.job)})
	}
}

// stopNotice is why a job is stopped whose owner had no part in that.
func (c *Core) stopNotice(j *job.Job) NotifyOwner {
	t := NotifyOwner{Job: j.ID, UID: j.Owner.UID}
	if j.Attempt.Result == nil && (j.Stop == job.StopGPUMem || j.Stop == job.StopIdle || j.Stop == job.StopTrespass) {
		t.Text = c.result(j).Sentence()
	}
	return t
}

func (c *Core) stopped(e Stopped, now time.Time) {
	l := c.attempt(e.Job, e.Attempt)
	if l == nil || l.job.State != job.Ending {
		return
	}
	l.action = noAction
	looked := l.job.Attempt.Result == nil && c.recordEarlyExit(l, e.Before)
	switch {
	case e.OK:
		c.ended(l, now)
	case looked: // its end is on record before the unit that tells it goes
		c.teardown(l, now)
	default:
		l.stopSent = l.stopSent || e.Before.Phase != Absent
		c.recordSurvivors(l, e.Left, now)
	}
}

// recordEarlyExit keeps how the command ended where a look at its unit before a stop
// found that it had. A signal that a stop of ours sends, too, is taken for that
// where one may have reached it.
func (c *Core) recordEarlyExit(l *trackedJob, before Unit) bool {
	if before.Phase != Exited {
		return false
	}
	e := before.Exit
	if l.stopSent && l.job.Stop != "" && !e.OOM && (e.Signal == sigterm || e.Signal == sigkill) {
		c.edit(l, func(a *job.Attempt) { a.Result = &job.Result{Outcome: job.Lost, Detail: "it was stopped"} })
	} else {
		c.recordExit(l, before)
	}
	return true
}

// The signals of a stop, on Linux.
const (
	sigkill = 9
	sigterm = 15
)

// recordExit keeps how the command ended.
func (c *Core) recordExit(l *trackedJob, u Unit) {
	e := u.Exit
	c.edit(l, func(a *job.Attempt) {
		r := resultOf(e, &l.job)
		r.Unfiltered = u.Unfiltered
		a.Result = &r
		a.PeakMemBytes = max(a.PeakMemBytes, e.PeakMemBytes)
		a.CPUTime = max(a.CPUTime, e.CPUTime)
	})
}

// changed takes the hint that something happened to a unit. A start or a look
// under way may have read the unit before that, so another look follows it; a
// stop reads it at its end.
func (c *Core) changed(e Changed) {
	l := c.jobs.active(e.Job)
	switch {
	case l == nil || l.job.State == job.Ending:
		return
	case !c.systemd.listed():
		l.recheck = true // the first listing is under way
		return
	}
	l.recheck = l.action == inspecting || l.action == starting
	c.inspect(l)
}

func (c *Core) inspect(l *trackedJob) {
	if l.action == noAction {
		l.action = inspecting
		c.step.act(Inspect{Job: l.job.ID, Attempt: l.job.Attempt.Number})
	}
}

func (c *Core) inspected(e Inspected, now time.Time) {
	l := c.attempt(e.Job, e.Attempt)
	if l == nil {
		return
	}
	if l.action != inspecting {
		return // a stop was decided meanwhile
	}
	l.action = noAction
	if e.OK {
		c.reconcileUnit(l, e.Unit, true, now)
	}
	c.reinspect(l)
}

// list compares all live jobs with the units that exist.
func (c *Core) list(e Listed, now time.Time) {
	if c.systemd.leaving() {
		return
	}
	first := !c.systemd.listed()
	if first {
		c.clampBackoffs(now)
	}
	c.systemd.runs(e.Boot, e.Run)
	c.step.replan()
	c.recoverAll(&e, now)
	c.systemd.setListed()
	units, orphans := map[job.ID]Unit{}, []job.ID(nil)
	for _, u := range e.Units {
		units[u.Job] = u
		if c.jobs.active(u.Job) == nil {
			c.jobs.claim(u.Job)
			orphans = append(orphans, u.Job)
		}
	}
	for _, id := range c.systemd.orphaned(orphans) {
		c.step.act(Orphan{Job: id})
	}
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		if l.action == noAction {
			u := units[id]
			u.Job = id
			c.reconcileUnit(l, u, false, now)
			c.reinspect(l)
		}
	}
	if first {
		c.startCharging(now)
	}
}

// reconcileUnit takes in what systemd says of a job's unit while no action of ours is
// under way. Only a fresh look, asked for after the job was last touched, is
// believed when it says that there is no unit.
func (c *Core) reconcileUnit(l *trackedJob, u Unit, fresh bool, now time.Time) {
	a := l.job.Attempt
	if u.Phase != Absent && a.InvocationID != "" && u.Invocation != a.InvocationID {
		u = Unit{Job: u.Job, Phase: Absent}
	}
	if u.Phase != Absent {
		c.applyUnitState(l, u, now)
		return
	}
	switch {
	case l.job.State == job.Ending:
		c.teardown(l, now)
	case c.systemd.rebooted(a):
		c.endAttempt(l, job.Result{Outcome: job.Lost, Detail: "the machine was restarted while the job ran"}, now)
	case !fresh:
		c.inspect(l)
	case l.job.State == job.Starting && l.job.Stop != "":
		c.teardown(l, now)
	case l.job.State == job.Starting:
		c.launch(l)
	default:
		c.endAttempt(l, job.Result{Outcome: job.Lost, Detail: "its unit was stopped or removed from outside gpusched"}, now)
	}
}

// launch starts the current attempt, if need be after a look at its GPUs.
func (c *Core) launch(l *trackedJob) {
	c.step.markDirty(l)
	if c.needsFreshSample(l) {
		c.awaitSample(l)
	} else {
		c.start(l)
	}
}

// start asks for the unit of the current attempt, which is on record or in
// this step's records.
func (c *Core) start(l *trackedJob) {
	l.action = starting
	c.step.act(Start{Job: l.job})
}

// applyUnitState takes in a unit that exists.
func (c *Core) applyUnitState(l *trackedJob, u Unit, now time.Time) {
	if u.Phase == Absent {
		return
	}
	if u.Phase == Activating { // by no start of ours, or by one that is over
		if l.job.Stop != "" && !now.Before(l.job.StopAt) {
			c.teardown(l, now)
		}
		return
	}
	if l.job.State == job.Starting {
		c.began(l, now)
		c.move(l, job.Running, now)
		c.edit(l, func(a *job.Attempt) {
			a.StartedAt, a.InvocationID = now, u.Invocation
			if u.Age > startSlack { // nobody was here to see it, which says nothing about the clock
				a.StartedAt = now.Add(-u.Age)
			}
			if a.PlacedAt.After(a.StartedAt) {
				a.PlacedAt = a.StartedAt
			}
		})
	}
	c.correctStart(l, u.Age, now)
	switch {
	case l.job.State == job.Ending:
		c.teardown(l, now)
	case u.Phase == Exited:
		c.recordExit(l, u)
		c.teardown(l, now)
	case l.job.Stop != "" && !now.Before(l.job.StopAt):
		c.teardown(l, now)
	}
}

// clockSlack is how far a clock may be set before what is on record of a start is
// no longer believed. Small corrections are not worth a record.
const clockSlack = time.Minute

// correctStart puts the start of a running job where it was by the present clock, after
// somebody has set that: a time limit is a time that passes, not a moment, and so
// are a slice, an expected run time, what is charged for GPUs, the notice before a
// stop and the wait before the start.
func (c *Core) correctStart(l *trackedJob, age time.Duration, now time.Time) {
	if age == 0 || l.job.State != job.Running || l.job.Attempt.StartedAt.IsZero() {
		return
	}
	began, was := now.Add(-age), l.job.Attempt.StartedAt
	switch off := began.Sub(was); {
	case off > clockSlack || off < -clockSlack:
		c.edit(l, func(a *job.Attempt) { a.StartedAt, a.PlacedAt = began, a.PlacedAt.Add(off) })
		l.job.QueuedAt = l.job.QueuedAt.Add(off)
		if !l.job.StopAt.IsZero() {
			l.job.StopAt = l.job.StopAt.Add(off)
		}
	case was == was.Round(0) && now != now.Round(0): // what was read from disk has no steady clock, as now has
		a := *l.job.Attempt
		a.StartedAt, a.PlacedAt = began, began.Add(a.PlacedAt.Sub(was))
		l.job.Attempt = &a
	}
}

// resultOf translates the end of a unit's command.
func resultOf(e Exit, j *job.Job) job.Result {
	r := job.Result{ExitCode: e.Code, Signal: e.Signal, Launch: e.Launch, Errno: e.Errno, Detail: e.Detail}
	switch {
	case e.OOM:
		r.Outcome, r.MemBytes = job.OutOfMemory, j.Request.MemBytes
	case e.Timeout && j.Request.TimeLimit > 0:
		r.Outcome, r.Limit = job.TimedOut, j.Request.TimeLimit.Duration()
	case e.Code == 0 && e.Signal == 0 && e.Launch == "":
		r.Outcome = job.Completed
	default:
		r.Outcome = job.Failed
	}
	return r
}

// ended closes the attempt: no process of the unit is left. The job has its
// result, or goes back to the queue.
func (c *Core) ended(l *trackedJob, now time.Time) {
	r := c.result(&l.job)
	r.GPUError, r.Left = l.job.GPUError, l.job.Left
	c.edit(l, func(a *job.Attempt) { a.EndedAt, a.Result = now, &r })
	c.settle(l, now)
	if r.Cause != job.StopTaken && len(l.job.Attempt.GPUs) > 0 { // else it was on none
		c.gpus.leave(l, c.requestSample(), now)
	}
	c.step.act(Forget{Job: l.job.ID})
	if c.requeued(l, &r, now) {
		return
	}
	c.learn(l, &r, now)
	l.job.Result = &r
	c.move(l, r.Outcome, now)
}

// requeued sends the job to the queue again where it is to have another
// attempt: it made room for another, its owner said so, its time was up, the
// machine took it, or it failed and may try again.
func (c *Core) requeued(l *trackedJob, r *job.Result, now time.Time) bool {
	j := &l.job
	switch {
	case j.Stop == job.StopCancel:
		return false
	case r.Tries > 0:
		if l.account.Barred == "" {
			j.NotBefore = now.Add(backoff(startAgain, r.Tries-1, lastStartAgain))
		}
		c.requeueAfter(l, samePlace, now)
	case r.Cause == job.StopPreempt, r.Cause == job.StopTaken:
		c.requeueAfter(l, samePlace, now)
	case r.Cause == job.StopRequeue, r.Outcome == job.TimedOut && j.Request.OnTimeout == job.TimeoutRequeue:
		c.requeueAfter(l, tail, now)
	case r.Outcome == job.Lost && c.systemd.rebooted(j.Attempt):
		if !j.Request.Requeue {
			return false
		}
		c.requeueAfter(l, samePlace, now)
	case retries(r.Outcome) && j.Failures < j.Request.Retries:
		j.NotBefore = now.Add(backoff(j.Request.Backoff.Duration(), j.Failures, job.MaxBackoff))
		j.Failures++
		c.requeueAfter(l, fresh, now)
	default:
		return false
	}
	return true
}

// retries reports whether an outcome is one that another try may mend.
func retries(s job.State) bool {
	return s == job.Failed || s == job.OutOfMemory || s == job.GPUOutOfMemory || s == job.Lost
}

// backoff doubles with every failure, up to the longest.
func backoff(first time.Duration, failures int, longest time.Duration) time.Duration {
	wait := first
	for range failures {
		if wait *= 2; wait >= longest {
			return longest
		}
	}
	return wait
}

// learn notes how long the job ran, where it ended by itself.
func (c *Core) learn(l *trackedJob, r *job.Result, now time.Time) {
	j := &l.job
	if r.Cause == job.StopGPULost || r.Outcome != job.Completed && r.Outcome != job.Failed && r.Outcome != job.TimedOut || j.Attempt.StartedAt.IsZero() {
		return
	}
	ran := j.Served + now.Sub(j.Attempt.StartedAt)
	for _, p := range c.planning.Observe(j.Owner.UID, &j.Request, ran, now) {
		c.step.record(job.Record{Prediction: &p})
	}
}

// result is finalResult with the name of the job that has a part in it.
func (c *Core) result(j *job.Job) job.Result {
	r := finalResult(j)
	if name := c.jobs.called(r.For); r.For != 0 && name != r.For.String() {
		r.ForName = name
	}
	return r
}

// finalResult puts together how the command ended and why it was told to.
func finalResult(j *job.Job) job.Result {
	r := job.Result{Outcome: job.Lost, Detail: "nothing is known of its end"}
	if j.Attempt.Result != nil {
		r = *j.Attempt.Result
		if r.Outcome != job.Lost {
			return r // it ended by itself before it was stopped
		}
	}
	switch j.Stop {
	case job.StopCancel:
		return job.Result{Outcome: job.Cancelled, By: j.StopBy}
	case job.StopTime:
		return job.Result{Outcome: job.TimedOut, Limit: j.Request.TimeLimit.Duration()}
	case job.StopGPUMem:
		return job.Result{Outcome: job.GPUOutOfMemory, Cause: j.Stop, For: j.StopFor, Breach: j.Breach}
	case job.StopIdle, job.StopTrespass:
		return job.Result{Outcome: job.Cancelled, Cause: j.Stop, Breach: j.Breach}
	case job.StopGPULost:
		return job.Result{Outcome: job.Failed, Cause: j.Stop}
	case job.StopRequeue, job.StopPreempt:
		return job.Result{Outcome: job.Cancelled, Cause: j.Stop, By: j.StopBy, For: j.StopFor}
	}
	return r
}
