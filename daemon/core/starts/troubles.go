package starts

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/retry"
)

// If a job could not be started, and the fault is not its own, it returns to the queue and is tried
// again after StartAgain. After each further failure in a row this time doubles, up to
// LastStartAgain.
const (
	StartAgain     = 5 * time.Second
	LastStartAgain = 5 * time.Minute
)

// If several jobs of one user in a row could not be started, no job of that user is started. One
// job is tried after firstTrial. After each further failure this time doubles, up to lastTrial.
//
// If jobs of several users in a row could not be started, only one job is started at a time. Each
// of these users also waits for the times above, so each user gets a turn, whatever others do: a
// job may falsely claim that it failed because of the machine.
const (
	firstTrial = 5 * time.Second
	lastTrial  = time.Minute
)

// trialTime is how long other jobs wait while a job on trial has neither begun nor failed.
const trialTime = 10 * time.Second

// startWorks is how long a job must run until its start counts as successful. By then the launcher
// has done all its work that may fail because of the machine.
const startWorks = time.Second

// startsFail is the reason why an account with trouble is barred. People do not see it: they read
// what StartsHeld says.
const startsFail = "its jobs could not be started"

// BarredFor is how long the scheduler waits before it tries a barred user again.
const BarredFor = 10 * time.Minute

// trouble is a series of failed starts since the last successful one. It counts the starts of all
// jobs, or those of one account's jobs. The zero trouble means that no start failed.
type trouble struct {
	account *sched.Account // the account of the first failed start
	job     job.ID         // the job of the first failed start
	starts  int
	several bool // several accounts are affected or, in the trouble of one account, several jobs
	since   time.Time
	last    time.Time
	why     job.Message // the reason why the last start failed
	trial   job.ID      // the job on trial; 0: none
	room    job.ID      // the job that others were stopped for, so that it could be tried; 0: none
	roomAt  time.Time   // when those others were stopped

	// only for the trouble of one account:
	trials int       // the number of failed trials
	until  time.Time // the time of the next trial
}

// add counts a failed start.
func (t *trouble) add(several bool, why job.Message, now time.Time) {
	t.starts, t.last, t.why = t.starts+1, now, why
	t.several = t.several || several
}

// shift adjusts the recorded times after the clock was set.
func (t *trouble) shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.since, &t.last, &t.until, &t.roomAt)
}

// Troubles counts failed starts and decides who may start.
type Troubles struct {
	every    trouble
	troubles map[*sched.Account]*trouble
	barred   map[*sched.Account]time.Time // accounts whose users can't run anything, and when to try again

	jobs   *tracked.Book
	tryNow func(a *sched.Account, now time.Time)
}

// NewTroubles returns a Troubles without failed starts. When a start succeeds after failures, the
// Troubles calls tryNow so that jobs are tried again: those of one account, or all if the argument
// is nil.
func NewTroubles(jobs *tracked.Book, tryNow func(a *sched.Account, now time.Time)) Troubles {
	return Troubles{
		troubles: map[*sched.Account]*trouble{}, barred: map[*sched.Account]time.Time{}, jobs: jobs, tryNow: tryNow,
	}
}

// holdsBack reports whether a trouble holds back jobs. The trouble t is that of all jobs, that of
// one account, or nil.
func (s *Troubles) holdsBack(t *trouble) bool {
	return t != nil && t.starts > 0 && (t.several || s.every.several)
}

// OfSeveral reports whether starts of several users failed in a row, so that only one job is tried
// at a time.
func (s *Troubles) OfSeveral() bool { return s.every.several }

// holders returns the troubles that hold back a job.
func (s *Troubles) holders(l *tracked.Job) (list []*trouble) {
	for _, t := range []*trouble{&s.every, s.troubles[l.Account]} {
		if s.holdsBack(t) {
			list = append(list, t)
		}
	}
	return list
}

// countFailed counts a failed start of an account's job.
func (s *Troubles) countFailed(a *sched.Account, id job.ID, why job.Message, now time.Time) {
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
	if s.holdsBack(own) && !now.Before(own.until) { // otherwise this start began before the last trial failed
		own.trials++
		own.until = now.Add(retry.After(own.trials, firstTrial, lastTrial))
	}
}

// endTrouble ends the trouble of an account, or that of all users if the account is nil. The jobs
// that the trouble held back may then start.
func (s *Troubles) endTrouble(a *sched.Account) {
	if a == nil {
		s.every = trouble{}
		return
	}
	delete(s.troubles, a)
	if a.Barred == startsFail {
		a.Barred = ""
	}
}

// nextTrial returns when one of the jobs that are held back is tried next.
func (s *Troubles) nextTrial() (at time.Time) {
	for _, t := range s.troubles {
		at = job.Earlier(at, t.until)
	}
	return at
}

// IsBarred reports whether an account's user can't run anything.
func (s *Troubles) IsBarred(a *sched.Account) bool { return !s.barred[a].IsZero() }

// Shift adjusts the recorded times after the clock was set.
func (s *Troubles) Shift(by time.Duration, now time.Time) {
	s.every.shift(by, now)
	for _, t := range s.troubles {
		t.shift(by, now)
	}
	for a, until := range s.barred {
		s.barred[a] = job.Shifted(until, by, now)
	}
}

// StartFailed counts a start that failed because of the machine. First it ends those troubles that
// are over because another start has succeeded since.
func (s *Troubles) StartFailed(l *tracked.Job, why job.Message, now time.Time) {
	for _, a := range []*sched.Account{nil, l.Account} {
		if w := s.runningJob(a, now); w != nil {
			s.StartWorked(w, now)
		}
	}
	s.countFailed(l.Account, l.ID, why, now)
}

// runningJob returns a running job that began after the last failed start. If there is none, it
// returns nil. It considers the jobs and failed starts of one account, or of all accounts if the
// account is nil.
func (s *Troubles) runningJob(a *sched.Account, now time.Time) *tracked.Job {
	t := &s.every
	if a != nil {
		t = s.troubles[a]
	}
	if t == nil || t.starts == 0 {
		return nil
	}
	for l := range s.jobs.Live() {
		if (a == nil || l.Account == a) && l.State == job.Running && t.isOlder(l) &&
			now.Sub(l.Attempt.StartedAt) >= startWorks {
			return l
		}
	}
	return nil
}

// isOlder reports whether the trouble is older than a job, because the job began after the last
// failed start.
func (t *trouble) isOlder(l *tracked.Job) bool { return l.Attempt.StartedAt.After(t.last) }

// StartWorked ends the troubles that existed when a job began. The jobs that these troubles held
// back may start at once.
func (s *Troubles) StartWorked(l *tracked.Job, now time.Time) {
	if t := s.troubles[l.Account]; t != nil && t.isOlder(l) {
		held := s.holdsBack(t)
		if s.endTrouble(l.Account); held {
			s.tryNow(l.Account, now)
		}
	}
	if t := &s.every; t.starts > 0 && t.isOlder(l) {
		held := t.several
		if s.endTrouble(nil); held {
			s.tryNow(nil, now)
		}
	}
}

// holdsAll reports whether a trouble now keeps all of its jobs from being placed. Otherwise one of
// them may be placed. It also returns when to ask again; zero means after the next event.
func (s *Troubles) holdsAll(t *trouble, now time.Time) (holds bool, at time.Time) {
	if !s.holdsBack(t) {
		return false, at
	}
	if l := s.jobs.Active(t.trial); l != nil {
		began := l.State == job.Running
		if at = l.Attempt.PlacedAt.Add(trialTime); began {
			at = l.Attempt.StartedAt.Add(startWorks)
		}
		if now.Before(at) {
			return true, at
		}
		if began && t.isOlder(l) {
			s.StartWorked(l, now)
			return false, time.Time{}
		}
	}
	t.trial = 0
	return now.Before(t.until), t.until
}

// HoldBack holds back the jobs that are affected by a trouble: all jobs, or the jobs of some
// accounts. It returns when to ask again; zero means after the next event.
func (s *Troubles) HoldBack(now time.Time) (all bool, next time.Time) {
	if s.every.several && !s.jobs.AnyUnstarted() { // the jobs that could not be started were cancelled
		s.endTrouble(nil)
	}
	all, next = s.holdsAll(&s.every, now)
	return all, job.Earlier(next, s.holdAccounts(now))
}

// holdAccounts holds back the jobs of the accounts that have trouble. It returns when to ask again;
// zero means after the next event.
func (s *Troubles) holdAccounts(now time.Time) (next time.Time) {
	byUID := func(a, b *sched.Account) int { return cmp.Compare(a.UID, b.UID) }
	for _, a := range slices.SortedFunc(maps.Keys(s.troubles), byUID) {
		if s.IsBarred(a) {
			continue
		}
		holds, at := s.holdsAll(s.troubles[a], now)
		switch {
		case holds && a.Barred == "":
			a.Barred = startsFail
		case !holds && a.Barred == startsFail:
			a.Barred = ""
		}
		if holds {
			next = job.Earlier(next, at)
		}
	}
	return next
}

// MayTry reports whether a placed job may start: only one of the jobs that a trouble holds back is
// tried at a time.
func (s *Troubles) MayTry(l *tracked.Job) bool {
	return !slices.ContainsFunc(s.holders(l), func(t *trouble) bool { return t.trial != 0 })
}

// MakesRoom reports whether other jobs may be preempted now for a job. If not, it returns when they
// may be. If a trouble holds back jobs, others are preempted for only one of these jobs at a time,
// and not soon after a failed start, because the job would most likely fail as well.
func (s *Troubles) MakesRoom(l *tracked.Job, now time.Time) (makes bool, at time.Time) {
	list := s.holders(l)
	for _, t := range list {
		if t.room != l.ID || !t.roomAt.After(t.last) {
			at = job.Later(at, job.Later(t.last, t.roomAt).Add(LastStartAgain))
		}
	}
	if now.Before(at) {
		return false, at
	}
	for _, t := range list {
		t.room, t.roomAt = l.ID, now
	}
	return true, at
}

// Tries notes that a job is placed. If troubles hold back the job, it is now on trial.
func (s *Troubles) Tries(l *tracked.Job) {
	for _, t := range s.holders(l) {
		t.trial = l.ID
	}
}

// Tried reports whether a job is on trial.
func (s *Troubles) Tried(l *tracked.Job) bool {
	return slices.ContainsFunc(s.holders(l), func(t *trouble) bool { return t.trial == l.ID })
}

// describe returns the trouble in words.
func (t *trouble) describe(next time.Time) job.Message {
	return job.Say("detail/starts-failed", t.starts, t.why, next)
}

// StartsHeld returns the reason why a job waits if the reason is that other jobs can't be started.
func (s *Troubles) StartsHeld(l *tracked.Job) []job.Reason {
	if t := &s.every; t.several {
		return []job.Reason{{Code: job.ReasonStarts, GPU: job.NoGPU, Detail: t.describe(s.nextTrial())}}
	}
	if t := s.troubles[l.Account]; s.holdsBack(t) {
		return []job.Reason{{Code: job.ReasonAccount, GPU: job.NoGPU, Detail: t.describe(t.until)}}
	}
	return nil
}

// Bar keeps all jobs of an account in the queue until the given time, because a start has found
// that the account's user can't run anything.
func (s *Troubles) Bar(a *sched.Account, why string, until time.Time) {
	a.Barred = why
	s.barred[a] = until
}

// Unbar lets barred accounts try again when their time is over. It returns when the next account
// may try, or zero if no account is barred.
func (s *Troubles) Unbar(now time.Time) (next time.Time) {
	for a, until := range s.barred {
		if now.Before(until) {
			next = job.Earlier(next, until)
			continue
		}
		a.Barred = ""
		delete(s.barred, a)
	}
	return next
}

// UnbarAll lets all accounts try again at once, as after a reload.
func (s *Troubles) UnbarAll() {
	for a := range s.barred {
		a.Barred = ""
	}
	clear(s.barred)
}

// Trouble is a series of starts that failed through no fault of their jobs.
type Trouble struct {
	User   string // the user whose starts fail; "": several users
	All    bool   // no job of any user has been started since
	Starts int
	Since  time.Time
	Why    job.Message // why the last start failed
	Next   time.Time   // when the next job is tried; zero: no job is held back
}

// NoStarts reports whether several jobs could not be started, no job was started after them, and
// some of these jobs still wait. If they all belong to one user, the fault may be the user's own,
// and other users' jobs may start soon. So NoStarts reports this only once the trouble has lasted
// for LastStartAgain.
func (s *Troubles) NoStarts(now time.Time) bool {
	t := &s.every
	own := s.troubles[t.account]
	several := t.several || s.holdsBack(own) && !own.since.Before(t.since) && now.Sub(own.since) >= LastStartAgain
	return several && s.runningJob(nil, now) == nil && s.jobs.AnyUnstarted()
}

// List returns the present troubles: that of all users if there is one, or else the trouble of each
// user.
func (s *Troubles) List(now time.Time) (List []Trouble) {
	all := s.NoStarts(now)
	if t := &s.every; all && t.several {
		return []Trouble{{"", all, t.starts, t.since, t.why, s.nextTrial()}}
	}
	waits := map[*sched.Account]bool{} // one pass over all jobs, since one for each account might take long
	for l := range s.jobs.Unstarted() {
		waits[l.Account] = true
	}
	for a := range waits {
		if t := s.troubles[a]; t != nil && s.runningJob(a, now) == nil {
			List = append(List, Trouble{a.Name, all, t.starts, t.since, t.why, t.until})
		}
	}
	slices.SortFunc(List, func(a, b Trouble) int { return cmp.Compare(a.User, b.User) })
	return List
}
