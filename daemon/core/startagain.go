package core

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/retry"
)

// Where a job could not be started for a reason that is not its own, it goes back to the
// queue and is tried again after startAgain, and after twice as long each time in a row, up
// to lastStartAgain.
const (
	startAgain     = 5 * time.Second
	lastStartAgain = 5 * time.Minute
)

// Where that happens to several jobs of a user in a row, no job of that user is started. One
// is tried after firstTrial, and after twice as long each time in a row, up to lastTrial.
//
// Where it happens to jobs of several users in a row, one job is started at a time, and each
// user to whom it happened waits as above. So who is not at fault has a turn, whatever others
// do: a job may well say that it failed for a reason of the machine when it did not.
const (
	firstTrial = 5 * time.Second
	lastTrial  = time.Minute
)

// trialTime is how long others wait for a trial that has neither begun nor failed.
const trialTime = 10 * time.Second

// startWorks is how long a job runs until its start counts as one that worked: the launcher
// is past all that may fail for a reason of the machine.
const startWorks = time.Second

// startsFail is why an account is barred that has trouble; startsHeld has the words for people.
const startsFail = "its jobs could not be started"

// barredFor is how long a user who may run nothing is not asked about again.
const barredFor = 10 * time.Minute

// trouble is the starts of all jobs, or of one account's, that failed in a row since one
// worked. The zero one is none.
type trouble struct {
	account *sched.Account // of the first one
	job     job.ID         // the first one
	starts  int
	several bool // accounts, or of one account's trouble: jobs
	since   time.Time
	last    time.Time
	why     job.Message // of the last one
	trial   job.ID      // the job that is tried; 0: none
	room    job.ID      // the job for which others were stopped so that it may be tried; 0: none
	roomAt  time.Time   // when they were

	// Of an account's trouble alone:
	trials int       // that failed
	until  time.Time // no trial before
}

// add counts a start that failed.
func (t *trouble) add(several bool, why job.Message, now time.Time) {
	t.starts, t.last, t.why = t.starts+1, now, why
	t.several = t.several || several
}

// putOff puts the next trial off after one that failed. Other starts that were under way
// when the last was put off are no trials.
func (t *trouble) putOff(now time.Time) {
	if !now.Before(t.until) {
		t.trials++
		t.until = now.Add(retry.After(t.trials, firstTrial, lastTrial))
	}
}

// shift moves its times with a clock that was set.
func (t *trouble) shift(by time.Duration, now time.Time) {
	t.since, t.last, t.until = moved(t.since, by, now), moved(t.last, by, now), moved(t.until, by, now)
	t.roomAt = moved(t.roomAt, by, now)
}

// troubleBook counts how starts go.
type troubleBook struct {
	every    trouble
	troubles map[*sched.Account]*trouble
	barred   map[*sched.Account]time.Time // whose users may run nothing: until when that is believed
}

func newTroubleBook() troubleBook {
	return troubleBook{troubles: map[*sched.Account]*trouble{}, barred: map[*sched.Account]time.Time{}}
}

// everybodys is the trouble of all jobs.
func (s *troubleBook) everybodys() *trouble { return &s.every }

// troubleOf is the trouble of an account; nil: there is none.
func (s *troubleBook) troubleOf(a *sched.Account) *trouble { return s.troubles[a] }

// held reports whether jobs are held back by a trouble, that of all or an account's; nil is none.
func (s *troubleBook) held(t *trouble) bool {
	return t != nil && t.starts > 0 && (t.several || s.every.several)
}

// failed counts a start of an account's job that failed.
func (s *troubleBook) failed(a *sched.Account, id job.ID, why job.Message, now time.Time) {
	own := s.troubles[a]
	if own == nil {
		own = &trouble{account: a, job: id, since: now}
		s.troubles[a] = own
	}
	if s.every.starts == 0 {
		s.every = trouble{account: a, job: id, since: now}
	}
	s.every.add(a != s.every.account, why, now)
	own.add(id != own.job, why, now)
	if s.held(own) {
		own.putOff(now)
	}
}

// endTrouble ends the trouble of an account, or of all: nil. Whom it held back goes on.
func (s *troubleBook) endTrouble(a *sched.Account) {
	if a == nil {
		s.every = trouble{}
		return
	}
	delete(s.troubles, a)
	if a.Barred == startsFail {
		a.Barred = ""
	}
}

// nextTrial is when a job is tried of those that are held back.
func (s *troubleBook) nextTrial() (at time.Time) {
	for _, t := range s.troubles {
		at = sooner(at, t.until)
	}
	return at
}

// troubled are the accounts that have trouble, by uid.
func (s *troubleBook) troubled() []*sched.Account {
	list := slices.Collect(maps.Keys(s.troubles))
	slices.SortFunc(list, func(a, b *sched.Account) int { return cmp.Compare(a.UID, b.UID) })
	return list
}

// isBarred reports whether an account's user may run nothing.
func (s *troubleBook) isBarred(a *sched.Account) bool { return !s.barred[a].IsZero() }

// shift moves its times with a clock that was set.
func (s *troubleBook) shift(by time.Duration, now time.Time) {
	s.every.shift(by, now)
	for _, t := range s.troubles {
		t.shift(by, now)
	}
	for a, until := range s.barred {
		s.barred[a] = moved(until, by, now)
	}
}

// startEnded counts how the start of an attempt went that has ended.
func (c *Core) startEnded(l *trackedJob, r *job.Result, now time.Time) {
	switch {
	case c.systemd.leaving():
	case r.Tries == 0 && r.Launch == "" && r.Outcome != job.Lost && !l.job.Attempt.StartedAt.IsZero():
		c.startWorked(l, now)
	case r.Tries > 0 && r.Launch != "": // else its user may run nothing
		for _, a := range []*sched.Account{nil, l.account} {
			if w := c.worked(a, now); w != nil {
				c.startWorked(w, now)
			}
		}
		c.systemd.failed(l.account, l.id, r.Detail, now)
		c.step.replan()
	}
}

// worked returns a job that has begun since the last start that failed, of one account's
// jobs or of all, and that runs; nil: there is none.
func (c *Core) worked(a *sched.Account, now time.Time) *trackedJob {
	t := c.systemd.everybodys()
	if a != nil {
		t = c.systemd.troubleOf(a)
	}
	if t == nil || t.starts == 0 {
		return nil
	}
	var first *trackedJob
	for id, l := range c.jobs.allActive() {
		if (a == nil || l.account == a) && l.job.State == job.Running && t.before(l) &&
			now.Sub(l.job.Attempt.StartedAt) >= startWorks && (first == nil || id < first.id) {
			first = l
		}
	}
	return first
}

// before reports whether a job began after the last start that failed.
func (t *trouble) before(l *trackedJob) bool { return l.job.Attempt.StartedAt.After(t.last) }

// startWorked ends the troubles that were there when a job began. What they held back goes
// on at once.
func (c *Core) startWorked(l *trackedJob, now time.Time) {
	if t := c.systemd.troubleOf(l.account); t != nil && t.before(l) {
		held := c.systemd.held(t)
		if c.systemd.endTrouble(l.account); held {
			c.tryNow(l.account, now)
		}
	}
	if t := c.systemd.everybodys(); t.starts > 0 && t.before(l) {
		held := t.several
		if c.systemd.endTrouble(nil); held {
			c.tryNow(nil, now)
		}
	}
}

// tryNow ends the back-off of the jobs that could not be started, of one account or of all.
func (c *Core) tryNow(a *sched.Account, now time.Time) {
	c.step.replan()
	failed := func(l *trackedJob) bool {
		return l.job.State == job.Queued && triesOf(l.job) > 0 && (a == nil || l.account == a)
	}
	for _, l := range c.jobs.sorted(failed) {
		l.job.NotBefore = time.Time{}
		c.step.markDirtyQuietly(l)
		c.consider(l, now)
	}
}

// holds reports whether no job that a trouble holds back is placed now, and when that is to
// be looked at again; zero: something happens first. Else one of them may be.
func (c *Core) holds(t *trouble, now time.Time) (holds bool, at time.Time) {
	if !c.systemd.held(t) {
		return false, at
	}
	if l := c.jobs.active(t.trial); l != nil {
		began := l.job.State == job.Running
		if at = l.job.Attempt.PlacedAt.Add(trialTime); began {
			at = l.job.Attempt.StartedAt.Add(startWorks)
		}
		if now.Before(at) {
			return true, at
		}
		if began && t.before(l) {
			c.startWorked(l, now)
			return false, time.Time{}
		}
	}
	t.trial = 0
	return now.Before(t.until), t.until
}

// holdBack holds back the jobs that a trouble concerns: all, or those of accounts. It returns
// when that is to be looked at again; zero: something happens first.
func (c *Core) holdBack(now time.Time) (all bool, next time.Time) {
	if c.systemd.everybodys().several && !c.jobs.anyUnstarted() { // they were cancelled
		c.systemd.endTrouble(nil)
	}
	all, next = c.holds(c.systemd.everybodys(), now)
	return all, sooner(next, c.holdAccounts(now))
}

// holdAccounts holds back the jobs of the accounts that have trouble, and returns when that
// is to be looked at again; zero: something happens first.
func (c *Core) holdAccounts(now time.Time) (next time.Time) {
	for _, a := range c.systemd.troubled() {
		if c.systemd.isBarred(a) {
			continue
		}
		holds, at := c.holds(c.systemd.troubleOf(a), now)
		switch {
		case holds && a.Barred == "":
			a.Barred = startsFail
		case !holds && a.Barred == startsFail:
			a.Barred = ""
		}
		if holds {
			next = sooner(next, at)
		}
	}
	return next
}

// sooner returns the first of two times of which a zero one is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// mayTry reports whether a job that is placed may start: of those that a trouble holds
// back one is tried at a time.
func (s *troubleBook) mayTry(l *trackedJob) bool {
	own := s.troubles[l.account]
	return !(s.held(&s.every) && s.every.trial != 0) && !(s.held(own) && own.trial != 0)
}

// makesRoom reports whether others may be stopped for a job now, or else when. Of those that a trouble holds back
// that is one at a time, and not soon after a start failed: it would most likely be in vain.
func (s *troubleBook) makesRoom(l *trackedJob, now time.Time) (makes bool, at time.Time) {
	list := []*trouble{&s.every, s.troubles[l.account]}
	for _, t := range list {
		if s.held(t) && !(t.room == l.id && t.roomAt.After(t.last)) {
			at = later(at, later(t.last, t.roomAt).Add(lastStartAgain))
		}
	}
	if now.Before(at) {
		return false, at
	}
	for _, t := range list {
		if s.held(t) {
			t.room, t.roomAt = l.id, now
		}
	}
	return true, at
}

// later returns whichever of two times is later.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// tries notes that a job is placed, where that is a trial.
func (s *troubleBook) tries(l *trackedJob) {
	for _, t := range []*trouble{&s.every, s.troubles[l.account]} {
		if s.held(t) {
			t.trial = l.id
		}
	}
}

// tried reports whether a job is one that is tried.
func (s *troubleBook) tried(l *trackedJob) bool {
	own := s.troubles[l.account]
	return s.held(&s.every) && s.every.trial == l.id || s.held(own) && own.trial == l.id
}

// words says what the trouble is.
func (t *trouble) words(next time.Time) job.Message {
	return job.Say("detail/starts-failed", t.starts, t.why, next)
}

// startsHeld says of a waiting job that it waits since others can't be started.
func (c *Core) startsHeld(l *trackedJob) []job.Reason {
	if t := c.systemd.everybodys(); t.several {
		return []job.Reason{{Code: job.ReasonStarts, GPU: job.NoGPU, Detail: t.words(c.systemd.nextTrial())}}
	}
	if t := c.systemd.troubleOf(l.account); c.systemd.held(t) {
		return []job.Reason{{Code: job.ReasonAccount, GPU: job.NoGPU, Detail: t.words(t.until)}}
	}
	return nil
}
