package tracked

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
	"github.com/gpusched/gpusched/daemon/sched"
)

// PendingAction is the action that is under way for a job, if any.
type PendingAction int8

const (
	NoAction PendingAction = iota
	Starting
	Stopping
	Inspecting
	Checking // its GPUs are being checked before its start
	InLine   // it waits for a place to start in
	Proving  // it failed, and its GPUs are tested before that counts
)

// Job is a job that has not ended. Only its embedded record is stored. The order of the fields
// saves memory.
type Job struct {
	*job.Job
	Awaits uint64 // while checking: the number of the sample that it waits for

	Action   PendingAction
	Recheck  bool // the unit changed while it was being started or inspected
	Dirty    bool // the job is to be recorded in this step
	Unasked  bool // no daemon has asked for the attempt's unit yet
	StopSent bool // a stop sent by this daemon may have reached the unit

	Suspended Demand

	uses   []job.GPUNow // for the GPUs of the attempt with number usesOf
	usesOf int

	lifetime *Lifetime // the lifetime of the attempt's unit; nil: nothing is known
	Account  *sched.Account
	Throttle *sched.Throttle // the bound on its array's running tasks; nil: none
	Weighed  int64           // its weight as counted in Book.bytes
	Beyond   int             // what counts in quotas of GPUs in addition to its request, see CountBeyond
}

// Demand says whether other jobs want a suspended job's resources. It is not stored: after a
// restart it is determined anew.
type Demand struct {
	Since   time.Time // since when another job waits longer because of the suspension; zero: none does
	Checked time.Time // when Since was last determined; zero: never
}

// Accounts returns all accounts for which a job counts.
func (l *Job) Accounts() []*sched.Account {
	return append([]*sched.Account{l.Account}, l.Account.Groups...)
}

func (l *Job) Kind() predict.Kind {
	return predict.KindOf(l.Account.UID, &l.Request)
}

// QuotaMilli returns what an active job counts in quotas of GPUs.
func (l *Job) QuotaMilli() int { return l.Request.QuotaMilli() + l.Beyond }

// RecordGroups adds the groups for which a job's account counts to the job's record. It reports
// whether any were missing.
func (l *Job) RecordGroups() bool {
	o := &l.Owner
	names := slices.Clone(o.Groups) // other jobs share the list
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

// StartSlack is how long a process may have run before its job is known to run.
const StartSlack = time.Second

// Beginning returns the earliest time at which a process of the attempt can have begun. After the
// clock was set, the time of the start is corrected, but that of the placement is not.
func (l *Job) Beginning() time.Time {
	placed, started := l.Attempt.PlacedAt, l.Attempt.StartedAt.Add(-StartSlack)
	if started.After(placed) {
		return started
	}
	return placed
}

// Seen returns the job as views show it.
func (l *Job) Seen() *job.Job {
	if !l.waitsInLine() {
		return l.Job
	}
	j := *l.Job
	j.State = l.Shown()
	return &j
}

// Shown returns the state that views show. A placed job that waits for its turn to start counts as
// queued.
func (l *Job) Shown() job.State {
	if l.waitsInLine() {
		return job.Queued
	}
	return l.State
}

// waitsInLine reports whether a placed job waits for its turn to start and can return to the queue
// at once. If an earlier daemon may have asked for its start, it can't: its unit may still appear,
// and must first be stopped.
func (l *Job) waitsInLine() bool { return l.Action == InLine && l.Unasked }

// Asking returns a copy of a job, with another request.
func (l *Job) Asking(r job.Request) *Job {
	changed := *l.Job
	changed.Request = r
	return &Job{Job: &changed, Account: l.Account, Throttle: l.Throttle}
}

// NotBefore returns the earliest time at which a queued job may start; zero: at once.
func NotBefore(j *job.Job) time.Time {
	if j.NotBefore.After(j.Request.Begin) {
		return j.NotBefore
	}
	return j.Request.Begin
}

// TriesOf returns how many times in a row the job could not be started.
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

// Unsampled is the memory use of a job on a GPU that no sample has shown since the attempt began or
// the daemon started.
const Unsampled = -2

// CurrentUses returns the known use of the current attempt's GPUs.
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

// KeepUse copies the known use of a job's GPUs into its attempt, so that a record includes it.
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

// UsesNow returns the use that views show, or nil if the job has no GPU now.
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

// Lifetime is what is known about the time in which the unit of an attempt ran.
type Lifetime struct {
	Asked time.Time // when this daemon asked for the start; zero: it did not
	Alive time.Time // when the unit was last seen running; zero: never
	Ended time.Time // when the command ended, as the unit reports it; zero: unknown
	Spent bool      // the unit had no processes left at that time
	Left  int       // number of processes that the command left running
	Gone  bool      // the unit is gone, so the time of its end stays unknown
}

// Lifetime returns the lifetime of the current attempt.
func (l *Job) Lifetime() *Lifetime {
	if l.lifetime == nil {
		l.lifetime = new(Lifetime)
	}
	return l.lifetime
}

// SawProcess notes that a process of the unit existed at the given time.
func (t *Lifetime) SawProcess(at time.Time) {
	if at.After(t.Alive) {
		t.Alive = at
	}
}

// Known returns the time until which the unit is known to have run. Once the unit was found empty,
// that is the time of its end, even if a GPU shows a process of it later: that process has ended,
// too.
func (t *Lifetime) Known() time.Time {
	if t.Spent {
		return t.Ended
	}
	return job.Later(t.Alive, t.Ended)
}

// End returns the span of time in which the last process of an ended attempt ended.
func (t *Lifetime) End(now time.Time) Interval {
	if t.Spent {
		return Interval{t.Ended, t.Ended}
	}
	return Interval{t.Known(), now}
}

// Shift adjusts the times in t after the clock was set.
func (t *Lifetime) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.Asked, &t.Alive, &t.Ended)
}

// Interval is a span of time in which something happened, by the core's clock.
type Interval struct{ From, To time.Time }
