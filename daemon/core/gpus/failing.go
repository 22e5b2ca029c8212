package gpus

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/retry"
)

// A GPU on which jobs of several users fail at once, one after the other, while jobs do well on
// other GPUs, is suspect: it takes no new job for a rest, after which one job is tried. Users whose
// jobs lately failed at once on other GPUs as well do not count, since then the jobs are at fault,
// unless they do well on more of the other GPUs. One user's jobs can be made to fail there, and may
// fail for a common cause: they count only if there are more of them, with different commands,
// while jobs that the user began since do well on other GPUs, and they make one GPU suspect at a
// time. A job on several GPUs that fails speaks against each of them, and one that does well speaks
// for each: the GPU with the most against it is suspect. If several have as much against them, that
// many times more jobs are needed. None of this is stored.
const (
	failsAtOnce = 30 * time.Second // a job that runs no longer fails at once
	didWell     = 10 * time.Minute // a job that ran longer did well, however it ended; between the two nothing is known
	doesWell    = 3 * time.Second  // a job elsewhere does well after this, and timesLonger than the failed ones ran
	timesLonger = 4
	didOften    = 3           // as many jobs that did well elsewhere, however short, count as one long job
	lately      = time.Minute // before the first failure, and since
	failsInARow = 3
	failsOfOne  = 6 // jobs of one user
	firstRest   = 10 * time.Minute
	lastRest    = 2 * time.Hour

	// pause is the time between two jobs on a GPU that becomes suspect if the jobs that have just
	// begun on other GPUs do well. Without it the GPU would fail every waiting job before that is
	// known.
	pause = time.Second
)

// failing is the jobs that failed at once on a GPU since a job last did well there.
type failing struct {
	jobs  int
	well  int // jobs that did well on other GPUs since the first failure
	of    []failer
	since time.Time     // of the first failure
	ran   time.Duration // the longest run
	rests int
	until time.Time      // the end of the present rest; zero: none
	next  time.Time      // no new job before; zero: at any time. See pause
	last  job.ID         // the job that caused the pause
	alone *sched.Account // the account whose jobs alone caused the rest; nil: several did
}

// failer is an account with jobs that failed at once on a GPU.
type failer struct {
	account *sched.Account
	jobs    int
	shape   string // of the first job
	unlike  bool   // another job had another command
}

// failure is a job that failed at once, with its GPUs.
type failure struct {
	at  time.Time
	had []*device
}

// with returns f with one more job.
func (f failing) with(l *tracked.Job, now time.Time) failing {
	if f.jobs == 0 {
		f.since, f.well = now, 0
	}
	f.jobs, f.ran = f.jobs+1, max(f.ran, now.Sub(l.Attempt.StartedAt))
	f.of = slices.Clone(f.of) // another with may share the list
	at := slices.IndexFunc(f.of, func(o failer) bool { return o.account == l.Account })
	if at < 0 {
		at, f.of = len(f.of), append(f.of, failer{account: l.Account, shape: l.Request.Shape})
	}
	f.of[at].jobs++
	f.of[at].unlike = f.of[at].unlike || l.Request.Shape != f.of[at].shape
	return f
}

// gpusOf returns the GPUs of a job whose command began, or none if one of them is no longer known.
func (b *inventory) gpusOf(j *job.Job) (list []*device) {
	if j.Attempt.StartedAt.IsZero() {
		return nil
	}
	for i := range j.Attempt.GPUs {
		at := b.Position(&j.Attempt.GPUs[i])
		if at < 0 {
			return nil
		}
		list = append(list, b.devices[at])
	}
	return list
}

// failedAtOnce reports whether a job, or its set-up, failed at once in a way for which one of its
// GPUs may be at fault. A job that chose its GPU does not count: somebody may have made it fail
// there on purpose.
func failedAtOnce(j *job.Job, r *job.Result, now time.Time) bool {
	q := &j.Request
	return now.Sub(j.Attempt.StartedAt) <= failsAtOnce && len(q.GPUIDs)+len(q.GPUsFrom)+len(q.ExcludeGPUs) == 0 &&
		(r.Launch == contract.StepFilter ||
			r.Outcome == job.Failed && (r.Launch == "" || r.Launch == contract.StepSetup) && r.Cause == "")
}

// Ended counts how a job did on its GPUs.
func (b *Book) Ended(l *tracked.Job, r *job.Result, now time.Time) {
	had := b.gpusOf(l.Job)
	switch {
	case len(had) == 0:
	case r.Outcome == job.Completed || now.Sub(l.Attempt.StartedAt) > didWell:
		b.well(had, l, now)
	case failedAtOnce(l.Job, r, now):
		culprit, f := b.judge(l, r, now, b.doWell)
		perhaps, _ := b.judge(l, r, now, b.mayDoWell)
		for _, d := range had {
			d.failing = d.failing.with(l, now)
			if d.failed == nil {
				d.failed = map[*sched.Account]failure{}
			}
			d.failed[l.Account] = failure{now, had}
		}
		switch {
		case culprit != nil && f.until.IsZero():
			f.rests++
			f.until = now.Add(retry.After(f.rests, firstRest, lastRest))
			culprit.failing = f
		case culprit == nil && perhaps != nil:
			perhaps.failing.last, perhaps.failing.next = l.ID, now.Add(pause)
		}
	}
}

// well notes that a job did well on its GPUs.
func (b *Book) well(had []*device, l *tracked.Job, now time.Time) {
	began := l.Attempt.StartedAt
	for _, other := range b.devices {
		f := &other.failing
		if f.well++; now.Sub(began) > f.doesWellAfter() {
			f.well = max(f.well, didOften)
		}
	}
	for _, d := range had {
		d.failing = failing{}
		if d.began == nil {
			d.began = map[*sched.Account]time.Time{}
		}
		d.began[l.Account] = began
	}
}

// doesWellAfter returns how long a job must run on another GPU to count as doing well there.
func (f *failing) doesWellAfter() time.Duration {
	return min(failsAtOnce, max(doesWell, timesLonger*f.ran))
}

// Culprit returns the index of the GPU at fault for a job that failed at once, which is, or
// becomes, suspect; -1: none.
func (b *inventory) Culprit(l *tracked.Job, r *job.Result, now time.Time) int {
	if d, _ := b.judge(l, r, now, b.doWell); d != nil {
		return d.Index
	}
	return -1
}

// judge returns the GPU at fault, if jobs do well on other GPUs, and its failures including this
// job; nil: none.
func (b *inventory) judge(l *tracked.Job, r *job.Result, now time.Time, doWell wellElsewhere) (*device, failing) {
	var had []*device
	if failedAtOnce(l.Job, r, now) {
		had = b.gpusOf(l.Job)
	}
	if len(had) == 0 {
		return nil, failing{}
	}
	worst := slices.MaxFunc(had, func(a, b *device) int {
		return cmp.Or(a.failing.rests-b.failing.rests, a.failing.jobs-b.failing.jobs)
	})
	alike := 0
	for _, d := range had {
		if d.failing.jobs >= worst.failing.jobs {
			alike++
		}
	}
	f := worst.failing.with(l, now)
	if !f.until.IsZero() || b.suspects(worst, &f, alike, now, doWell) {
		return worst, f
	}
	return nil, failing{}
}

// wellElsewhere reports whether jobs do well on GPUs other than one: those of an account, or all
// (nil).
type wellElsewhere func(than *device, a *sched.Account, f *failing, now time.Time) bool

// suspects reports whether the failures on a GPU are enough to rest it, if as many happened on a
// number of GPUs, this one included. For the job that is tried after a rest they are.
func (b *inventory) suspects(d *device, f *failing, alike int, now time.Time, doWell wellElsewhere) bool {
	counts := f.of
	if f.rests == 0 {
		counts = b.failOnlyOn(d, f, now)
	}
	if f.alone = nil; len(counts) > 1 && (f.jobs >= failsInARow*alike || f.rests > 0) && doWell(d, nil, f, now) {
		return true
	}
	for _, o := range counts {
		often := o.jobs >= failsOfOne*alike || f.rests > 0
		rests := slices.ContainsFunc(b.devices, func(d *device) bool { // since jobs of the account alone failed on it
			return d.failing.alone == o.account && !d.failing.until.IsZero()
		})
		if o.unlike && often && !rests && doWell(d, o.account, f, now) {
			f.alone = o.account
			return true
		}
	}
	return false
}

// doubtful returns a remark on a GPU that would be suspect if the jobs that failed on it did not
// have the same command: a user's sweep may be at fault, or the GPU.
func (b *inventory) doubtful(d *device, now time.Time) job.Message {
	f := &d.failing
	if f.jobs < failsOfOne || !f.until.IsZero() {
		return job.Message{}
	}
	for _, o := range b.failOnlyOn(d, f, now) {
		if o.jobs >= failsOfOne && b.doWell(d, o.account, f, now) {
			return job.Say("detail/doubtful", o.jobs, o.account.Name)
		}
	}
	return job.Message{}
}

// failOnlyOn returns the accounts whose jobs failed on a GPU and lately on no other, or do well on
// more of the others.
func (b *inventory) failOnlyOn(gpu *device, f *failing, now time.Time) (list []failer) {
	for _, o := range f.of {
		failed := func(d *device) bool {
			last := d.failed[o.account]
			return last.at.After(f.since.Add(-lately)) && !slices.Contains(last.had, gpu)
		}
		bad, well := 0, 0
		if slices.ContainsFunc(b.devices, failed) {
			for _, d := range b.devices {
				if b.wellOn(d, gpu, o.account, job.Later(f.since, d.failed[o.account].at), f.doesWellAfter(), now) {
					well++
				} else if failed(d) {
					bad++
				}
			}
		}
		if bad == 0 || well > bad {
			list = append(list, o)
		}
	}
	return list
}

// doWell reports whether a job does well on another GPU, or several have since the first failure;
// for an account only jobs that began since then count. A few short jobs may do well by chance.
func (b *inventory) doWell(than *device, a *sched.Account, f *failing, now time.Time) bool {
	return a == nil && f.well >= didOften || slices.ContainsFunc(b.devices, func(d *device) bool {
		return b.wellOn(d, than, a, f.since, f.doesWellAfter(), now)
	})
}

// mayDoWell reports whether a job runs on another GPU that may turn out to do well there.
func (b *inventory) mayDoWell(than *device, a *sched.Account, f *failing, now time.Time) bool {
	return slices.ContainsFunc(b.devices, func(d *device) bool { return b.wellOn(d, than, a, f.since, 0, now) })
}

// wellOn reports whether a job of an account that began after some time has done well on a GPU, or
// has run there for long and not on the other GPU. Without an account, any job that has run for
// long counts.
func (b *inventory) wellOn(d, than *device, a *sched.Account, since time.Time, long time.Duration, now time.Time) bool {
	if d == than || d.began[a].After(since) {
		return d != than
	}
	for l := range b.jobs.Live() {
		began := l.Attempt.StartedAt
		if b.jobs.Holds(l.ID, d.UUID) && !b.jobs.Holds(l.ID, than.UUID) && l.State == job.Running &&
			now.Sub(began) > long && (a == nil || l.Account == a && began.After(since)) {
			return true
		}
	}
	return false
}

// EndRests ends the rests and pauses that are over, and reports whether there were any: these GPUs
// take jobs again.
func (b *Book) EndRests(now time.Time) (any bool) {
	for _, d := range b.devices {
		for _, at := range []*time.Time{&d.failing.until, &d.failing.next} {
			if !at.IsZero() && !now.Before(*at) {
				*at, any = time.Time{}, true
			}
		}
	}
	return any
}

// Shift moves its times with a clock that was set.
func (b *Book) Shift(by time.Duration, now time.Time) {
	for _, d := range b.devices {
		for a, at := range d.began {
			d.began[a] = job.Shifted(at, by, now)
		}
		for a, last := range d.failed {
			d.failed[a] = failure{job.Shifted(last.at, by, now), last.had}
		}
		job.Shift(by, now, &d.failing.since, &d.failing.until, &d.failing.next)
		for dep := d.cleanup; dep != nil; dep = dep.earlier {
			job.Shift(by, now, &dep.since, &dep.next, &dep.began)
			job.Shift(by, now, &dep.ended.From, &dep.ended.To)
		}
	}
}
