package gpus

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/retry"
)

// These constants define when a GPU is suspect: jobs of several users in a row fail at once on it,
// while jobs do well on other GPUs. A suspect GPU takes no new job for some time (a rest). Then it
// is tested with CUDA, and one job is tried. If a GPU would become suspect for the first time, but
// a test finds it well, it does not rest.
//
// If a user's jobs lately failed at once on other GPUs as well, the jobs are at fault, and the user
// does not count. The user does count, however, if the jobs do well on a larger number of other
// GPUs.
//
// Failures of a single user are weaker evidence: somebody can make jobs fail on purpose, and a
// user's jobs may fail for a common cause. So these failures count only if there are more of them,
// with different commands, and if later jobs of the user do well on other GPUs. They make only one
// GPU suspect at a time.
//
// If a job runs on several GPUs, its failure counts against each of them, and its success counts
// for each of them. The GPU with the most failures is the suspect one. If n GPUs have equally many,
// n times as many failures are needed. None of this is stored.
const (
	failsAtOnce = 30 * time.Second // a job that fails this soon fails at once
	didWell     = 10 * time.Minute // a longer job did well, even if it failed; failures after failsAtOnce prove nothing
	doesWell    = 3 * time.Second  // to do well on another GPU, a job must run this long
	timesLonger = 4                // and this many times as long as the failed jobs
	didOften    = 3                // this many jobs, however short, that did well on other GPUs count as one long job
	lately      = time.Minute      // failures this long before the first one also count
	failsInARow = 3
	failsOfOne  = 6 // like failsInARow, if all jobs belong to one user
	firstRest   = 10 * time.Minute
	lastRest    = 2 * time.Hour

	// pause is the time between two jobs on a GPU that may become suspect. It becomes suspect only
	// if jobs that have just begun on other GPUs do well. Without the pause, every waiting job
	// would fail on the GPU before that is known.
	pause = time.Second
)

// failedJobs describes the jobs that have failed at once on a GPU since a job last did well there.
type failedJobs struct {
	jobs  int
	well  int // how many jobs did well on other GPUs since the first failure
	of    []failer
	since time.Time     // the time of the first failure
	ran   time.Duration // the longest run of the failed jobs
	rests int
	until time.Time      // the end of the present rest; zero: none
	next  time.Time      // when the next job may start (see pause); zero: at any time
	last  job.ID         // the job that caused the pause
	alone *sched.Account // the account whose jobs alone caused the rest; nil: several accounts
}

// failer is an account with jobs that failed at once on a GPU.
type failer struct {
	account *sched.Account
	jobs    int
	shape   string // the command of the first job
	unlike  bool   // a later job had another command than the first
}

// failure is the time at which a job failed at once, and the job's GPUs.
type failure struct {
	at  time.Time
	had []*device
}

// addFailure returns a copy of f to which one failed job is added.
func (f failedJobs) addFailure(l *tracked.Job, now time.Time) failedJobs {
	if f.jobs == 0 {
		f.since, f.well = now, 0
	}
	f.jobs, f.ran = f.jobs+1, max(f.ran, now.Sub(l.Attempt.StartedAt))
	f.of = slices.Clone(f.of) // other copies of f may share the list
	at := slices.IndexFunc(f.of, func(o failer) bool { return o.account == l.Account })
	if at < 0 {
		at, f.of = len(f.of), append(f.of, failer{account: l.Account, shape: l.Request.Shape})
	}
	f.of[at].jobs++
	f.of[at].unlike = f.of[at].unlike || l.Request.Shape != f.of[at].shape
	return f
}

// gpusOf returns the GPUs that a job holds whose command began. If one of these GPUs is no longer
// known, it returns none of them.
func (b *inventory) gpusOf(j *job.Job) (list []*device) {
	if j.Attempt.StartedAt.IsZero() {
		return nil
	}
	for _, ref := range j.HeldGPUs() {
		at := b.Position(&ref)
		if at < 0 {
			return nil
		}
		list = append(list, b.devices[at])
	}
	return list
}

// failedAtOnce reports whether a job, or its set-up, failed at once in a way that may be the fault
// of one of its GPUs. A job that chose its GPU does not count: somebody may have made it fail there
// on purpose.
func failedAtOnce(j *job.Job, r *job.Result, now time.Time) bool {
	q := &j.Request
	return now.Sub(j.Attempt.StartedAt) <= failsAtOnce && len(q.GPUIDs)+len(q.GPUsFrom)+len(q.ExcludeGPUs) == 0 &&
		(r.Launch == contract.StepFilter ||
			r.Outcome == job.Failed && (r.Launch == "" || r.Launch == contract.StepSetup) && r.Cause == "")
}

// Ended notes for each GPU of an ended job whether the job did well or failed at once.
func (b *Book) Ended(l *tracked.Job, r *job.Result, now time.Time) {
	had := b.gpusOf(l.Job)
	switch {
	case len(had) == 0:
	case r.Outcome == job.Completed || now.Sub(l.Attempt.StartedAt) > didWell:
		b.recordWell(had, l, now)
	case failedAtOnce(l.Job, r, now):
		culprit, f := b.judge(l, r, now, b.doWell)
		perhaps, _ := b.judge(l, r, now, b.mayDoWell)
		for _, d := range had {
			d.failing = d.failing.addFailure(l, now)
			if d.failed == nil {
				d.failed = map[*sched.Account]failure{}
			}
			d.failed[l.Account] = failure{now, had}
		}
		switch {
		case culprit != nil && f.until.IsZero():
			if f.rests++; !b.isAcquitted(culprit, now) {
				f.until = now.Add(retry.After(f.rests, firstRest, lastRest))
			}
			culprit.failing = f
		case culprit == nil && perhaps != nil:
			perhaps.failing.last, perhaps.failing.next = l.ID, now.Add(pause)
		}
	}
}

// recordWell notes that a job did well on its GPUs.
func (b *Book) recordWell(had []*device, l *tracked.Job, now time.Time) {
	began := l.Attempt.StartedAt
	for _, other := range b.devices {
		f := &other.failing
		if f.well++; now.Sub(began) > f.doesWellAfter() {
			f.well = max(f.well, didOften)
		}
	}
	for _, d := range had {
		d.failing = failedJobs{}
		if d.began == nil {
			d.began = map[*sched.Account]time.Time{}
		}
		d.began[l.Account] = began
	}
}

// doesWellAfter returns how long a job must run on another GPU to count as doing well there.
func (f *failedJobs) doesWellAfter() time.Duration {
	return min(failsAtOnce, max(doesWell, timesLonger*f.ran))
}

// Culprit returns the index of the GPU that is to blame for a job that failed at once, and the
// reason. If no GPU is to blame, the index is -1. The GPU is sick or suspect already, or becomes
// suspect.
func (b *inventory) Culprit(l *tracked.Job, r *job.Result, now time.Time) (int, job.Message) {
	if failedAtOnce(l.Job, r, now) {
		for _, d := range b.gpusOf(l.Job) {
			if b.cudaFails(d) {
				return d.Index, job.Say("detail/blamed-cuda", d.Index)
			}
		}
	}
	if d, _ := b.judge(l, r, now, b.doWell); d != nil && !b.isAcquitted(d, now) {
		return d.Index, job.Say("detail/blamed", d.Index)
	}
	return -1, job.Message{}
}

// isAcquitted reports whether a GPU would now become suspect for the first time, but was found well
// by a test with CUDA. Such a GPU stays in service. If the next job fails on it at once, it rests.
func (b *inventory) isAcquitted(d *device, now time.Time) bool {
	return d.failing.rests == 0 && proves(b) && !d.proof.at.Before(now) && d.proof.silent.IsZero() && !b.cudaFails(d)
}

// judge returns the GPU at fault for a job's failure, with all failures on that GPU including this
// one. If no GPU is at fault, it returns nil. A GPU is at fault only if jobs do well on other GPUs.
func (b *inventory) judge(l *tracked.Job, r *job.Result, now time.Time, doWell wellElsewhere) (*device, failedJobs) {
	var had []*device
	if failedAtOnce(l.Job, r, now) {
		had = b.gpusOf(l.Job)
	}
	if len(had) == 0 {
		return nil, failedJobs{}
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
	f := worst.failing.addFailure(l, now)
	if !f.until.IsZero() || b.isSuspect(worst, &f, alike, now, doWell) {
		return worst, f
	}
	return nil, failedJobs{}
}

// wellElsewhere reports whether jobs do well on GPUs other than the given one. Only the jobs of the
// given account count. If the account is nil, all jobs count.
type wellElsewhere func(than *device, a *sched.Account, f *failedJobs, now time.Time) bool

// isSuspect reports whether the failures on a GPU are enough for a rest. The argument equals is the
// number of GPUs with as many failures as this GPU, and counts this GPU too. After a rest, only one
// job is tried, and its failure is enough.
func (b *inventory) isSuspect(d *device, f *failedJobs, equals int, now time.Time, doWell wellElsewhere) bool {
	counts := f.of
	if f.rests == 0 {
		counts = b.failOnlyOn(d, f, now)
	}
	if f.alone = nil; len(counts) > 1 && (f.jobs >= failsInARow*equals || f.rests > 0) && doWell(d, nil, f, now) {
		return true
	}
	for _, o := range counts {
		often := o.jobs >= failsOfOne*equals || f.rests > 0
		rests := slices.ContainsFunc(b.devices, func(d *device) bool { // whether a GPU rests because of this account alone
			return d.failing.alone == o.account && !d.failing.until.IsZero()
		})
		if o.unlike && often && !rests && doWell(d, o.account, f, now) {
			f.alone = o.account
			return true
		}
	}
	return false
}

// remarkOn returns a remark about a GPU on which many jobs of one user failed, all with the same
// command. Such a GPU is not suspect: the fault may lie with the user's jobs, or with the GPU.
func (b *inventory) remarkOn(d *device, now time.Time) job.Message {
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

// failOnlyOn returns the accounts whose jobs failed on a GPU, and on no other GPU lately. It also
// returns an account whose jobs failed on some other GPUs, if they do well on a larger number of
// other GPUs.
func (b *inventory) failOnlyOn(gpu *device, f *failedJobs, now time.Time) (list []failer) {
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

// doWell reports whether a job does well on another GPU. Since a few short jobs may do well by
// chance, jobs that have ended since the first failure suffice only if there are enough of them
// (didOften). If an account is given, only its jobs that began since the first failure count, and
// didOften does not apply.
func (b *inventory) doWell(than *device, a *sched.Account, f *failedJobs, now time.Time) bool {
	return a == nil && f.well >= didOften || slices.ContainsFunc(b.devices, func(d *device) bool {
		return b.wellOn(d, than, a, f.since, f.doesWellAfter(), now)
	})
}

// mayDoWell reports whether a job that runs on another GPU may turn out to do well there.
func (b *inventory) mayDoWell(than *device, a *sched.Account, f *failedJobs, now time.Time) bool {
	return slices.ContainsFunc(b.devices, func(d *device) bool { return b.wellOn(d, than, a, f.since, 0, now) })
}

// wellOn reports whether some job does well on a GPU (d) and does not use a second one (other). A
// job counts if it belongs to the account, began after the given time, and has done well on d or
// has run there for at least minRun. If the account is nil, each job that has run there for that
// long counts.
func (b *inventory) wellOn(
	d, other *device, a *sched.Account, after time.Time, minRun time.Duration, now time.Time,
) bool {
	if d == other || d.began[a].After(after) {
		return d != other
	}
	for l := range b.jobs.Live() {
		began := l.Attempt.StartedAt
		if b.jobs.Holds(l.ID, d.UUID) && !b.jobs.Holds(l.ID, other.UUID) && l.State == job.Running &&
			now.Sub(began) > minRun && (a == nil || l.Account == a && began.After(after)) {
			return true
		}
	}
	return false
}

// EndRests ends the rests and pauses whose time is over, and the tests that were not answered. It
// reports whether there were any. The GPUs of these rests, pauses and tests may take jobs again.
func (b *Book) EndRests(now time.Time) (any bool) {
	for _, d := range b.devices {
		if !d.proof.begun.IsZero() && now.Sub(d.proof.begun) >= proofLimit {
			b.Proved(&ProofEnded{UUID: d.UUID, Says: gpu.ProofUnknown, Text: "the test was not answered"}, now)
			any = true
		}
		for _, at := range []*time.Time{&d.failing.until, &d.failing.next} {
			if !at.IsZero() && !now.Before(*at) {
				if at == &d.failing.until {
					d.proof.wanted = true
				}
				*at, any = time.Time{}, true
			}
		}
	}
	return any
}

// Shift adjusts the recorded times after the clock was set.
func (b *Book) Shift(by time.Duration, now time.Time) {
	b.strangers.shift(by, now)
	for of, at := range b.excuses {
		b.excuses[of] = job.Shifted(at, by, now)
	}
	for _, d := range b.devices {
		for a, at := range d.began {
			d.began[a] = job.Shifted(at, by, now)
		}
		for a, last := range d.failed {
			d.failed[a] = failure{job.Shifted(last.at, by, now), last.had}
		}
		job.Shift(by, now, &d.failing.since, &d.failing.until, &d.failing.next)
		job.Shift(by, now, &d.proof.begun, &d.proof.at, &d.use.shared.at)
		for dep := d.cleanup; dep != nil; dep = dep.earlier {
			job.Shift(by, now, &dep.since, &dep.next, &dep.began)
			job.Shift(by, now, &dep.ended.From, &dep.ended.To)
		}
	}
}
