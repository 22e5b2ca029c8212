package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// patience is until when running jobs are counted on late (sched.Running.Late), so that more
// others pass the jobs for which GPUs are kept. Left to itself each of a stream of like jobs
// would pass the job that the last one had just passed, and that job's planned start would
// recede for ever. So a job is passed like that only for Policy.Patience times as long as it is
// expected to run itself, from when GPUs are kept for it; then running jobs are counted on by what
// is expected of them. It is not on record: at a restart that time begins anew.
type patience struct {
	jobs []passedJob
}

// passedJob is a waiting job for which GPUs are kept, or were.
type passedJob struct {
	id    job.ID
	kept  bool          // by the last pass
	since sched.Instant // the first that kept some
	until sched.Instant // so long it is passed
}

// maxPassed bounds how many jobs are remembered for which GPUs are not kept now.
const maxPassed = 64

// until is the latest moment for which running jobs are counted on late.
func (p *patience) until() sched.Instant {
	until := sched.Never
	for _, x := range p.jobs {
		if x.kept {
			until = min(until, x.until)
		}
	}
	return until
}

// note takes over for which jobs a pass keeps GPUs; long says for how long each is passed.
func (p *patience) note(kept []sched.BackfillReservation, long func(job.ID) time.Duration, now sched.Instant) {
	for i := range p.jobs {
		p.jobs[i].kept = false
	}
	for _, k := range kept {
		x := p.of(k.Job, now)
		x.kept = true
		x.until = x.since.Add(long(k.Job))
	}
}

// shift moves what lies in the past or was counted from there with a clock that was set.
func (p *patience) shift(by time.Duration) {
	for i := range p.jobs {
		p.jobs[i].since, p.jobs[i].until = p.jobs[i].since.Add(by), p.jobs[i].until.Add(by)
	}
}

// of is the job's entry; one that has none begins now.
func (p *patience) of(id job.ID, now sched.Instant) *passedJob {
	at := slices.IndexFunc(p.jobs, func(x passedJob) bool { return x.id == id })
	if at < 0 {
		at = len(p.jobs)
		p.jobs = append(p.jobs, passedJob{id: id, since: now, until: now})
	}
	return &p.jobs[at]
}

// forget drops the jobs that wait no more, and of too many the oldest.
func (p *patience) forget(waits func(job.ID) bool) {
	p.jobs = slices.DeleteFunc(p.jobs, func(x passedJob) bool { return !waits(x.id) })
	for len(p.jobs) > maxPassed {
		at := slices.IndexFunc(p.jobs, func(x passedJob) bool { return !x.kept })
		if at < 0 {
			return
		}
		p.jobs = slices.Delete(p.jobs, at, at+1)
	}
}

// passed notes for which jobs a pass keeps GPUs.
func (p *planning) passed(kept []sched.BackfillReservation, times int, now sched.Instant) {
	if times > 0 {
		p.patience.forget(p.Has)
		p.patience.note(kept, func(id job.ID) time.Duration { return time.Duration(times) * p.Expected(id) }, now)
	}
}

// countedUntil is the latest moment for which running jobs are counted on late.
func (p *planning) countedUntil() sched.Instant { return p.patience.until() }

// shift follows a clock that was set.
func (p *planning) shift(by time.Duration) { p.patience.shift(by) }
