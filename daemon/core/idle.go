package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// countIdle notes how long a job has not used one of its GPUs: no process of it
// is there, or those that are neither compute nor take or give back memory. A
// notebook or a debugger that stands still holds its memory and counts as idle;
// on a GPU that several jobs have, none does while it computes for any.
func (c *Core) countIdle(p *part) {
	u, w := p.use, &c.policy.Watch
	if u.Computing {
		if u.IdleTold != 0 { // or a restart would find it idle still, and warned
			c.step.touchQuietly(p.l)
		}
		u.Idle, u.IdleTold = 0, 0
		return
	}
	u.Idle += p.span
	if w.Idle == Ignore || w.Idle.breaks(u.IdleGrace, w.IdlePatience) {
		u.IdleTold = 0 // as if it had not been said
	}
	if w.Idle != Ignore && u.IdleTold == 0 && u.Idle >= w.IdleAfter && p.l.job.Stop == "" {
		u.IdleTold, u.IdleGrace = u.Idle, w.Idle.grace(w.IdlePatience)
		c.step.tell(p.l, job.IdleWarning(p.l.job.ID, p.ref.Index, u.Idle, u.IdleGrace))
	}
}

// endIdle stops the jobs that have used none of their GPUs for too long. All of
// these have to be in the sample that came just now.
func (c *Core) endIdle(now time.Time) {
	w := &c.policy.Watch
	if w.Idle != StopIt {
		return
	}
	for _, id := range slices.Clone(c.jobs.activeIDs()) {
		l := c.jobs.active(id)
		if l.job.State != job.Running || l.job.Stop != "" || len(l.job.Attempt.GPUs) == 0 {
			continue
		}
		if idle, at := c.idleFor(l, now); at >= 0 {
			l.job.Breach = &job.Breach{GPU: l.job.Attempt.GPUs[at].Index, Idle: idle}
			c.halt(l, job.StopIdle, "", now)
		}
	}
}

// idleFor is how long a job has used none of its GPUs, and which of them it used
// last; -1 where it may still go on, or where that is not known of all of them.
func (c *Core) idleFor(l *live, now time.Time) (idle time.Duration, last int) {
	uses := l.track()
	for i := range uses {
		at, u := c.gpus.position(&l.job.Attempt.GPUs[i]), &uses[i]
		if at < 0 || !c.gpus.devices[at].watched.Equal(now) || u.IdleTold == 0 || u.Idle < u.IdleTold+c.policy.Watch.IdlePatience {
			return 0, -1
		}
		if i == 0 || u.Idle < idle {
			idle, last = u.Idle, i
		}
	}
	return idle, last
}
