package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// recoverAll adds the jobs that only their units know of. Those that run go
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

// recover adds a running job that only its unit knows of. It holds its GPUs
// like any other and has its end, but never another start: what its command was
// is not known any more.
func (c *Core) recover(j job.Job, now time.Time) {
	if l := c.jobs.get(j.ID); l != nil {
		c.reclaim(l, &j, now)
		return
	}
	j.Recovered, j.Began = true, true
	j.Attempt = c.untaken(&j)
	j.Charge = c.largestShare(&j)
	c.enroll(j.Owner, j.Principal, now)
	l := c.adopt(&j)
	c.jobs.claim(j.ID)
	c.jobs.sort(l)
	c.step.store(j.ID, &job.Payload{Program: contract.Program{EnvMode: contract.EnvClean, Dir: "/"}})
	c.charge(l, now)
	c.step.markDirty(l)
}

// reclaim notes that a job which is on record as waiting has a unit of a later
// attempt than any on record: an older copy of the state file was put back. The
// unit has the GPUs that it has, wherever the job would be placed now.
func (c *Core) reclaim(l *trackedJob, found *job.Job, now time.Time) {
	j := l.job
	known := j.Attempt != nil && j.Attempt.Number >= found.Attempt.Number
	if known || j.State != job.Queued || j.Tasks != nil || j.Owner.UID != found.Owner.UID {
		return
	}
	j.Attempt, l.unasked = c.untaken(found), false
	j.Held, j.HeldOver = "", false
	j.Request.GPUMilli, j.Request.TimeLimit = found.Request.GPUMilli, found.Request.TimeLimit
	j.Suspension = found.Suspension
	j.Shared = 0
	j.Charge = c.largestShare(j)
	c.move(l, job.Starting, now)
	c.charge(l, now)
}

// untaken is the attempt that a unit reports, without the GPUs that other jobs
// hold, which its job does not ask for then.
func (c *Core) untaken(j *job.Job) *job.Attempt {
	a := *j.Attempt
	a.GPUs = slices.DeleteFunc(slices.Clone(a.GPUs), func(r job.Allocation) bool {
		taken := c.jobs.shareHeld(r.UUID)+r.Share() > job.WholeGPU
		if taken {
			j.Request.GPUMilli -= r.Share()
		}
		return taken
	})
	return &a
}

// Unknown returns those of the ids that no job has which has a unit or may have
// one.
func (c *Core) Unknown(ids []job.ID) []job.ID {
	var unknown []job.ID
	for _, id := range ids {
		if c.jobs.active(id) == nil {
			unknown = append(unknown, id)
		}
	}
	return unknown
}
