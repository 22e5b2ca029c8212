package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// lane is the account of jobs that have waited long (Policy.GuardAfter). It
// earns a part of the machine's time and pays for each start what the job is
// expected to use; while it owes nothing, such jobs go first. A machine that is
// restarted forgets the debt.
type lane struct {
	credit time.Duration // GPU time, at most 0
	at     time.Time
}

// open earns up to now and tells whether the lane owes nothing.
func (l *lane) open(gpus int, p *sched.Policy, now time.Time) bool {
	if passed := now.Sub(l.at); passed > 0 {
		earned := float64(passed) * float64(gpus) * float64(p.GuardPercent) / 100
		l.credit = time.Duration(min(0, float64(l.credit)+earned))
		l.at = now
	}
	return l.credit >= 0
}

func (l *lane) pay(expected time.Duration, milli int) {
	l.credit -= expected / job.WholeGPU * time.Duration(milli)
}
