package core

import (
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
)

// configure applies a new policy.
func (c *Core) configure(p site.Policy) {
	c.policy = p
	for _, l := range c.jobs.SetSiteLanes(p.Lanes) {
		c.queue.Repush(l)
	}
	c.step.announce(job.Event{Kind: job.EventSettings})
	c.step.replan()
	c.accounts.Configured()
	c.troubles.UnbarAll()
	c.gpus.Configured()
	c.requestSample()
}
