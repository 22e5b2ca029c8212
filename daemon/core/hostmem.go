package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// The host memory of a running job can change. The books never promise more than the units are
// limited to. So a job counts for a higher limit before its unit gets that limit, and for the old
// limit until its unit has a lower one.

// A job can't get less host memory than it uses and this margin.
const (
	memMarginPercent = 10
	memMarginLeast   = 64 << 20
)

// withMargin returns an amount of host memory plus a margin.
func withMargin(used int64, percent int) int64 {
	return job.RoundSizeUp(used + max(used/100*int64(percent), memMarginLeast))
}

// mayMoveMemory refuses another limit on the host memory of a running job if the job uses more, or
// if the memory is promised to others. The owner may not delay the jobs of others either.
func mayMoveMemory(c *state, l *tracked.Job, to int64, e *Command, now time.Time) *job.Refusal {
	if l.State != job.Running {
		return job.Refuse("conflict/mem-starts", l.Called())
	}
	old, has := l.Request.MemBytes, l.PromisedMem()
	if used := e.What.MemUsed; to > 0 && (old == 0 || to < old) && used > 0 {
		if least := withMargin(used, memMarginPercent); to < least {
			return job.Refuse("conflict/mem-used", l.Called(), job.Size(used), job.Size(least))
		}
	}
	more := to - has
	if more <= 0 {
		return nil
	}
	room := c.queue.Snapshot(now).MemLeft(len(l.Attempt.GPUs) == 0)
	if most := c.policy.MaxMemBytes; most > 0 {
		room = min(room, most-has)
	}
	for _, a := range l.Accounts() {
		if mem, _ := a.Promised(); a.MaxMem > 0 {
			room = min(room, a.MaxMem-mem)
		}
	}
	if more > room {
		return job.Refuse("conflict/mem-room", l.Called(), job.Size(has+max(0, room)))
	}
	end := c.queue.LatestEnd(l, now)
	w, delays := c.queue.DelaysOthers(l, end, end, more, now)
	if !delays || e.Who.Admin {
		return nil
	}
	fits := int64(0)
	for range 6 {
		half := fits + (more-fits)/2
		if _, delays = c.queue.DelaysOthers(l, end, end, half, now); delays {
			more = half
		} else {
			fits = half
		}
	}
	return job.Refuse("conflict/mem-waits", l.Called(), c.jobs.Called(w.Job), w.At.Time(), job.Size(has+fits))
}

// moveMemory changes what a running job has of the host's memory.
func moveMemory(c *lifecycle, l *tracked.Job, change func(), now time.Time) {
	c.accounts.ChangeHolding(l, func() {
		was := l.PromisedMem()
		l.MemMoved, l.MemHeld = true, 0
		if change(); l.PromisedMem() < was {
			l.MemHeld = was
		}
	}, now)
	c.step.markDirty(l)
	c.storeKept(l)
	setMemory(c, l)
	c.step.replan()
}

// setMemory makes a job's unit have the limit that is on record. Only one such change of a unit is
// under way at a time, since two could reach systemd in reverse order.
func setMemory(c *lifecycle, l *tracked.Job) {
	if t := l.Lifetime(); !t.Moving {
		t.Moving = true
		c.step.act(SetMemory{Job: l.ID, Attempt: l.Attempt.Number, Limit: l.UnitMem(), High: l.MemSlowed()})
	}
}

// memorySet handles the answer to setMemory. If the change failed, perhaps only its answer was lost:
// the next listing shows the unit's limit.
func memorySet(c *lifecycle, e MemorySet, now time.Time) {
	if l := c.jobs.Attempt(e.Job, e.Attempt); l != nil {
		if l.Lifetime().Moving = false; e.OK {
			compareMemory(c, l, e.Limit, e.High, now)
		}
	}
}

// compareMemory compares the memory limit of a job's unit with the record. They differ if the limit
// was changed again meanwhile, or if the daemon died or the bus failed during a change.
func compareMemory(c *lifecycle, l *tracked.Job, limit, high int64, now time.Time) {
	switch {
	case l.State != job.Running || !l.MemMoved:
		return
	case limit != l.UnitMem() || high != l.MemSlowed():
		setMemory(c, l)
		return
	case l.MemHeld != 0 && !l.Lifetime().Moving: // the job counted for its old limit until now
		c.accounts.ChangeHolding(l, func() { l.MemHeld = 0 }, now)
		c.step.markDirtyQuietly(l)
		c.storeKept(l)
		c.step.replan()
	}
	switch {
	case l.Lifetime().Moving: // the unit may have had this limit only before a change
	case isOutgrown(c, l, now):
		giveGPUs(c, l, nil, now) // the driver may hold its processes
	default:
		copyMemory(c, l)
	}
}
