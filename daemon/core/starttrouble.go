package core

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// StartTrouble is starts in a row that failed for no fault of their jobs.
type StartTrouble struct {
	User   string // whose; "": of several users
	All    bool   // nobody's job has been started since
	Starts int
	Since  time.Time
	Why    job.Message // of the last one
	Next   time.Time   // when one job is tried; zero: no job is held back
}

// NoStarts reports whether several jobs could not be started, none of anybody has been since,
// and some wait for that. Where all are one user's that counts when it lasts: where others have jobs, one
// of theirs is started meanwhile.
func (c *Core) NoStarts(now time.Time) bool {
	t := c.systemd.everybodys()
	own := c.systemd.troubleOf(t.account)
	several := t.several || c.systemd.held(own) && !own.since.Before(t.since) && now.Sub(own.since) >= lastStartAgain
	return several && c.worked(nil, now) == nil && c.jobs.anyUnstarted()
}

// unstarted yields the jobs that wait and could not be started, in no order.
func (b *jobBook) unstarted() iter.Seq[*trackedJob] {
	return func(yield func(*trackedJob) bool) {
		for _, l := range b.byID {
			j := l.job // of one that rests nothing was ever started
			if j != nil && (j.State == job.Queued && triesOf(j) > 0 || j.State == job.Starting && j.Tries > 0) && !yield(l) {
				return
			}
		}
	}
}

// anyUnstarted reports whether there is one.
func (b *jobBook) anyUnstarted() bool {
	for range b.unstarted() {
		return true
	}
	return false
}

// StartTroubles are those that there are: that of all users, or else of each.
func (c *Core) StartTroubles(now time.Time) (list []StartTrouble) {
	all := c.NoStarts(now)
	if t := c.systemd.everybodys(); all && t.several {
		return []StartTrouble{{"", all, t.starts, t.since, t.why, c.systemd.nextTrial()}}
	}
	waits := map[*sched.Account]bool{} // once through all jobs, of which there may be many, and not for each account
	for l := range c.jobs.unstarted() {
		waits[l.account] = true
	}
	for a := range waits {
		if t := c.systemd.troubleOf(a); t != nil && c.worked(a, now) == nil {
			list = append(list, StartTrouble{a.Name, all, t.starts, t.since, t.why, t.until})
		}
	}
	slices.SortFunc(list, func(a, b StartTrouble) int { return cmp.Compare(a.User, b.User) })
	return list
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
func (s *troubleBook) bar(a *sched.Account, why string, until time.Time) {
	a.Barred = why
	s.barred[a] = until
}

// unbar lets accounts try again whose time is over, and returns when the next one's
// is; zero: there is none.
func (s *troubleBook) unbar(now time.Time) (next time.Time) {
	for a, until := range s.barred {
		if now.Before(until) {
			next = sooner(next, until)
			continue
		}
		a.Barred = ""
		delete(s.barred, a)
	}
	return next
}

// unbarAll has all try again at once, as after a reload.
func (s *troubleBook) unbarAll() {
	for a := range s.barred {
		a.Barred = ""
	}
	clear(s.barred)
}
