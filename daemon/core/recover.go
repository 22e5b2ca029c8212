package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// recover takes in a running job that only its unit knows of. It holds its GPUs
// like any other and has its end, but never another start: what its command was
// is not known any more.
func (c *Core) recover(j job.Job, now time.Time) {
	if c.jobs[j.ID] != nil {
		return
	}
	j.Recovered = true
	l := c.adopt(j)
	c.nextID = max(c.nextID, j.ID+1)
	c.active[j.ID] = l
	c.payload[j.ID] = &job.Payload{EnvMode: job.EnvClean, Dir: "/"}
	c.charge(l, now)
	c.touch(l)
}

// Unknown returns those of the ids that no job has which has not ended.
func (c *Core) Unknown(ids []job.ID) []job.ID {
	var unknown []job.ID
	for _, id := range ids {
		if c.jobs[id] == nil {
			unknown = append(unknown, id)
		}
	}
	return unknown
}
