package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Where systemd can't start a unit for the moment, the job goes back to the queue
// and is tried again after startAgain, and after twice as long each time in a row,
// up to lastStartAgain.
const (
	startAgain     = 30 * time.Second
	lastStartAgain = 10 * time.Minute
	startPause     = 5 * time.Second
)

// holdStarts has all jobs wait for startPause where those of two people in a row
// could not be started: then it is the machine's trouble. One person's alone may be
// that person's slice, which is full or is being stopped.
func (s *systemd) holdStarts(a *sched.Account, now time.Time) {
	if s.unstarted != nil && s.unstarted != a {
		s.notBefore = now.Add(startPause)
	}
	s.unstarted = a
}

// hasStarted notes that systemd started a job.
func (s *systemd) hasStarted() { s.unstarted = nil }

// startsAt is when jobs are placed again; zero: at any time.
func (s *systemd) startsAt() time.Time { return s.notBefore }

// triesOf is how often in a row the job could not be started.
func triesOf(j *job.Job) int {
	if j.Attempt == nil || j.Attempt.Result == nil {
		return 0
	}
	return j.Attempt.Result.Tries
}

// bar keeps all jobs of an account in the queue for a while: its user may run
// nothing, which only a start finds out.
func (s *systemd) bar(a *sched.Account, why string, until time.Time) {
	a.Barred = why
	s.barred[a] = until
}

// unbar lets accounts try again whose time is over, and returns when the next one's
// is; zero: there is none.
func (s *systemd) unbar(now time.Time) (next time.Time) {
	for a, until := range s.barred {
		switch {
		case !now.Before(until):
			a.Barred = ""
			delete(s.barred, a)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return next
}

// unbarAll has all try again at once, as after a reload.
func (s *systemd) unbarAll() {
	for a := range s.barred {
		a.Barred = ""
	}
	clear(s.barred)
}
