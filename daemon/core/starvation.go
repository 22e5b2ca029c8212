package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// starvationGuard is the account of jobs that go first since they have waited long
// (Policy.GuardAfter). It earns a part of the machine's time and pays for what
// such jobs hold. While it owes nothing they go first and make no room for
// others. A daemon that starts again forgets the debt.
type starvationGuard struct {
	credit time.Duration // GPU time, at most 0
	at     time.Time     // up to which it has earned and paid
	milli  int           // that such jobs hold
}

// advance earns and pays up to now.
func (l *starvationGuard) advance(gpus int, p *sched.Policy, now time.Time) {
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

// open reports whether the lane owes nothing.
func (l *starvationGuard) open() bool { return l.credit >= 0 }

// start begins to earn and pay.
func (l *starvationGuard) start(now time.Time) { l.at = now }

// shift moves the time up to which it has earned and paid with a clock that was set.
func (l *starvationGuard) shift(by time.Duration, now time.Time) { l.at = moved(l.at, by, now) }

// addHeld counts what jobs that went first come to hold, or no longer do.
func (l *starvationGuard) addHeld(milli int) { l.milli += milli }

// held is what such jobs hold.
func (l *starvationGuard) held() int { return l.milli }

// countGuarded counts what a job that went first comes to hold, or no longer does.
func (c *Core) countGuarded(l *trackedJob, sign int, now time.Time) {
	if !l.job.Guarded {
		return
	}
	if c.systemd.listed() {
		c.starvation.advance(c.gpus.count(), &c.policy.Sched, now)
	}
	c.starvation.addHeld(sign * l.job.Request.GPUMilli)
}
