package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// recoverAll takes in the jobs that only their units know of. Those that run go
// first: the unit of one that has ended may still be there, with GPUs that were
// given on.
func (c *Core) recoverAll(e *Listed, now time.Time) {
	over := map[job.ID]bool{}
	for _, u := range e.Units {
		over[u.Job] = u.Phase == Exited
	}
	for _, ended := range []bool{false, true} {
		for _, j := range e.Recovered {
			if over[j.ID] == ended {
				c.recover(j, now)
			}
		}
	}
}

// recover takes in a running job that only its unit knows of. It holds its GPUs
// like any other and has its end, but never another start: what its command was
// is not known any more.
func (c *Core) recover(j job.Job, now time.Time) {
	if c.jobs[j.ID] != nil {
		return
	}
	j.Recovered = true
	a := *j.Attempt
	a.GPUs = slices.DeleteFunc(slices.Clone(a.GPUs), func(r job.GPURef) bool {
		taken := c.shareHeld(r.UUID)+r.Share() > job.WholeGPU
		if taken {
			j.Request.GPUMilli -= r.Share()
		}
		return taken
	})
	j.Attempt = &a
	c.enroll(j.Owner, j.Principal, now)
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
