package core

import "time"

// announceGPUs announces which GPUs have come into service or gone out of it. That jobs
// take them and leave them is announced with the jobs.
func (c *Core) announceGPUs(ev Event, now time.Time) {
	switch ev.(type) {
	case Sampled, Faulted, Command, Configured, Tick:
	default:
		return
	}
	for _, n := range c.gpus.News(now) {
		c.step.announce(n)
	}
}
