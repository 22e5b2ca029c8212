package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// countIdle notes how long a job has not used one of its GPUs: no process of it
// is there, or those that are neither compute nor take or give back memory. A
// notebook or a debugger that stands still holds its memory and counts as idle;
// on a GPU that several jobs have, none does while it computes for any.
func (b *gpuBook) countIdle(p *gpuUse) {
	u, w := p.use, &b.policy.Usage
	if u.Computing || p.l.job.IsSuspended() {
		if u.IdleTold != 0 { // or a restart would find it idle still, and warned
			b.addFinding(useFound{p.l})
		}
		u.Idle, u.IdleTold = 0, 0
		return
	}
	u.Idle += p.span
	if w.Idle == Ignore || w.Idle.breaks(u.IdleGrace, w.IdleGrace) {
		u.IdleTold = 0 // as if it had not been said
	}
	if w.Idle != Ignore && u.IdleTold == 0 && u.Idle >= w.IdleAfter && p.l.job.Stop == "" {
		u.IdleTold, u.IdleGrace = u.Idle, w.Idle.grace(w.IdleGrace)
		b.addFinding(noticeFound{p.l, job.IdleWarning(p.l.job.ID, p.ref.Index, u.Idle, u.IdleGrace)})
	}
}

// findIdle finds the jobs that have used none of their GPUs for too long. All of
// these have to be in the sample that came just now.
func (b *gpuBook) findIdle(now time.Time) {
	if b.policy.Usage.Idle != WarnAndStop {
		return
	}
	for _, id := range b.jobs.activeIDs() {
		l := b.jobs.active(id)
		if l.job.State != job.Running || l.job.Stop != "" || l.job.IsSuspended() || len(l.job.Attempt.GPUs) == 0 {
			continue
		}
		if idle, at := b.idleFor(l, now); at >= 0 {
			breach := &job.Breach{GPU: l.job.Attempt.GPUs[at].Index, Idle: idle}
			b.addFinding(stopFound{job: id, cause: job.StopIdle, breach: breach})
		}
	}
}

// idleFor is how long a job has used none of its GPUs, and which of them it used
// last; -1 where it may still go on, or where that is not known of all of them.
func (b *gpuBook) idleFor(l *trackedJob, now time.Time) (idle time.Duration, last int) {
	uses := l.currentUses()
	for i := range uses {
		at, u := b.position(&l.job.Attempt.GPUs[i]), &uses[i]
		if at < 0 || !b.devices[at].watched.Equal(now) || u.IdleTold == 0 || u.Idle < u.IdleTold+b.policy.Usage.IdleGrace {
			return 0, -1
		}
		if i == 0 || u.Idle < idle {
			idle, last = u.Idle, i
		}
	}
	return idle, last
}
