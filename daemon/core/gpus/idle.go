package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// countIdle notes how long a job has not used one of its GPUs: no process of it
// is there, or those that are neither compute nor take or give back memory. A
// notebook or a debugger that stands still holds its memory and counts as idle;
// on a GPU that several jobs have, none does while it computes for any.
func (b *Book) countIdle(p *gpuUse) {
	u, w := p.use, &b.policy.Usage
	if u.Computing || p.l.IsSuspended() {
		if u.IdleTold != 0 { // or a restart would find it idle still, and warned
			b.addFinding(UseFound{p.l})
		}
		u.Idle, u.IdleTold = 0, 0
		return
	}
	u.Idle += p.span
	if w.Idle == site.Ignore || w.Idle.Breaks(u.IdleGrace, w.IdleGrace) {
		u.IdleTold = 0 // as if it had not been said
	}
	if w.Idle != site.Ignore && u.IdleTold == 0 && u.Idle >= w.IdleAfter && p.l.Stop == "" {
		u.IdleTold, u.IdleGrace = u.Idle, w.Idle.Grace(w.IdleGrace)
		b.addFinding(NoticeFound{p.l, job.IdleWarning(p.l.ID, p.ref.Index, u.Idle, u.IdleGrace)})
	}
}

// FindIdle finds the jobs that have used none of their GPUs for too long. All of
// these have to be in the sample that came just now.
func (b *Book) FindIdle(now time.Time) {
	if b.policy.Usage.Idle != site.WarnAndStop {
		return
	}
	for _, id := range b.jobs.ActiveIDs() {
		l := b.jobs.Active(id)
		if l.State != job.Running || l.Stop != "" || l.IsSuspended() || len(l.Attempt.GPUs) == 0 {
			continue
		}
		if idle, at := b.idleFor(l, now); at >= 0 {
			breach := &job.Breach{GPU: l.Attempt.GPUs[at].Index, Idle: idle}
			b.addFinding(StopFound{Job: id, Cause: job.StopIdle, Breach: breach})
		}
	}
}

// idleFor is how long a job has used none of its GPUs, and which of them it used
// last; -1 where it may still go on, or where that is not known of all of them.
func (b *inventory) idleFor(l *tracked.Job, now time.Time) (idle time.Duration, last int) {
	uses := l.CurrentUses()
	for i := range uses {
		at, u := b.Position(&l.Attempt.GPUs[i]), &uses[i]
		if at < 0 || !b.devices[at].watched.Equal(now) || u.IdleTold == 0 || u.Idle < u.IdleTold+b.policy.Usage.IdleGrace {
			return 0, -1
		}
		if i == 0 || u.Idle < idle {
			idle, last = u.Idle, i
		}
	}
	return idle, last
}
