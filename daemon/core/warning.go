package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// A warning is sent again some time after a failed try (warnAgain), or after a try that nobody
// answered (warnUnheard).
const (
	warnAgain   = time.Second
	warnUnheard = 30 * time.Second
)

// warning is a warning that may not have reached its job yet.
type warning struct {
	again time.Time // when the warning is sent again, unless an answer comes before
	since time.Time // the warning was certainly not sent before this time; zero: unknown
}

// warnAgain notes that a signal may have been sent, and when to send it again if no answer comes.
func (s *systemd) warnAgain(id job.ID, at time.Time) { s.warnings[id] = warning{again: at} }

// noteSending notes that a warning is being sent, for the first time or again.
func (s *systemd) noteSending(id job.ID, first bool, now time.Time) {
	w := warning{again: now.Add(warnUnheard)}
	if first || !s.warnings[id].since.IsZero() {
		w.since = now
	}
	s.warnings[id] = w
}

// notSent notes that a warning was not sent. The next try happens at the given time.
func (s *systemd) notSent(id job.ID, at time.Time) {
	w := warning{again: at}
	if !s.warnings[id].since.IsZero() {
		w.since = at
	}
	s.warnings[id] = w
}

func (s *systemd) forgetWarning(id job.ID) { delete(s.warnings, id) }

// nextWarning returns when to send a warning that is due at the given time.
func (s *systemd) nextWarning(id job.ID, due time.Time) time.Time {
	return job.Later(due, s.warnings[id].again)
}

// warnedSince returns the earliest time at which a job can have got its warning. If no warning was
// sent, it returns zero.
func (s *systemd) warnedSince(j *job.Job) time.Time {
	if j.WarnsAt.IsZero() || j.Warned {
		return j.WarnsAt
	}
	return job.Later(j.WarnsAt, s.warnings[j.ID].since)
}

// warnAt returns when to send a running job its warning signal, for the first time or again. If no
// warning is to be sent, it returns zero.
func (s *systemd) warnAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Request.WarnSignal == 0 || j.Warned {
		return time.Time{}
	}
	at := j.WarnsAt // the time for a job that is to be preempted
	if j.Stop != job.StopPreempt {
		limit := limitAt(j)
		if limit.IsZero() {
			return time.Time{}
		}
		at = limit.Add(-j.Request.WarnBefore.Duration())
	}
	return s.nextWarning(j.ID, at)
}

// warn sends a job its warning signal. It is called again until the job is known to have got the
// signal.
func (c *lifecycle) warn(l *tracked.Job, now time.Time) {
	if l.WarnsAt.IsZero() {
		l.WarnsAt = now
		c.step.markDirty(l)
	}
	c.systemd.noteSending(l.ID, l.WarnsAt.Equal(now), now)
	c.step.act(Signal{
		Job: l.ID, Attempt: l.Attempt.Number, Signal: l.Request.WarnSignal,
		Main: l.Request.WarnsMain() || l.Request.RelaysSignal(l.Request.WarnSignal), Whose: whose(l.Job),
	})
}

// awaitsWarning reports whether the stop of a running job must wait for the job's warning. That is
// so if the warning was sent and systemd has not answered. A stop would not reach systemd either.
func awaitsWarning(j *job.Job) bool {
	return j.State == job.Running && (j.Stop == "" || j.Stop == job.StopPreempt) &&
		j.Request.WarnSignal != 0 && !j.Warned && !j.WarnsAt.IsZero()
}

// isToStop reports whether a job was told to stop and the time of its notice is over.
func isToStop(j *job.Job, now time.Time) bool {
	return j.Stop != "" && !now.Before(j.StopAt) && !awaitsWarning(j)
}

// killSooner sets the time at which a cancelled job's remaining processes are killed, unless an
// earlier time is set already.
func (c *lifecycle) killSooner(l *tracked.Job, killAt time.Time) {
	j := l.Job
	if !j.State.Live() || j.Stop != job.StopCancel || !j.KillAt.IsZero() && !killAt.Before(j.KillAt) {
		return
	}
	j.KillAt = killAt
	c.systemd.forgetWarning(j.ID)
	c.step.markDirtyQuietly(l)
}

// killAt returns when to send SIGKILL to a job's remaining processes, for the first time or again.
// It returns zero if that is left to systemd, which sends SIGKILL when the grace is over.
func (s *systemd) killAt(j *job.Job) time.Time {
	if j.State != job.Ending || j.KillAt.IsZero() {
		return time.Time{}
	}
	return s.nextWarning(j.ID, j.KillAt)
}

// warningSent notes that a job got its warning, or when to send the warning again. A preempted
// job's notice begins when the job gets its warning. If systemd refuses the warning, the job is
// stopped when its notice would have been over.
func (c *Core) warningSent(e Signalled, now time.Time) {
	l := c.jobs.Attempt(e.Job, e.Attempt)
	switch {
	case l != nil && l.State == job.Ending && !l.KillAt.IsZero() && !e.OK:
		c.systemd.warnAgain(e.Job, now.Add(warnAgain))
		return
	case l == nil || l.State != job.Running || l.Warned || l.WarnsAt.IsZero():
		return
	case !e.OK:
		if again := now.Add(warnAgain); e.Unsent {
			c.systemd.notSent(e.Job, again)
		} else {
			c.systemd.warnAgain(e.Job, again)
		}
		if e.Refused {
			c.stopDue(l, now)
		}
		return
	}
	c.systemd.forgetWarning(e.Job)
	j := l.Job
	if late := now.Sub(j.WarnsAt); j.Stop == job.StopPreempt && late > warnAgain {
		j.StopAt = j.StopAt.Add(late)
	}
	j.Warned = true
	c.step.markDirtyQuietly(l)
	c.stopDue(l, now)
}

// afterWarning adjusts the result of a command that exited after a warning. The argument earliest
// is the earliest time at which the warning can have been sent; zero means that no warning was
// sent. A preempted job counts as having made room, whatever its exit status. A job that asked to
// run again after its time limit is requeued, unless its exit status 0 says that it is done.
func afterWarning(j *job.Job, earliest time.Time, r job.Result, u *Unit) job.Result {
	if earliest.IsZero() {
		return r
	}
	ran, known := u.Age-u.EndAge, u.Age != 0 && u.EndAge != 0 // by a clock that can't be set
	switch {
	case known && ran < earliest.Sub(j.Attempt.StartedAt):
	case j.Stop == job.StopPreempt && !j.StopAt.IsZero():
		return job.Result{Outcome: job.Lost, Detail: job.Say("detail/removed"), MemBytes: r.MemBytes} // see FinalResult
	case j.Request.OnTimeout == job.TimeoutRequeue && r.Outcome == job.Failed && r.Launch == "":
		r.Cause, r.Limit = job.StopTime, j.Request.TimeLimit
	}
	return r
}

// warnFirst warns a job that is to be preempted, if the job asked for a warning and has not got it.
// The job's notice begins then. If the job is suspended, it is resumed, since it could not use the
// notice otherwise.
func (c *lifecycle) warnFirst(l *tracked.Job, now time.Time) bool {
	j := l.Job
	if j.Stop != job.StopPreempt || j.Request.WarnSignal == 0 || j.Warned || j.Park != job.NotParked {
		return false
	}
	if j.IsSuspended() {
		c.resumeJob(l, now)
	}
	j.WarnsAt, j.StopAt = now, now.Add(c.queue.NoticeTime(j))
	c.warn(l, now)
	return true
}
