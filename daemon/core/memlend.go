package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// A job that named no host memory lends what it does not use, if the site wants that
// (site.Policy.MemReturn). It counts for the part that it has kept. Its unit keeps its limit, so it
// is never killed for having lent. Above the part that it has kept, the kernel slows it down, so
// that the machine's memory is not used twice. Once it comes near that part, it gets back what is
// free before any other job starts.

// followMemory lends or claims back the host memory of a job that used this much in a sample.
func followMemory(c *lifecycle, l *tracked.Job, used int64, now time.Time) {
	p, t := c.policy.MemReturn, l.Lifetime()
	if used <= 0 || p.Percent == 0 || !l.Request.DefaultedMem || l.State != job.Running || l.Stop != "" {
		return
	}
	if l.Park != job.NotParked { // it uses the memory for its copies, too
		return
	}
	if t.MemSince.IsZero() {
		t.MemSince = now
	}
	t.MemUsed = max(t.MemUsed, used)
	kept := l.Request.MemBytes - l.MemLent
	margin := max(kept/int64(100+p.Percent)*int64(p.Percent), memMarginLeast)
	low := withMargin(t.MemUsed, p.Percent)
	before := t.MemWanted
	switch t.MemWanted = l.MemLent > 0 && used > kept-margin/2; {
	case t.MemWanted:
		if !before {
			c.step.notifyOwner(l, job.Say("notice/mem-wanted", job.Size(used), job.Size(kept), job.Size(l.Request.MemBytes)))
		}
		t.MemSince = now
		c.step.replan()
	case now.Sub(t.MemSince) >= p.After && kept-low >= memMarginLeast:
		lendMemory(c, l, l.Request.MemBytes-low, now)
	}
}

// returnMemory gives jobs that want it the host memory that they lent, as far as it is free. If
// that is not enough, nothing is left for a new job.
func returnMemory(c *lifecycle, now time.Time) {
	for l := range c.jobs.Live() {
		wanted := l.MemLent > 0 && (l.Lifetime().MemWanted || c.policy.MemReturn.Percent == 0)
		if !wanted || l.State != job.Running || l.Stop != "" {
			continue
		}
		free := l.MemLent
		if c.policy.HostMemBytes > 0 {
			free = min(free, c.queue.Snapshot(now).MemLeft(false))
		}
		if free > 0 {
			lendMemory(c, l, l.MemLent-free, now)
		}
	}
}

func lendMemory(c *lifecycle, l *tracked.Job, lent int64, now time.Time) {
	before := l.MemLent
	moveMemory(c, l, func() { l.MemLent = lent }, now)
	c.step.markLent(l, before)
}
