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
func (c *Core) holdStarts(o *job.Owner, now time.Time) {
	if c.unstarted != nil && c.unstarted.UID != o.UID {
		c.notBefore = now.Add(startPause)
	}
	owner := *o
	c.unstarted = &owner
}

// triesOf is how often in a row the job could not be started.
func triesOf(j *job.Job) int {
	if j.Attempt == nil || j.Attempt.Result == nil {
		return 0
	}
	return j.Attempt.Result.Tries
}

// bar keeps all jobs of an account in the queue for a while: its user may run
// nothing, which only a start finds out.
func (c *Core) bar(a *sched.Account, why string, now time.Time) {
	a.Barred = why
	c.barred[a] = now.Add(lastStartAgain)
}

// unbar lets accounts try again whose time is over, and returns when the next one's
// is; zero: there is none.
func (c *Core) unbar(now time.Time) (next time.Time) {
	for a, until := range c.barred {
		switch {
		case !now.Before(until):
			a.Barred = ""
			delete(c.barred, a)
		case next.IsZero() || until.Before(next):
			next = until
		}
	}
	return next
}

// unbarAll has all try again at once, as after a reload.
func (c *Core) unbarAll() {
	for a := range c.barred {
		a.Barred = ""
	}
	clear(c.barred)
}
