package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/sched"
)

// chargeMachine has fair share count what running jobs have of the machine by the GPUs that
// there are now. Jobs that start before the first sample after a start of the daemon are
// charged as on a machine without GPUs, and would be until they end.
func (c *Core) chargeMachine(now time.Time) {
	if !c.systemd.listed() || !c.sharers.counted(c.gpus.count()) {
		return
	}
	var changed []*sched.Account
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		if charge := c.largestShare(l.job); charge != l.job.Charge {
			changed = c.recharge(l, charge, l.job.Shared, changed, now)
		}
	}
	for _, a := range changed {
		c.recordUsage(a, now)
	}
}
