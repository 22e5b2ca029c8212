package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Book contains what was learned about run times and memory. The estimates come from the predictor,
// or from the site's policy if it sets run times. If a user's jobs often run longer than estimated,
// the Book expects longer run times for the user's waiting jobs.
type Book struct {
	policy *site.Policy
	jobs   *tracked.Book
	record func(job.Record)
	mark   func(l *tracked.Job) // makes the step record a job when it ends; that is not logged

	predictor *predict.Predictor
	users     map[int]*optimism // by uid
	everybody optimism

	memo   map[predict.Kind]*predict.Estimate
	memoOf uint64 // the predictor's generation when the estimates in memo were made
}

func NewBook(
	p *site.Policy, jobs *tracked.Book, record func(job.Record), mark func(*tracked.Job), past []job.Prediction,
) Book {
	return Book{
		policy: p, jobs: jobs, record: record, mark: mark,
		predictor: predict.NewPredictor(past), users: map[int]*optimism{},
	}
}

// maxMemo is the largest number of estimates that are kept for later requests.
const maxMemo = 1024

// Of returns the estimate of a job's run time.
func (b *Book) Of(l *tracked.Job) *predict.Estimate {
	if b.policy.Predict != nil {
		return &predict.Estimate{Median: b.policy.Predict(l.ID), Ended: TriedRuns, Known: true}
	}
	if g := b.predictor.Generation(); b.memoOf != g || len(b.memo) >= maxMemo {
		b.memo, b.memoOf = map[predict.Kind]*predict.Estimate{}, g
	}
	k := l.Kind()
	e := b.memo[k]
	if e == nil {
		e = new(b.predictor.Estimate(k))
		b.memo[k] = e
	}
	return e
}

// Memory returns the GPU memory that runs of this kind are known to take. If that is unknown, it
// returns 0.
func (b *Book) Memory(k predict.Kind) int64 { return b.predictor.Memory(k) }

// Generation returns a number that changes whenever a run time is learned.
func (b *Book) Generation() uint64 { return b.predictor.Generation() }

// TriedRuns is the number of jobs of a kind that must have ended before one job of that kind is
// preempted for another. If no job had to end first, none of these jobs might ever end, and nothing
// would be learned about the kind.
const TriedRuns = 5

// ShortestLesson is the shortest run from which the scheduler learns. A shorter run has not done
// its work, or was started to mislead the scheduler.
const ShortestLesson = 2 * time.Second

// ExpectedRun returns a queued job's expected run time, which includes the time for which it ran
// already.
func (b *Book) ExpectedRun(l *tracked.Job) time.Duration {
	return b.runOf(l, b.Of(l).Total)
}

// LateRun returns the run time that one in five similar jobs exceeds. If the policy makes no use of
// that time, it returns 0.
func (b *Book) LateRun(l *tracked.Job) time.Duration {
	if b.policy.Sched.Patience == 0 {
		return 0
	}
	return b.runOf(l, b.Of(l).Late)
}

func (b *Book) runOf(l *tracked.Job, total func(ran time.Duration) time.Duration) time.Duration {
	j := l.Job
	run := total(j.Served)
	if b.policy.Predict == nil && j.Request.GPUMilli > 0 && !j.Request.Preemptible {
		run = b.users[l.Account.UID].correct(run, &b.everybody)
	}
	if limit := j.Request.TimeLimit.Duration(); limit > 0 {
		run = min(run, j.Served+limit)
	}
	return run
}

// Effort returns the value that ranks a job for preemption (see Estimate.Effort) and the job's kind
// without its command. It also reports whether fewer than TriedRuns jobs of its kind have ended.
func (b *Book) Effort(l *tracked.Job, ran time.Duration) (time.Duration, predict.Kind, bool) {
	e, program := b.Of(l), l.Kind()
	program.Shape = ""
	return e.Effort(ran, b.policy.Sched.Slice), program, e.Ended < TriedRuns
}

// ExpectedEnd returns when a job's current attempt is expected to end. An attempt is never expected
// to end after its time limit.
func (b *Book) ExpectedEnd(l *tracked.Job, now time.Time) time.Time {
	return b.endAfter(l, b.Of(l).Total, now)
}

// LateEnd returns the time by which four of five similar jobs have ended.
func (b *Book) LateEnd(l *tracked.Job, now time.Time) time.Time {
	return b.endAfter(l, b.Of(l).Late, now)
}

func (b *Book) endAfter(l *tracked.Job, total func(ran time.Duration) time.Duration, now time.Time) time.Time {
	ran := tracked.RanFor(l.Job, now)
	left := total(l.Served+ran) - l.Served - ran
	if limit := l.Request.TimeLimit.Duration(); limit > 0 {
		left = min(left, max(0, limit-ran))
	}
	return now.Add(left)
}

// Learn learns a job's run time if the job came to its end. If it did not, Learn learns that such
// jobs run at least that long.
//
// A job that gets another attempt has not come to its end, whatever ended the last attempt. If that
// attempt failed after hours, such jobs run for hours; if it failed at once, nothing is learned.
// Nothing is learned from a failed launch, a lost GPU or a neighbour with MPS either, since the job did not cause it. A
// job that reached its time limit counts as having come to its end. If it did not count, nothing
// would ever be learned about jobs that always reach their limits.
//
// Once a job has run longer than expected, anything that the job or its owner caused counts as an
// end as well. Without this rule, a long run would look short if its owner cancelled it when its
// work was done. A job that its owner cancels earlier counts as given up, not as ended. A failed
// launch that took longer than expected counts as a run: a job can do its work in its set-up, or
// make its end look like a failed launch.
func (b *Book) Learn(l *tracked.Job, r *job.Result, last bool, now time.Time) {
	ran, expected := b.runTime(l, now), b.Of(l).Median
	if r.Launch != "" && ran <= expected || r.Cause == job.StopGPULost || r.Cause == job.StopMPS {
		return
	}
	stopped := r.Outcome == job.Cancelled && (r.Cause == "" || r.Cause == job.StopRequeue)
	others := stopped && r.By != l.Owner.User && r.By != l.Person().User
	if run := ran - l.Served; run > 0 && !others { // earlier attempts counted when they ended
		b.countOutrun(run, max(0, expected-l.Served), l)
	}
	own := stopped && !others || last && (r.Outcome == job.OutOfMemory || r.Breach != nil || r.Launch != "")
	toItsEnd := r.Outcome == job.Completed || r.Outcome == job.Failed || r.Outcome == job.TimedOut
	if last && toItsEnd || own && ran > expected {
		b.observe(l, true, now)
	} else {
		b.learnBound(l, now)
	}
}

// countOutrun notes how much longer than estimated an ended attempt ran.
func (b *Book) countOutrun(run, expected time.Duration, l *tracked.Job) {
	milli := l.Request.GPUMilli
	if milli == 0 {
		return
	}
	u := b.users[l.Account.UID]
	if u == nil {
		u = &optimism{}
		b.users[l.Account.UID] = u
	}
	u.observe(run, expected, milli)
	b.everybody.observe(run, expected, milli)
}

// LearnBounds learns from running jobs that have run longer than estimated.
func (b *Book) LearnBounds(now time.Time) {
	if b.policy.Predict != nil {
		return
	}
	for l := range b.jobs.Live() {
		if l.State == job.Running {
			b.learnBound(l, now)
		}
	}
}

// learnBound learns from a job that has run longer than estimated, and again whenever the job's run
// time has doubled. The job's record shows what was learned, so that a restart repeats nothing.
func (b *Book) learnBound(l *tracked.Job, now time.Time) {
	ran, taught := b.runTime(l, now), l.Taught
	if ran < ShortestLesson || ran < 2*taught || taught == 0 && ran <= b.Of(l).Median {
		return
	}
	l.Taught = ran
	b.mark(l)
	b.observe(l, false, now)
}

// runTime returns the job's run time over all attempts. If its command has not begun, it returns 0.
func (b *Book) runTime(l *tracked.Job, now time.Time) time.Duration {
	if l.Attempt == nil || l.Attempt.StartedAt.IsZero() {
		return 0
	}
	return l.Served + max(0, now.Sub(l.Attempt.StartedAt)-l.SuspendedFor(now))
}

func (b *Book) observe(l *tracked.Job, ended bool, now time.Time) {
	ran := b.runTime(l, now)
	if ran < ShortestLesson || b.policy.Predict != nil {
		return
	}
	for _, p := range b.predictor.Observe(l.Kind(), ran, ended, now) {
		b.record(job.Record{Prediction: &p})
	}
}

// LearnMost learns from an ended attempt, whatever the reason for its end: the job's run time over
// all attempts, and the most memory that the attempt took.
func (b *Book) LearnMost(l *tracked.Job, now time.Time) {
	took := b.usedSoFar(l, now)
	if took.Run < ShortestLesson || b.policy.Predict != nil {
		return
	}
	for _, p := range b.predictor.ObserveMost(l.Kind(), took, now) {
		b.record(job.Record{Prediction: &p})
	}
}

// usedSoFar returns a job's run time so far, over all attempts, and the most memory that its
// current or last attempt took.
func (b *Book) usedSoFar(l *tracked.Job, now time.Time) predict.Most {
	m := predict.Most{Run: b.runTime(l, now)}
	for _, u := range l.CurrentUses() {
		m.GPUMem = max(m.GPUMem, u.PeakBytes)
	}
	if a := l.Attempt; a != nil {
		m.HostMem = a.PeakMemBytes
	}
	return m
}

// Most returns the longest run time and the most memory of all runs of a job's command. Running
// jobs and the job's own earlier attempts count as well.
func (b *Book) Most(l *tracked.Job, now time.Time) predict.Most {
	kind := l.Kind()
	m := b.predictor.Most(kind).Max(predict.Most{Run: l.Served})
	for o := range b.jobs.Live() {
		if k := o.Kind(); k.UID == kind.UID && k.Shape == kind.Shape && k.Shape != "" {
			m = m.Max(b.usedSoFar(o, now))
		}
	}
	return m
}

// KnowsRuns reports whether enough runs of a job's command have ended to show what the command
// needs.
func (b *Book) KnowsRuns(l *tracked.Job) bool {
	return b.policy.Predict != nil || l.Kind().Shape != "" && b.Of(l).Ended >= TriedRuns
}

// LearnMemory learns from an ended attempt how much GPU memory its command takes. It returns the
// attempt's peak.
func (b *Book) LearnMemory(l *tracked.Job, ended bool, now time.Time) (peak int64) {
	for _, u := range l.CurrentUses() {
		peak = max(peak, u.PeakBytes)
	}
	if p := b.predictor.ObserveMemory(l.Kind(), peak, ended, now); p != nil {
		b.record(job.Record{Prediction: p})
	}
	return peak
}
