package tracked

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// PendingAction is the action that is under way for a job.
type PendingAction int8

const (
	NoAction PendingAction = iota
	Starting
	Stopping
	Inspecting
	Checking // the GPUs, before a start
	InLine   // for a place to be started in
)

// Job is a job that has not ended. Only its record is durable. The order of the fields saves room.
type Job struct {
	*job.Job
	Awaits uint64 // while checking: the number of the sample that it waits for

	Action   PendingAction
	Recheck  bool // the unit changed while it was being started or inspected
	Dirty    bool // in this step
	Unasked  bool // no daemon has asked for the attempt's unit yet
	StopSent bool // a stop of ours may have reached it already

	Suspended Demand

	uses   []job.GPUNow // of the GPUs of the attempt with the number tracked
	usesOf int

	lifetime *Lifetime // of the attempt; nil: nothing is known
	Account  *sched.Account
	Throttle *sched.Throttle // of its array; nil: none
	Weighed  int64           // as counted in bytes
	Beyond   int             // what it counts for in quotas of GPUs besides what it asked for, see CountBeyond
}

// Demand is what others want of what a suspended job holds. After a restart it is looked for anew.
type Demand struct {
	Since  time.Time // since when somebody waits longer for it than if the job went on; zero: nobody does
	Looked time.Time // when that was looked at; zero: never
}

// Accounts are all that a job counts for.
func (l *Job) Accounts() []*sched.Account {
	return append([]*sched.Account{l.Account}, l.Account.Groups...)
}

func (l *Job) Kind() sched.Kind {
	return sched.KindOf(l.Account.UID, &l.Request)
}

// QuotaMilli is what an active job counts for in quotas of GPUs.
func (l *Job) QuotaMilli() int { return l.Request.QuotaMilli() + l.Beyond }

// RecordGroups has a job's record name the groups that its account counts for, and reports whether
// it did not.
func (l *Job) RecordGroups() bool {
	o := &l.Owner
	names := slices.Clone(o.Groups) // other jobs share them
	for _, g := range l.Account.Groups {
		if !slices.Contains(names, g.Name) {
			names = append(names, g.Name)
		}
	}
	if len(names) == len(o.Groups) {
		return false
	}
	slices.Sort(names)
	o.Groups = names
	return true
}

// StartSlack is how long a process may have run before its job is known to.
const StartSlack = time.Second

// Beginning is the moment before which no process of the attempt began. The start of
// a job is put right after the clock was set, its placement is not.
func (l *Job) Beginning() time.Time {
	placed, started := l.Attempt.PlacedAt, l.Attempt.StartedAt.Add(-StartSlack)
	if started.After(placed) {
		return started
	}
	return placed
}

// Seen is a job as it is shown.
func (l *Job) Seen() *job.Job {
	if !l.unbegun() {
		return l.Job
	}
	j := *l.Job
	j.State = l.Shown()
	return &j
}

// Shown is the state in which a job is shown: nothing has begun of one that waits to be started.
func (l *Job) Shown() job.State {
	if l.unbegun() {
		return job.Queued
	}
	return l.State
}

// unbegun reports whether a job waits to be started and leaves the line at once for the queue. One whose start a daemon
// that died may have asked for does not: its unit can still be made, and is stopped first.
func (l *Job) unbegun() bool { return l.Action == InLine && l.Unasked }

// Asking returns a copy of a job that asks something else.
func (l *Job) Asking(r job.Request) *Job {
	changed := *l.Job
	changed.Request = r
	return &Job{Job: &changed, Account: l.Account, Throttle: l.Throttle}
}

// NotBefore is when a queued job may start at the earliest; zero: at once.
func NotBefore(j *job.Job) time.Time {
	if j.NotBefore.After(j.Request.Begin) {
		return j.NotBefore
	}
	return j.Request.Begin
}

// TriesOf is how often in a row the job could not be started.
func TriesOf(j *job.Job) int {
	if j.Attempt == nil || j.Attempt.Result == nil {
		return 0
	}
	return j.Attempt.Result.Tries
}

// RanFor is how long the attempt of a job had its GPUs and was not suspended.
func RanFor(j *job.Job, now time.Time) time.Duration {
	if j.Attempt == nil {
		return 0
	}
	return max(0, now.Sub(j.Attempt.PlacedAt)-j.Rest(now))
}

// Unsampled is the use of a GPU that no sample showed since the attempt began, or
// since the daemon did.
const Unsampled = -2

// CurrentUses returns what is known of the use of the GPUs of the current attempt.
func (l *Job) CurrentUses() []job.GPUNow {
	a := l.Attempt
	if l.usesOf == a.Number && len(l.uses) == len(a.GPUs) {
		return l.uses
	}
	l.usesOf, l.uses = a.Number, make([]job.GPUNow, len(a.GPUs))
	for i := range a.GPUs {
		l.uses[i] = job.GPUNow{GPUUse: a.GPUs[i].Use, UsedBytes: Unsampled}
	}
	return l.uses
}

// KeepUse puts what is known of the use of its GPUs into the job's attempt, for
// a record.
func (l *Job) KeepUse() {
	a := l.Attempt
	if a == nil || l.usesOf != a.Number || len(l.uses) != len(a.GPUs) {
		return
	}
	refs := slices.Clone(a.GPUs)
	for i := range refs {
		refs[i].Use = l.uses[i].GPUUse
	}
	if slices.Equal(refs, a.GPUs) {
		return
	}
	changed := *a
	changed.GPUs = refs
	l.Attempt = &changed
}

// UsesNow are what views show; nil where the job has no GPU now.
func (l *Job) UsesNow() []job.GPUNow {
	if !l.State.Live() || len(l.Attempt.GPUs) == 0 {
		return nil
	}
	uses := slices.Clone(l.CurrentUses())
	for i := range uses {
		uses[i].UsedBytes = max(uses[i].UsedBytes, -1)
	}
	return uses
}

// Lifetime is what is known of how long the unit of an attempt has run.
type Lifetime struct {
	Asked time.Time // when its start was asked for; zero: not by this daemon
	Alive time.Time // the last moment at which something of it was seen to run; zero: none
	Ended time.Time // when its command did, as its unit tells; zero: it has not told
	Spent bool      // nothing was left in the unit then
	Left  int       // how many processes its command left running
	Gone  bool      // the unit is not there any more, so nobody knows when it did
}

// Lifetime is the lifetime of the current attempt.
func (l *Job) Lifetime() *Lifetime {
	if l.lifetime == nil {
		l.lifetime = new(Lifetime)
	}
	return l.lifetime
}

// SawProcess notes that something of it was there.
func (t *Lifetime) SawProcess(at time.Time) {
	if at.After(t.Alive) {
		t.Alive = at
	}
}

// Known is up to when it is known to have run. What a GPU shows of it after nothing was left has ended, too.
func (t *Lifetime) Known() time.Time {
	if t.Spent {
		return t.Ended
	}
	return job.Later(t.Alive, t.Ended)
}

// End is between which moments the last process of an attempt ended that is over now.
func (t *Lifetime) End(now time.Time) Span {
	if t.Spent {
		return Span{t.Ended, t.Ended}
	}
	return Span{t.Known(), now}
}

// Shift moves its times with a clock that was set.
func (t *Lifetime) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.Asked, &t.Alive, &t.Ended)
}

// Span is between which moments something happened, by the core's clock.
type Span struct{ From, To time.Time }
