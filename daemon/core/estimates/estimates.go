package estimates

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Book is what has been learned of run times and memory. Of runs it asks the predictor, unless the site's
// policy foretells them, and of a user whose jobs outrun what is expected it expects more.
type Book struct {
	policy *site.Policy
	jobs   *tracked.Book
	record func(job.Record)
	mark   func(l *tracked.Job) // has a job recorded, and not logged

	predictor *sched.Predictor
	users     map[int]*optimism // by uid
	everybody optimism

	memo   map[sched.Kind]*sched.Estimate
	memoOf uint64 // the generation of the predictor that they are of
}

func NewBook(
	p *site.Policy, jobs *tracked.Book, record func(job.Record), mark func(*tracked.Job), past []job.Prediction,
) Book {
	return Book{
		policy: p, jobs: jobs, record: record, mark: mark,
		predictor: sched.NewPredictor(past), users: map[int]*optimism{},
	}
}

// maxMemo is how many estimates are kept for the next who asks.
const maxMemo = 1024

// Of is what is expected of a job's run time.
func (b *Book) Of(l *tracked.Job) *sched.Estimate {
	if b.policy.Predict != nil {
		return &sched.Estimate{Median: b.policy.Predict(l.ID), Ended: TriedRuns, Known: true}
	}
	if g := b.predictor.Generation(); b.memoOf != g || len(b.memo) >= maxMemo {
		b.memo, b.memoOf = map[sched.Kind]*sched.Estimate{}, g
	}
	k := l.Kind()
	e := b.memo[k]
	if e == nil {
		e = new(b.predictor.Estimate(k))
		b.memo[k] = e
	}
	return e
}

// Memory is how much GPU memory runs of a kind are known to take, 0: nothing is known.
func (b *Book) Memory(k sched.Kind) int64 { return b.predictor.Memory(k) }

// Generation changes whenever something is learned of run times.
func (b *Book) Generation() uint64 { return b.predictor.Generation() }

// TriedRuns is how many jobs of a kind must have ended before one makes room for others
// like it: until then none would end, and nothing would be learned of them.
const TriedRuns = 5

// ShortestLesson is how long a run must have taken to teach anything: what ends sooner
// has not done what it was made for, or was made to teach what is not so.
const ShortestLesson = 2 * time.Second

// ExpectedRun is how long a queued job is expected to run, with what it has run before.
func (b *Book) ExpectedRun(l *tracked.Job) time.Duration {
	return b.runOf(l, b.Of(l).Total)
}

// LateRun is what one in five jobs like it exceeds; 0 where that is not asked.
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

// Effort is what a job that may be stopped for others is ranked by, see Estimate.Effort, its kind whatever the
// command, and whether too few of its kind have ended.
func (b *Book) Effort(l *tracked.Job, ran time.Duration) (time.Duration, sched.Kind, bool) {
	e, program := b.Of(l), l.Kind()
	program.Shape = ""
	return e.Effort(ran, b.policy.Sched.Slice), program, e.Ended < TriedRuns
}

// ExpectedEnd is when the current attempt of a job will end, at its limit at
// the latest.
func (b *Book) ExpectedEnd(l *tracked.Job, now time.Time) time.Time {
	return b.endAfter(l, b.Of(l).Total, now)
}

// LateEnd is the moment before which four of five such jobs have ended.
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

// Learn notes how long a job ran, where it came to its end by itself, or else that it runs
// at least so long: a job that is to have another attempt has not come to its end,
// whatever ended this one. So an attempt that failed after hours and is retried says that
// such jobs run for hours, and one that failed at once says nothing. Nor does a launch
// that failed, or a GPU that was lost: that was not the job's doing. A time limit
// is an end, as of jobs that always run to it nothing else would ever be known. So is
// whatever else the job or its owner brought about, once it has run for longer than expected:
// else a long run would look short that its owner cancels as its work is done. What is
// cancelled early was given up. A launch that took so long counts, too: a set-up can do the
// work, or the command end as a launch does that failed.
func (b *Book) Learn(l *tracked.Job, r *job.Result, last bool, now time.Time) {
	ran, expected := b.ran(l, now), b.Of(l).Median
	if r.Launch != "" && ran <= expected || r.Cause == job.StopGPULost {
		return
	}
	stopped := r.Outcome == job.Cancelled && (r.Cause == "" || r.Cause == job.StopRequeue)
	others := stopped && r.By != l.Owner.User && r.By != l.Person().User
	if run := ran - l.Served; run > 0 && !others { // what it had run before was taken in then
		b.count(run, max(0, expected-l.Served), l)
	}
	own := stopped && !others || last && (r.Outcome == job.OutOfMemory || r.Breach != nil || r.Launch != "")
	toItsEnd := r.Outcome == job.Completed || r.Outcome == job.Failed || r.Outcome == job.TimedOut
	if last && toItsEnd || own && ran > expected {
		b.observe(l, true, now)
	} else {
		b.learnBound(l, now)
	}
}

// count notes by how much an attempt that is over outran what was expected of it.
func (b *Book) count(run, expected time.Duration, l *tracked.Job) {
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

// LearnBounds notes which running jobs outlast what was expected.
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

// learnBound notes that a job outlasts what was expected, and again whenever it has run
// twice as long. That is on record, so that a restart teaches nothing twice.
func (b *Book) learnBound(l *tracked.Job, now time.Time) {
	ran, taught := b.ran(l, now), l.Taught
	if ran < ShortestLesson || ran < 2*taught || taught == 0 && ran <= b.Of(l).Median {
		return
	}
	l.Taught = ran
	b.mark(l)
	b.observe(l, false, now)
}

// ran is how long the job has run in all; 0: its command has not begun.
func (b *Book) ran(l *tracked.Job, now time.Time) time.Duration {
	if l.Attempt == nil || l.Attempt.StartedAt.IsZero() {
		return 0
	}
	return l.Served + max(0, now.Sub(l.Attempt.StartedAt)-l.Rest(now))
}

func (b *Book) observe(l *tracked.Job, ended bool, now time.Time) {
	ran := b.ran(l, now)
	if ran < ShortestLesson || b.policy.Predict != nil {
		return
	}
	for _, p := range b.predictor.Observe(l.Kind(), ran, ended, now) {
		b.record(job.Record{Prediction: &p})
	}
}

// LearnMost notes what an attempt took that is over, however it ended.
func (b *Book) LearnMost(l *tracked.Job, now time.Time) {
	took := b.took(l, now)
	if took.Run < ShortestLesson || b.policy.Predict != nil {
		return
	}
	for _, p := range b.predictor.ObserveMost(l.Kind(), took, now) {
		b.record(job.Record{Prediction: &p})
	}
}

// took is what a job has taken until now, in its current attempt or the last.
func (b *Book) took(l *tracked.Job, now time.Time) sched.Most {
	m := sched.Most{Run: b.ran(l, now)}
	for _, u := range l.CurrentUses() {
		m.GPUMem = max(m.GPUMem, u.PeakBytes)
	}
	if a := l.Attempt; a != nil {
		m.HostMem = a.PeakMemBytes
	}
	return m
}

// Most is the most that runs of a job's command took, those that go on and its own earlier
// attempts among them.
func (b *Book) Most(l *tracked.Job, now time.Time) sched.Most {
	kind := l.Kind()
	m := b.predictor.Most(kind).Max(sched.Most{Run: l.Served})
	for o := range b.jobs.Live() {
		if k := o.Kind(); k.UID == kind.UID && k.Shape == kind.Shape && k.Shape != "" {
			m = m.Max(b.took(o, now))
		}
	}
	return m
}

// KnowsRuns reports whether so many runs of a job's command have ended that they tell what it needs.
func (b *Book) KnowsRuns(l *tracked.Job) bool {
	return b.policy.Predict != nil || l.Kind().Shape != "" && b.Of(l).Ended >= TriedRuns
}

// LearnMemory learns from an attempt that is over how much GPU memory its command takes, and
// returns the most that it took.
func (b *Book) LearnMemory(l *tracked.Job, ended bool, now time.Time) (peak int64) {
	for _, u := range l.CurrentUses() {
		peak = max(peak, u.PeakBytes)
	}
	if p := b.predictor.ObserveMemory(l.Kind(), peak, ended, now); p != nil {
		b.record(job.Record{Prediction: p})
	}
	return peak
}
