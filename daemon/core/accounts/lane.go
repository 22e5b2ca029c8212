package accounts

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// lane is the account of jobs that go first since they have waited long
// (Policy.GuardAfter). It earns a part of the machine's time and pays for what
// such jobs hold. While it owes nothing they go first and make no room for
// others. A daemon that starts again forgets the debt.
type lane struct {
	credit time.Duration // GPU time, at most 0
	at     time.Time     // up to which it has earned and paid
	milli  int           // that such jobs hold
}

// advance earns and pays up to now.
func (l *lane) advance(gpus int, p *sched.Policy, now time.Time) {
	passed := now.Sub(l.at)
	if passed <= 0 {
		return // a clock that went back changes nothing
	}
	if gpus == 0 {
		l.at = now // no sample yet, so what it earns is unknown
		return
	}
	rate := float64(gpus)*float64(p.GuardPercent)/100 - float64(l.milli)/job.WholeGPU
	l.credit = time.Duration(min(0, float64(l.credit)+rate*float64(passed)))
	l.at = now
}

// countGuarded counts what a job that went first comes to hold, or no longer does.
func (b *Book) countGuarded(l *tracked.Job, sign int, now time.Time) {
	if !l.Guarded {
		return
	}
	if b.shell.Listed() {
		b.lane.advance(b.gpus.Count(), &b.policy.Sched, now)
	}
	b.lane.milli += sign * l.Request.GPUMilli
}

// LaneOpen reports whether the lane owes nothing by now.
func (b *Book) LaneOpen(now time.Time) bool {
	b.lane.advance(b.gpus.Count(), &b.policy.Sched, now)
	return b.lane.credit >= 0
}
