package gpus

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// warnAgainAfter is the time after which a job that still exceeds its budget is warned again.
const warnAgainAfter = time.Hour

// mayStop reports whether the job may be stopped now for exceeding its budget on this GPU. A
// suspended job can't be warned, so it may be stopped only if it was warned before.
func (p *gpuUse) mayStop() bool {
	j := p.l.Job
	runs := j.State == job.Running && j.Stop == "" && !(j.IsSuspended() && p.use.OverWarned.IsZero())
	return !p.over && runs && p.ref.Budget() > 0 && p.use.UsedBytes >= 0
}

// countOver notes for how long a job has exceeded its budget, and warns the job once. The excess
// begins when the use is above the budget plus the tolerance. It ends when the use is within the
// budget.
func (b *Book) countOver(p *gpuUse, now time.Time) {
	u, w := p.use, &b.policy.Usage
	over, anew := !u.OverSince.IsZero(), !u.OverWarned.IsZero() && w.Memory.Breaks(u.OverGrace, w.MemoryGrace)
	switch {
	case w.Memory == site.Ignore || p.mayStop() && u.UsedBytes <= p.ref.Budget():
		u.OverSince, u.Over = time.Time{}, 0
	case !p.mayStop():
	case over && !anew:
		if p.memKnown {
			u.Over += p.span
		}
	case over || u.UsedBytes > p.ref.Budget()+w.Tolerance:
		u.OverSince, u.Over = now, 0
		if since := now.Sub(u.OverWarned); anew || u.OverWarned.IsZero() || since < 0 || since >= warnAgainAfter {
			u.OverWarned, u.OverGrace = now, w.Memory.Grace(w.MemoryGrace)
			b.addFinding(NoticeFound{p.l, job.OverWarning(p.ref.Index, u.UsedBytes, p.ref.Budget(), u.OverGrace)})
		}
	}
}

// enforceBudgets finds jobs to stop because they exceed their budgets, those with the largest
// excess first. It continues until enough memory is free for what other jobs were promised and do
// not use yet. Two samples in a row must show that too little memory is free. The driver does not
// report free memory and the memory of each process at the same moment. So in a single sample, a
// process that is just taking or freeing memory would look like a shortage.
func (b *Book) enforceBudgets(d *device, parts []gpuUse) {
	for _, p := range d.Processes {
		if p.Dead {
			d.use.short = false // nobody knows whose memory a dead process uses
			return
		}
	}
	was := d.use.short
	victim := shortestJob(d, parts)
	for d.use.short = victim != 0; was && victim != 0; victim = shortestJob(d, parts) {
		worst := b.worstOffender(parts)
		if worst == nil {
			return
		}
		worst.over = true
		breach := &job.Breach{GPU: worst.ref.Index, UsedBytes: worst.use.UsedBytes, BudgetBytes: worst.ref.Budget()}
		b.addFinding(StopFound{Job: worst.l.ID, Cause: job.StopGPUMem, Breach: breach, Victim: victim})
	}
}

// shortestJob returns the job that lacks the largest amount of its promised memory. If enough
// memory is free for the promises to all jobs, it returns 0. The memory of jobs that are being
// stopped counts as free.
func shortestJob(d *device, parts []gpuUse) job.ID {
	free, owed, most, victim := int64(d.MemFreeBytes), int64(0), int64(0), job.ID(0)
	for i := range parts {
		p := &parts[i]
		if p.over || p.l.Stop != "" || p.l.State == job.Ending {
			free += max(0, p.use.UsedBytes)
			continue
		}
		if p.use.UsedBytes < 0 {
			continue // if the use is unknown, it proves nothing
		}
		lacks := p.ref.Budget() - p.use.UsedBytes
		if lacks <= 0 {
			continue
		}
		if owed += lacks; lacks > most {
			most, victim = lacks, p.l.ID
		}
	}
	if owed <= free {
		return 0
	}
	return victim
}

// worstOffender returns the part whose use exceeds its budget by the largest amount. It considers
// only jobs that were warned and whose time to react is over. If there is none, it returns nil.
func (b *inventory) worstOffender(parts []gpuUse) *gpuUse {
	var worst *gpuUse
	most := int64(0)
	for i := range parts {
		p := &parts[i]
		u := p.use
		if !p.mayStop() || u.OverSince.IsZero() || u.OverWarned.IsZero() || u.Over < b.policy.Usage.MemoryGrace {
			continue
		}
		if over := u.UsedBytes - p.ref.Budget(); over > most {
			most, worst = over, p
		}
	}
	return worst
}

// Beyond returns by how much the job's use of a GPU's memory exceeds what its request counts in
// quotas. While the use is unknown, the result stays the same.
func (b *inventory) Beyond(l *tracked.Job) (more int) {
	r, uses := &l.Request, l.CurrentUses()
	for i := range uses {
		ref, u := &l.Attempt.GPUs[i], &uses[i]
		at := b.Position(ref)
		switch {
		case u.OverSince.IsZero() || ref.Share() == job.WholeGPU:
		case at < 0 || u.UsedBytes < 0 || b.devices[at].MemTotalBytes == 0:
			return l.Beyond
		default:
			used := int(min(1, float64(u.UsedBytes)/float64(b.devices[at].MemTotalBytes)) * job.WholeGPU)
			more = max(more, r.GPUMilli-r.Part()+used-r.QuotaMilli())
		}
	}
	return more
}
