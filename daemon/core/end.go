package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/retry"
)

// endAttempt records the result of an attempt and tears its unit down.
func (c *lifecycle) endAttempt(l *tracked.Job, r job.Result, now time.Time) {
	c.editAttempt(l, func(a *job.Attempt) { a.Result = &r })
	c.teardown(l, now)
}

// foundGone handles a job that was to be stopped, but whose unit was gone before any stop was sent.
// If the cause of the stop is a broken rule, such as a limit, foundGone removes the cause, since it
// is not known that the job broke the rule. A stop that somebody asked for remains.
func foundGone(l *tracked.Job) {
	switch j := l.Job; j.Stop {
	case job.StopTime, job.StopGPUMem, job.StopIdle, job.StopTrespass:
		j.Stop, j.StopBy = "", ""
		j.StopFor, j.Breach = 0, nil
		a := *j.Attempt
		a.Result = vanishedResult(l)
		j.Attempt = &a
	}
}

// vanishedResult returns the result of a job whose unit is gone. Nobody knows how the job ended: it
// was stopped, or it ended by itself and somebody made systemd forget the unit.
func vanishedResult(l *tracked.Job) *job.Result {
	l.Lifetime().Gone = true
	return &job.Result{Outcome: job.Lost, Detail: job.Say("detail/vanished")}
}

// recordExit records how the command ended.
func (c *lifecycle) recordExit(l *tracked.Job, u Unit, now time.Time) {
	c.editAttempt(l, func(a *job.Attempt) {
		r := afterWarning(l.Job, c.systemd.warnedSince(l.Job), resultOf(u.Exit, l.Job, l.Tries), &u)
		r.Unfiltered = u.Unfiltered
		gpus.BlameSharedError(&c.gpus, l, &r, u.Exit.Server, now)
		a.HostUse = a.Max(u.Used)
		if r.Outcome == job.OutOfMemory {
			r.PeakBytes = u.Used.PeakMemBytes // 0 means unknown; samples show at most that the limit was reached
			if r.PeakBytes == 0 && job.MemoryReached(a.PeakMemBytes, r.MemBytes) {
				r.PeakBytes = a.PeakMemBytes
			}
		}
		a.Result = &r
	})
}

// dockerEnded says that Docker's daemon was stopped under a job, most likely by an upgrade of Docker.
const dockerEnded = "detail/docker"

// resultOf translates the end of a unit's command into a result. If the machine prevented the
// command from being executed, and the command is known, the job is retried. If the command ended
// while its unit was being stopped, the stop counts as the cause, whatever the exit status.
// FinalResult then determines whether the scheduler ordered that stop. If the job ran out of memory
// during the stop, perhaps while it saved its work, the stop counts as the cause too, unless the
// job was stopped at its time limit or by others.
func resultOf(e contract.Exit, j *job.Job, tries int) job.Result {
	r := job.Result{ExitCode: e.Code, Signal: e.Signal, Launch: e.Launch, Errno: e.Errno, Detail: job.Text(e.Detail)}
	switch {
	case r.OfMachine() && !j.Recovered:
		r.Outcome, r.Tries, r.Detail = job.Lost, tries+1, r.StartFailure()
	case e.Engine && j.Stop == "":
		r = job.Result{Outcome: job.Lost, Detail: job.Say(dockerEnded)}
	case e.OOM && e.Stopped && j.Stop != "" && j.Stop != job.StopTime:
		r = job.Result{Outcome: job.Lost, Detail: job.Say("detail/removed"), MemBytes: j.Request.MemBytes}
	case e.OOM:
		r.Outcome, r.MemBytes = job.OutOfMemory, j.Request.MemBytes
	// a cancel's SIGKILL may reach the job before its stop does
	case e.Stopped, e.Signal == job.SIGKILL && j.Stop == job.StopCancel && !j.KillAt.IsZero():
		r = job.Result{Outcome: job.Lost, Detail: job.Say("detail/removed")}
	case e.Code == 0 && e.Signal == 0 && e.Launch == "":
		r.Outcome = job.Completed
	default:
		r.Outcome = job.Failed
	}
	return r
}

// closeAttempt closes an attempt whose unit has no processes left. The job gets its result, or goes
// back to the queue.
func (c *lifecycle) closeAttempt(l *tracked.Job, now time.Time) {
	over := c.ranUntil(l, now)
	if c.awaitProof(l, over, now) {
		return
	}
	l.ParkedTime = l.ParkedSoFar(over)
	l.Resume(over)
	c.systemd.forgetWarning(l.ID)
	r := c.result(l.Job)
	r.GPUError, r.Left = l.GPUError, job.Text(l.Left)
	taken := r.Cause == job.StopTaken || r.Cause == job.StopPreempt || r.Cause == job.StopRequeue
	if taken && l.Attempt.StartedAt.IsZero() { // this start neither worked nor failed: failed starts before it still count
		r.Tries = max(r.Tries, l.Tries)
	}
	place := c.nextPlace(l, &r, over)
	if place == samePlace && r.Outcome == job.Failed && r.Cause == "" {
		_, r.Detail = c.gpus.Culprit(l, &r, over)
	}
	contained := l.Request.ContainerEngine != ""                     // what is left is then a process of the engine
	if r.Outcome == job.Completed && r.Left.IsZero() && !contained { // after a failure, systemd kills what is left at once
		r.Left = job.LeftRunning(l.Lifetime().Left)
	}
	c.editAttempt(l, func(a *job.Attempt) { a.EndedAt, a.Result = over, &r })
	c.settle(l, now)
	if onNone := l.Unasked && l.Left == ""; !onNone && len(l.HeldGPUs()) > 0 {
		c.gpus.Leave(l, c.requestSample(), now)
	}
	*l.Lifetime(), l.StopSent = tracked.Lifetime{}, false
	c.step.act(Forget{Job: l.ID, Attempt: l.Attempt.Number})
	if l.Scratch != "" {
		c.step.record(job.Record{Directory: l.ScratchRemoval(&r, over, c.policy.ScratchKeep)})
	}
	c.startEnded(l, &r, now)
	c.gpus.Ended(l, &r, over)
	c.estimates.Learn(l, &r, place == nowhere, over)
	c.queue.LearnMemory(l, &r, place != nowhere, now)
	c.estimates.LearnMost(l, over)
	if place != nowhere {
		l.Request.IsolateAfter(r.Cause)
		c.backOff(l, &r, place, now)
		c.requeueAfter(l, place, now)
		return
	}
	l.Result = &r
	l.EndParking(over)
	c.move(l, r.Outcome, now)
	l.ChangedAt = over
}

// nextPlace returns the place in the queue of the next attempt, or nowhere if the job gets none. A
// job gets another attempt in these cases: it was preempted, somebody requeued it, it reached its
// time limit and asked for a requeue at the limit, a reboot or a restart of Docker ended it, the
// machine prevented its start, its GPU or its mates are at fault, or it failed and has retries left.
func (c *state) nextPlace(l *tracked.Job, r *job.Result, over time.Time) requeueAt {
	j := l.Job
	switch {
	case j.Stop == job.StopCancel:
		return nowhere
	case r.Cause == job.StopRequeue, r.Cause == job.StopTime,
		r.Outcome == job.TimedOut && j.Request.OnTimeout == job.TimeoutRequeue:
		return tail
	case r.Tries > 0, r.Cause == job.StopPreempt, r.Cause == job.StopTaken, r.Cause == job.StopMPS:
		return samePlace
	case r.Cause == job.StopPark && j.Request.MayRequeue():
		return samePlace
	case r.Outcome == job.Lost && (c.systemd.isRebooted(j.Attempt) || r.Detail.Code == dockerEnded):
		if j.Request.MayRequeue() {
			return samePlace
		}
		return nowhere
	case j.Request.MayRequeue() && j.Requeues == 0 && r.Outcome == job.Failed:
		if at, _ := c.gpus.Culprit(l, r, over); at >= 0 {
			return samePlace
		}
	}
	switch r.Outcome {
	case job.Failed, job.OutOfMemory, job.GPUOutOfMemory, job.Lost: // another attempt may succeed
		if j.Failures < j.Request.Retries {
			return fresh
		}
	}
	return nowhere
}

// backOff makes a job that failed, or could not be started, wait before its next attempt.
func (c *lifecycle) backOff(l *tracked.Job, r *job.Result, place requeueAt, now time.Time) {
	j := l.Job
	switch {
	case r.Tries > 0 && r.Cause == "" && !c.troubles.IsBarred(l.Account) && j.Heir == nil:
		j.NotBefore = now.Add(retry.After(r.Tries, starts.StartAgain, starts.LastStartAgain))
	case place == fresh:
		j.Failures++
		j.NotBefore = now.Add(retry.After(j.Failures, j.Request.Backoff.Duration(), job.MaxBackoff))
	}
}

// result returns the final result with the name of the other job that the result mentions.
func (c *state) result(j *job.Job) job.Result {
	r := j.FinalResult()
	if name := c.jobs.Called(r.For); r.For != 0 && name != r.For.String() {
		r.ForName = name
	}
	return r
}
