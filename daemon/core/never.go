package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxKinds bounds how many kinds of jobs Hopeless looks at: it takes some milliseconds.
const maxKinds = 5000

// Hopeless are the jobs in the queue that can't start as things are.
type Hopeless struct {
	Jobs  int
	First string // what people call the first of them
	Why   job.Message
	id    job.ID
}

// Hopeless sums up the jobs in the queue that ask for more than the machine has, and those that ask for more
// than a quota allows.
func (c *state) Hopeless(now time.Time) (machine, quota Hopeless) {
	have, seen := c.queue.snapshot(now), 0
	for id, n := range c.queue.Kinds() {
		if seen++; seen > maxKinds {
			break
		}
		l := c.jobs.Get(id)
		if why := have.Never(l.Account, &l.Request); why != nil {
			h := &quota
			if have.Never(nil, &l.Request) != nil { // for anybody
				h = &machine
			}
			if h.Jobs += n; h.id == 0 || id < h.id {
				h.id, h.First, h.Why = id, l.Called(), why.Message
			}
		}
	}
	return machine, quota
}
