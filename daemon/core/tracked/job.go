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
	Checking // the job's GPUs are being checked before its start
	InLine   // the job waits for a place to start in
	Proving  // the job failed, and its GPUs are tested before the failure counts
)

// Job is a job that has not ended. Only its embedded record is stored. The order of the fields
// saves memory.
type Job struct {
	*job.Job
	Awaits uint64 // while Checking: the number of the sample for which the job waits

	Action   PendingAction
	Recheck  bool // the unit changed during its start or its inspection
	Dirty    bool // the job is to be recorded in this step
	Unasked  bool // no daemon has asked for the attempt's unit yet
	StopSent bool // a stop sent by this daemon may have reached the unit

	Suspended Demand

	uses   []job.GPUNow // the use of the GPUs of the attempt with the number usesOf
	usesOf int

	lifetime *Lifetime // the lifetime of the attempt's unit; nil: nothing is known
	Account  *sched.Account
	Throttle *sched.Throttle // the lanes in which the job counts; nil: none
	Weighed  int64           // the job's weight as counted in Book.bytes
	Beyond   int             // counts in quotas of GPUs in addition to the request, see CountBeyond
}

// Demand says whether other jobs want a suspended job's resources. It is not stored, and is
// determined anew after a restart.
type Demand struct {
	Since   time.Time // since when the suspension makes another job wait longer; zero: it does not
	Checked time.Time // when Since was last determined; zero: never
}

// Accounts returns all accounts for which a job counts.
func (l *Job) Accounts() []*sched.Account {
	return append([]*sched.Account{l.Account}, l.Account.Groups...)
}

func (l *Job) Kind() predict.Kind {
	return predict.KindOf(l.Account.UID, &l.Request)
}

// QuotaMilli returns the GPUs that an active job counts in quotas, in thousandths.
func (l *Job) QuotaMilli() int { return l.Request.QuotaMilli() + l.Beyond }

// HeldMilli returns the GPUs that an active job holds, in thousandths.
func (l *Job) HeldMilli() int {
	if l.Park == job.IsParked {
		return 0
	}
	return l.Request.GPUMilli
}

// RecordGroups adds to a job's record the groups for which its account counts. It reports whether
// any of them were missing.
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

// StartSlack is how long a process of a job may have run before the job is known to run.
const StartSlack = time.Second

// Beginning returns the earliest time at which a process of the attempt can have begun. After the
// clock was set, the start's time is corrected, but the placement's time is not.
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
// at once. It can't if an earlier daemon may have asked for its start: its unit may still appear,
// and must first be stopped.
func (l *Job) waitsInLine() bool { return l.Action == InLine && l.Unasked }

// Asking returns a copy of a job that has the given request instead of its own.
func (l *Job) Asking(r job.Request) *Job {
	changed := *l.Job
	changed.Request = r
	return &Job{Job: &changed, Account: l.Account, Throttle: l.Throttle}
}

// NotBefore returns the earliest time at which a queued job may start, or zero if it may start at
// once.
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

// RanFor returns for how long a job's attempt has had its GPUs, without the time of suspensions.
func RanFor(j *job.Job, now time.Time) time.Duration {
	if j.Attempt == nil {
		return 0
	}
	return max(0, now.Sub(j.Attempt.PlacedAt)-j.SuspendedFor(now))
}

// Unsampled is the memory use of a job on a GPU if no sample has shown the GPU since the attempt
// began or the daemon started.
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

// LeaveGPUs notes that no sample will show what a job that is being parked uses, and that the job
// is not idle meanwhile. The sums go on when it has its GPUs again.
func (l *Job) LeaveGPUs() {
	for i := range l.uses {
		u := &l.uses[i]
		u.UsedBytes, u.Computing = Unsampled, false
		u.Idle, u.IdleWarned = 0, 0
	}
}

// KeepUse copies the known use of a job's GPUs into the job's attempt, so that its record includes
// the use.
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
	if !l.State.Live() || len(l.HeldGPUs()) == 0 {
		return nil
	}
	uses := slices.Clone(l.CurrentUses())
	for i := range uses {
		uses[i].UsedBytes = max(uses[i].UsedBytes, -1)
	}
	return uses
}

// Lifetime is what is known about when the unit of an attempt ran.
type Lifetime struct {
	Asked time.Time // when this daemon asked for the start; zero: it did not ask
	Alive time.Time // when the unit was last seen running; zero: never
	Ended time.Time // when the command ended, as the unit reports it; zero: unknown
	Spent bool      // at that end, the unit had no processes left
	Left  int       // the number of processes that the command left running
	Gone  bool      // the unit is gone, so the time of its end will not become known

	WokeFrom  job.Span  // the CPU time from which Wakes counts
	WokeSince time.Time // when WokeFrom was measured; zero: never while the job was parked
	Measured  time.Time // when Wakes was last asked

	Moving    bool      // the unit's memory limit is being changed
	Copying   bool      // a Park or an Unpark action is under way
	CopyFails time.Time // since when the driver's program has failed to copy; zero: it has not
	MemUsed   int64     // the most host memory that a sample showed in use
	MemSince  time.Time // since when the job neither lent nor wanted host memory
	MemWanted bool      // the job comes near the part of its host memory that it has not lent
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

// Known returns the time until which the unit is known to have run. If the unit was found empty at
// the end of its command, the result is the time of this end. A sample may show one of its
// processes on a GPU later, but that process has ended too.
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

// Shift adjusts the recorded times after the clock was set.
func (t *Lifetime) Shift(by time.Duration, now time.Time) {
	job.Shift(by, now, &t.Asked, &t.Alive, &t.Ended, &t.MemSince, &t.WokeSince, &t.Measured, &t.CopyFails)
}

// Wakes reports whether a parked job has begun to work again, and is to get its GPUs back. The
// argument cpu is the CPU time that the unit has used up to now. If it is measured rarely, its mean
// over job.WakeSpan counts.
func (l *Job) Wakes(cpu job.Span, now time.Time) bool {
	t := l.Lifetime()
	if l.Park != job.IsParked || !l.ParkAwake || l.ParkWants || l.Stop != "" {
		t.WokeSince = time.Time{}
		return false
	}
	took, passed := time.Duration(cpu-t.WokeFrom), now.Sub(t.WokeSince)
	known := !t.WokeSince.IsZero()
	if next := passed + now.Sub(t.Measured); !known || next > job.WakeSpan || next < 0 {
		t.WokeFrom, t.WokeSince = cpu, now // with the next measurement, the span would be too long
	}
	t.Measured = now
	return known && took.Seconds()*job.WakeSpan.Seconds() > job.WakeCPU.Seconds()*max(passed, job.WakeSpan).Seconds()
}

// Interval is a span of time in which something happened, measured by the core's clock.
type Interval struct{ From, To time.Time }
