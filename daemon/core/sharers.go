package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Of a GPU of which a part is given out no job gets the whole. While a job waits that
// asks whole GPUs and could have it, fair share therefore counts all of the GPU for
// those who share it, in proportion to their parts. What is counted is on record with
// each job, and so is, whenever it changes, what its accounts have used up to then: a
// restart changes nothing.

// rechargeEvery is how often what is counted may change: each change is written.
const rechargeEvery = time.Minute

// sharers is when what is counted for shared GPUs was last looked at, and by how many GPUs
// the machine was counted.
type sharers struct {
	at     time.Time
	wanted []bool // memory that is used again
	gpus   int
}

// counted notes how many GPUs there are, and reports whether these are others than the
// last that were known. None are not known.
func (s *sharers) counted(gpus int) (news bool) {
	if gpus == 0 || gpus == s.gpus {
		return false
	}
	s.gpus = gpus
	return true
}

// next is when it may be looked at again.
func (s *sharers) next(now time.Time) time.Time {
	if now.Before(s.at) {
		return now // the clock was set back
	}
	return s.at.Add(rechargeEvery)
}

// look notes that it is looked at, and returns memory to work in.
func (s *sharers) look(now time.Time) []bool {
	s.at = now
	s.wanted = slices.Grow(s.wanted[:0], 16)
	return s.wanted
}

// chargeSharers has fair share count what the GPUs that jobs share cost the others now.
func (c *Core) chargeSharers(now time.Time) {
	sums := c.jobs.chargedOfParts()
	if !c.systemd.listed() || c.gpus.count() == 0 || len(sums) == 0 {
		return
	}
	if at := c.sharers.next(now); at.After(now) {
		c.planning.replanBy(at)
		return
	}
	wanted := c.planning.Wanted(c.snapshot(now), c.sharers.look(now))
	var changed []*sched.Account
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		if shared := c.sharedRate(l.job, sums, wanted); shared != l.job.Shared {
			changed = c.recharge(l, l.job.Charge, shared, changed, now)
		}
	}
	for _, a := range changed {
		c.recordUsage(a, now)
	}
}

// chargedOfParts sums up, by UUID, what is counted of the GPUs that are shared.
func (b *jobBook) chargedOfParts() map[string]int {
	sums := map[string]int{}
	for _, l := range b.placed {
		for _, g := range l.job.Attempt.GPUs {
			if g.Milli > 0 {
				sums[g.UUID] += max(g.ChargeMilli, g.Share())
			}
		}
	}
	return sums
}

// sharedRate is what the GPUs of a job count with its part of what is left of those
// that others want whole; 0 where that is what they count anyway.
func (c *Core) sharedRate(j *job.Job, sums map[string]int, wanted []bool) int {
	rate := 0
	for _, g := range j.Attempt.GPUs {
		own := max(g.ChargeMilli, g.Share())
		at := c.gpus.position(&g)
		if all := sums[g.UUID]; g.Milli > 0 && at >= 0 && wanted[at] && all < job.WholeGPU {
			own = (own*job.WholeGPU + all - 1) / all
		}
		rate += own
	}
	if rate <= gpuRate(j.Attempt.GPUs) {
		return 0
	}
	return rate
}

// recharge counts another rate of a job from now on, of the machine or of the GPUs that
// it shares, and adds to the accounts for which that makes a difference.
func (c *Core) recharge(l *trackedJob, charge, shared int, changed []*sched.Account, now time.Time) []*sched.Account {
	was := rateOf(l.job)
	l.job.Charge, l.job.Shared = charge, shared
	c.step.markDirtyQuietly(l)
	more := rateOf(l.job).Charge - was.Charge
	for _, a := range l.accounts() {
		if more == 0 {
			break
		}
		a.Recharge(more, sched.At(now), c.policy.Sched.HalfLife)
		if !slices.Contains(changed, a) {
			changed = append(changed, a)
		}
	}
	return changed
}
