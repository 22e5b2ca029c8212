package tracked

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
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
	InLine   // waits for a place to start in
)

// Job is a job that has not ended. Only its record is stored. The order of the fields saves memory.
type Job struct {
	*job.Job
	Awaits uint64 // while checking: the number of the sample that it waits for

	Action   PendingAction
	Recheck  bool // the unit changed while it was being started or inspected
	Dirty    bool // to be recorded in this step
	Unasked  bool // no daemon has asked for the attempt's unit yet
	StopSent bool // a stop of this daemon may have reached it

	Suspended Demand

	uses   []job.GPUNow // of the GPUs of attempt usesOf
	usesOf int

	lifetime *Lifetime // of the attempt; nil: nothing is known
	Account  *sched.Account
	Throttle *sched.Throttle // of its array; nil: none
	Weighed  int64           // as counted in bytes
	Beyond   int             // what it counts for in quotas of GPUs beyond its request, see CountBeyond
}

// Demand is other jobs' interest in a suspended job's resources. A restart looks for it anew.
type Demand struct {
	Since   time.Time // since when a job waits longer than if this one resumed; zero: none does
	Checked time.Time // when that was last checked; zero: never
}

// Accounts returns all accounts that a job counts for.
func (l *Job) Accounts() []*sched.Account {
	return append([]*sched.Account{l.Account}, l.Account.Groups...)
}

func (l *Job) Kind() predict.Kind {
	return predict.KindOf(l.Account.UID, &l.Request)
}

// QuotaMilli returns what an active job counts for in quotas of GPUs.
func (l *Job) QuotaMilli() int { return l.Request.QuotaMilli() + l.Beyond }

// RecordGroups adds the groups that a job's account counts for to its record, and reports whether
// any were missing.
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

// Beginning returns the earliest time at which a process of the attempt can have begun. A job's
// start is corrected after the clock was set, its placement is not.
func (l *Job) Beginning() time.Time {
	placed, started := l.Attempt.PlacedAt, l.Attempt.StartedAt.Add(-StartSlack)
	if started.After(placed) {
		return started
	}
	return placed
}

// Seen returns the job as views show it.
func (l *Job) Seen() *job.Job {
	if !l.unbegun() {
		return l.Job
	}
	j := *l.Job
	j.State = l.Shown()
	return &j
}

// Shown returns the state that views show: a job that waits to be started counts as queued.
func (l *Job) Shown() job.State {
	if l.unbegun() {
		return job.Queued
	}
	return l.State
}

// unbegun reports whether a job waits to be started and can return to the queue at once. It can't
// if an earlier daemon may have asked for its start: its unit can still appear, and is stopped
// first.
func (l *Job) unbegun() bool { return l.Action == InLine && l.Unasked }

// Asking returns a copy of a job with another request.
func (l *Job) Asking(r job.Request) *Job {
	changed := *l.Job
	changed.Request = r
	return &Job{Job: &changed, Account: l.Account, Throttle: l.Throttle}
}

// NotBefore returns the earliest start of a queued job; zero: at once.
func NotBefore(j *job.Job) time.Time {
	if j.NotBefore.After(j.Request.Begin) {
		return j.NotBefore
	}
	return j.Request.Begin
}

// TriesOf returns how often in a row the job could not be started.
func TriesOf(j *job.Job) int {
	if j.Attempt == nil || j.Attempt.Result == nil {
		return 0
	}
	return j.Attempt.Result.Tries
}

// RanFor returns how long a job's attempt has had its GPUs without being suspended.
func RanFor(j *job.Job, now time.Time) time.Duration {
	if j.Attempt == nil {
		return 0
	}
	return max(0, now.Sub(j.Attempt.PlacedAt)-j.SuspendedFor(now))
}

// Unsampled is the use of a GPU that no sample has shown since the attempt, or the daemon, began.
const Unsampled = -2

// CurrentUses returns what is known of the use of the current attempt's GPUs.
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

// KeepUse copies what is known of the use of its GPUs into the job's attempt, for a record.
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

// UsesNow returns the use that views show; nil if the job has no GPU now.
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
	Alive time.Time // when it was last seen to run; zero: never
	Ended time.Time // when its command ended, by its unit; zero: unknown
	Spent bool      // the unit had no processes left then
	Left  int       // number of processes that its command left running
	Gone  bool      // the unit is gone, so that the time of its end stays unknown
}

// Lifetime returns the lifetime of the current attempt.
func (l *Job) Lifetime() *Lifetime {
	if l.lifetime == nil {
		l.lifetime = new(Lifetime)
	}
	return l.lifetime
}

// SawProcess notes that a process of it existed at a time.
func (t *Lifetime) SawProcess(at time.Time) {
	if at.After(t.Alive) {
		t.Alive = at
	}
}

// Known returns the time until which it is known to have run. Processes that a GPU still shows
// after the unit was empty have ended, too.
func (t *Lifetime) Known() time.Time {
	if t.Spent {
		return t.Ended
	}
	return job.Later(t.Alive, t.Ended)
}

// End returns the span in which the last process of an ended attempt ended.
func (t *Lifetime) End(now time.Time) Interval {
	if t.Spent {
		return Interval{t.Ended, t.Ended}
	}
	return Interval{t.Known(), now}
}

// Shift moves its times with a clock that was set.
func (t *Lifetime) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.Asked, &t.Alive, &t.Ended)
}

// Interval is a span of time in which something happened, by the core's clock.
type Interval struct{ From, To time.Time }
