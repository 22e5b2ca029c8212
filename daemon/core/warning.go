package core

import (
	"cmp"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// How long after a try a warning is sent again: after one that failed, and after one that
// nothing was heard of.
const (
	warnAgain   = time.Second
	warnUnheard = 30 * time.Second
)

// warning is one that a job is not known to have.
type warning struct {
	again time.Time // when it is sent again, unless it is heard of before
	since time.Time // before this moment it was not sent, however often that was tried; zero: that is not known
}

// warnAgain notes that a signal may have been sent, and when it is sent again, unless it is heard of before.
func (s *systemd) warnAgain(id job.ID, at time.Time) { s.warnings[id] = warning{again: at} }

// sends notes that a warning is sent, for the first time or again.
func (s *systemd) sends(id job.ID, first bool, now time.Time) {
	w := warning{again: now.Add(warnUnheard)}
	if first || !s.warnings[id].since.IsZero() {
		w.since = now
	}
	s.warnings[id] = w
}

// notSent notes that a warning was not sent, nor will be before the next try.
func (s *systemd) notSent(id job.ID, at time.Time) {
	w := warning{again: at}
	if !s.warnings[id].since.IsZero() {
		w.since = at
	}
	s.warnings[id] = w
}

func (s *systemd) forgetWarning(id job.ID) { delete(s.warnings, id) }

// nextWarning returns when a warning that is due at a moment is sent next.
func (s *systemd) nextWarning(id job.ID, due time.Time) time.Time {
	return job.Later(due, s.warnings[id].again)
}

// warnedSince is the moment before which a job has not had its warning; zero: it was sent none.
func (s *systemd) warnedSince(j *job.Job) time.Time {
	if j.WarnsAt.IsZero() || j.Warned {
		return j.WarnsAt
	}
	return job.Later(j.WarnsAt, s.warnings[j.ID].since)
}

// warnAt is when a running job is sent its warning signal, for the first time or again; zero:
// it is not.
func (s *systemd) warnAt(j *job.Job) time.Time {
	if j.State != job.Running || j.Request.WarnSignal == 0 || j.Warned {
		return time.Time{}
	}
	at := j.WarnsAt // it makes room
	if j.Stop != job.StopPreempt {
		limit := limitAt(j)
		if limit.IsZero() {
			return time.Time{}
		}
		at = limit.Add(-j.Request.WarnBefore.Duration())
	}
	return s.nextWarning(j.ID, at)
}

// warn sends a job its warning signal, until it is known to have it.
func (c *lifecycle) warn(l *tracked.Job, now time.Time) {
	if l.WarnsAt.IsZero() {
		l.WarnsAt = now
		c.step.markDirty(l)
	}
	c.systemd.sends(l.ID, l.WarnsAt.Equal(now), now)
	c.step.act(Signal{
		Job: l.ID, Attempt: l.Attempt.Number, Signal: l.Request.WarnSignal, Main: l.Request.WarnsMain(),
		Whose: whose(l.Job),
	})
}

// awaitsWarning reports whether a running job is to be stopped only once its warning has arrived: the
// warning was sent, and systemd has not answered. A stop would not reach the job either.
func awaitsWarning(j *job.Job) bool {
	return j.State == job.Running && (j.Stop == "" || j.Stop == job.StopPreempt) &&
		j.Request.WarnSignal != 0 && !j.Warned && !j.WarnsAt.IsZero()
}

// isToStop reports whether a job that was told to stop has had its notice.
func isToStop(j *job.Job, now time.Time) bool {
	return j.Stop != "" && !now.Before(j.StopAt) && !awaitsWarning(j)
}

// killSooner has what is left of a job that is being cancelled killed then, unless that is
// due before.
func (c *lifecycle) killSooner(l *tracked.Job, at time.Time) {
	j := l.Job
	if !j.State.Live() || j.Stop != job.StopCancel || !j.KillAt.IsZero() && !at.Before(j.KillAt) {
		return
	}
	j.KillAt = at
	c.systemd.forgetWarning(j.ID)
	c.step.markDirtyQuietly(l)
}

// killAt is when what is left of a job gets SIGKILL, for the first time or again; zero: by
// systemd alone, when its grace is over.
func (s *systemd) killAt(j *job.Job) time.Time {
	if j.State != job.Ending || j.KillAt.IsZero() {
		return time.Time{}
	}
	return s.nextWarning(j.ID, j.KillAt)
}

// signalled notes that a job has its warning, or that it is to be sent again. One that makes
// room has its whole notice from then on. One that can't be warned is stopped when it would be.
func (c *Core) signalled(e Signalled, now time.Time) {
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

// heeded returns how a job ended whose command exited after a warning. The warning was sent at since or later; zero:
// it was not sent. A job that was to make room has done so, whatever its exit status. A job that is to run again after
// its time limit does, unless it exited with 0, which says that it is done.
func heeded(j *job.Job, since time.Time, r job.Result, u *Unit) job.Result {
	if since.IsZero() {
		return r
	}
	ran, known := u.Age-u.EndAge, u.Age != 0 && u.EndAge != 0 // whatever became of the clock
	switch {
	case known && ran < since.Sub(j.Attempt.StartedAt):
	case j.Stop == job.StopPreempt && !j.StopAt.IsZero():
		return job.Result{Outcome: job.Lost, Detail: job.Say("detail/removed"), MemBytes: r.MemBytes} // finalResult says why
	case j.Request.OnTimeout == job.TimeoutRequeue && r.Outcome == job.Failed && r.Launch == "":
		r.Cause, r.Limit = job.StopTime, j.Request.TimeLimit
	}
	return r
}

// warnFirst warns a job that is to make room for another, if it asked for a
// warning and has not had it, and leaves it its notice. A suspended one goes on for
// that: halted, it could not use it.
func (c *lifecycle) warnFirst(l *tracked.Job, now time.Time) bool {
	j := l.Job
	if j.Stop != job.StopPreempt || j.Request.WarnSignal == 0 || j.Warned {
		return false
	}
	if j.IsSuspended() {
		c.goOn(l, now)
	}
	j.WarnsAt, j.StopAt = now, now.Add(c.queue.notice(j))
	c.warn(l, now)
	return true
}

// notice is how long before its stop a job is told that it is to make room: the time that it asked for, but as
// another waits no longer than a grace may be, or, where the site has no bound on that, than a slice.
func (q *queue) notice(j *job.Job) time.Duration {
	if j.Request.WarnSignal == 0 || j.Warned {
		return 0
	}
	return min(j.Request.WarnBefore.Duration(), cmp.Or(q.policy.MaxGrace, q.policy.Sched.Slice))
}
