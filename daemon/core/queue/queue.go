package queue

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/core/estimates"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/starts"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/retry"
)

// Book contains the jobs that may start as soon as GPUs are free for them, and decides when and
// where they start.
type Book struct {
	*sched.Queue
	*sched.Planner
	policy    *site.Policy
	jobs      *tracked.Book
	gpus      *gpus.Book
	accounts  *accounts.Book
	estimates *estimates.Book
	shell     Shell

	stale      []job.ID // waiting jobs whose expected run times are still to be updated, the last one first
	staleFor   uint64   // the generation of the estimates at which the list stale was filled
	ahead      foresights
	snap       sched.Snapshot // the snapshot of the last pass; its memory is reused
	replanTime time.Time      // when to plan again even if nothing happens before
	passes     uint64         // the number of planning passes so far
	copyRate   float64        // how many bytes per second the driver copies when it parks a job
}

// Shell contains the functions of the core that the queue needs.
type Shell struct {
	MarkDirty        func(*tracked.Job)  // makes the step record a job when it ends
	MarkDirtyQuietly func(*tracked.Job)  // likewise, but that is not logged
	Replan           func()              // asks for another pass before the step ends
	ScheduledEnd     func() job.Shutdown // returns the scheduled shutdown or reboot of the machine
}

func NewBook(
	p *site.Policy, jobs *tracked.Book, gpus *gpus.Book, accounts *accounts.Book, estimates *estimates.Book, shell Shell,
) Book {
	return Book{
		Queue: sched.NewQueue(), Planner: sched.NewPlanner(),
		policy: p, jobs: jobs, gpus: gpus, accounts: accounts, estimates: estimates, shell: shell,
		copyRate: firstCopyRate,
	}
}

func (q *Book) CountPass() { q.passes++ }

func (q *Book) Passes() uint64 { return q.passes }

// ReplanAt returns when to plan again even if nothing happens before. Zero means that no time is
// set.
func (q *Book) ReplanAt() time.Time { return q.replanTime }

func (q *Book) SetReplanAt(at time.Time) { q.replanTime = at }

// ReplanBy makes the next pass happen at the given time at the latest. A zero time changes nothing.
func (q *Book) ReplanBy(at time.Time) { q.replanTime = job.Earlier(q.replanTime, at) }

// Enqueue counts a job as queued and calls Consider for it.
func (q *Book) Enqueue(l *tracked.Job, now time.Time) {
	q.jobs.EnterQueue(l)
	q.MarkCapped(l, now)
	q.Consider(l, now)
}

func (q *Book) Dequeue(l *tracked.Job, now time.Time) {
	q.Remove(l.ID)
	l.Owed = false
	q.SettleCapped(l, now)
	q.jobs.LeaveQueue(l)
	l.AwayAt = time.Time{}
}

// Consider puts a queued job where it belongs: into the queue if it may start as soon as it fits,
// or among the timers if it waits for a time. A job that is held or waits for another job is in
// neither. A parked job that waits for its GPUs is in the queue as well. If the argument now is zero,
// no time counts as passed.
func (q *Book) Consider(l *tracked.Job, now time.Time) {
	j := l.Job
	q.Remove(j.ID)
	q.jobs.StopTimer(j.ID)
	if j.Returns() {
		q.Push(q.WaitingJob(l))
		q.shell.Replan()
	}
	if j.State != job.Queued {
		return
	}
	at := tracked.NotBefore(j)
	free := MayStart(j)
	q.CountWait(l, free && !at.After(now), now)
	switch {
	case !free:
		return
	case at.After(now):
		q.jobs.SetTimer(j.ID, at)
		return
	}
	if j.Expected == 0 {
		j.Expected = q.estimates.ExpectedRun(l)
	}
	q.Push(q.WaitingJob(l))
	q.shell.Replan()
}

// MayStart reports whether a queued job is not held, waits for no other job, and is not an array
// with too many failures.
func MayStart(j *job.Job) bool { return j.Held == "" && len(j.Pending) == 0 && !j.TooManyFailed() }

// CountWait makes a queued job's wait include only the time in which the job could be placed. If
// the argument now is zero, CountWait does nothing.
func (q *Book) CountWait(l *tracked.Job, could bool, now time.Time) {
	j := l.Job
	switch {
	case now.IsZero():
	case !could && j.AwayAt.IsZero():
		q.SettleCapped(l, now)
		j.AwayAt = now
	case could && !j.AwayAt.IsZero():
		shortenWait(j, max(0, now.Sub(j.AwayAt)), now)
		j.AwayAt = time.Time{}
		q.MarkCapped(l, now)
	}
}

// MarkCapped notes, when a queued job begins to wait, the total time for which its account has been
// at its quotas so far.
func (q *Book) MarkCapped(l *tracked.Job, now time.Time) {
	if !now.IsZero() {
		l.Capped = l.Account.Capped(l.Request.QuotaMilli(), sched.At(now))
	}
}

// SettleCapped shortens a queued job's wait by the time for which its account was at its quotas
// since MarkCapped, and by the time before the job's own lane got room.
func (q *Book) SettleCapped(l *tracked.Job, now time.Time) {
	if j := l.Job; j.AwayAt.IsZero() && !now.IsZero() {
		was := j.Capped
		q.MarkCapped(l, now)
		shortenWait(j, j.Capped-was, now)
		since := sched.At(j.QueuedAt)
		if by := time.Duration(l.Throttle.Turn(since) - since); by > 0 && !q.policy.Sched.FIFO {
			shortenWait(j, by, now)
		}
	}
}

// shortenWait moves the start of a job's wait to a later time. If the job is an array, the wait of
// its next task also begins later, but not after now.
func shortenWait(j *job.Job, by time.Duration, now time.Time) {
	j.QueuedAt = j.QueuedAt.Add(by)
	if j.Tasks == nil || j.Tasks.TurnAt.IsZero() {
		return
	}
	counts := *j.Tasks
	if counts.TurnAt = counts.TurnAt.Add(by); counts.TurnAt.After(now) {
		counts.TurnAt = now
	}
	j.Tasks = &counts
}

// WaitStart returns the start of the wait that counts for a job, or for an array's next task.
// Unless the site uses strict order, a task's wait begins when the task before it starts. If it
// began with the array's wait, all tasks of an old array would go before all younger jobs.
func (q *Book) WaitStart(j *job.Job) time.Time {
	if j.Tasks != nil && j.Tasks.TurnAt.After(j.QueuedAt) && !q.policy.Sched.FIFO {
		return j.Tasks.TurnAt
	}
	return j.QueuedAt
}

// RestartWait makes the wait of an array's next task begin now.
func (q *Book) RestartWait(array *tracked.Job, now time.Time) {
	j := array.Job
	q.SettleCapped(array, now)
	counts := *j.Tasks
	counts.TurnAt = now
	j.Tasks = &counts
	q.shell.MarkDirtyQuietly(array)
	q.Repush(array)
}

// Repush puts a job in its new place after something about the job has changed.
func (q *Book) Repush(l *tracked.Job) {
	if q.Has(l.ID) {
		q.Remove(l.ID)
		q.Push(q.WaitingJob(l))
	}
}

// WaitingJob returns the job in the form that sched.Queue takes.
func (q *Book) WaitingJob(l *tracked.Job) sched.Waiting {
	j := l.Job
	w := sched.Waiting{
		ID: j.ID, Request: &j.Request, Account: l.Account, Since: sched.At(q.WaitStart(j)),
		Capped: j.Capped, Expected: q.estimates.ExpectedRun(l), Late: q.estimates.LateRun(l), Served: j.Served,
		Known: q.estimates.Of(l).Known, Throttle: l.Throttle, Count: 1, Batch: batchOf(j), Owed: j.Owed,
	}
	if j.Returns() {
		q.returning(&w, j)
	}
	w.Parks = q.willPark(&j.Request)
	if j.Request.Preemptible || w.Parks {
		w.Effort, w.Program, w.Untried = q.estimates.Effort(l, w.Served)
	}
	if j.Tasks != nil {
		w.Count = j.Tasks.Left(j.Request.Array.Size())
	}
	return w
}

// batchOf returns the name of a job's batch, or "" if the job has none. An array without a batch
// name is a batch of its own, together with its requeued tasks. That batch's name contains NUL,
// unlike any name that users choose.
func batchOf(j *job.Job) string {
	switch {
	case j.Request.Objective != job.Makespan:
		return ""
	case j.Request.Batch != "":
		return j.Request.Batch
	case j.Task != nil:
		return "\x00" + j.Task.Array.String()
	}
	return "\x00" + j.ID.String()
}

// ConsiderDue calls Consider for the jobs whose time has come.
func (q *Book) ConsiderDue(now time.Time) {
	for a := q.jobs.NextTimer(); a.ID != 0 && !a.At.After(now); a = q.jobs.NextTimer() {
		l := q.jobs.Get(a.ID)
		q.Consider(l, now)
		q.shell.MarkDirtyQuietly(l)
	}
}

// ClampBackoffs corrects the times of queued jobs if the clock was set back while no daemon ran.
// Then back-offs end no later than intended, and no job's wait begins in the future.
func (q *Book) ClampBackoffs(now time.Time) {
	queued := func(l *tracked.Job) bool { return l.State == job.Queued }
	for _, l := range q.jobs.Sorted(queued) {
		late := l.QueuedAt.After(now)
		lost := l.Capped > l.Account.Capped(l.Request.QuotaMilli(), sched.At(now)) // its account's time at quotas was reset
		if late {
			l.QueuedAt = now
		}
		if late || lost {
			q.MarkCapped(l, now)
			q.shell.MarkDirtyQuietly(l)
			q.Consider(l, now)
		}
		if t := l.Tasks; t != nil && t.TurnAt.After(now) {
			q.RestartWait(l, now)
		}
		longest := time.Duration(0)
		switch tries := tracked.TriesOf(l.Job); {
		case tries > 0:
			longest = retry.After(tries, starts.StartAgain, starts.LastStartAgain)
		case l.Failures > 0:
			longest = retry.After(l.Failures, l.Request.Backoff.Duration(), job.MaxBackoff)
		default:
			continue
		}
		if latest := now.Add(longest); l.NotBefore.After(latest) {
			l.NotBefore = latest
			q.shell.MarkDirty(l)
			q.Consider(l, now)
		}
	}
}
