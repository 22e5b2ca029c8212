package accounts

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// RateOf is what the current attempt counts for. One on record without a charge is
// charged for its GPUs.
func RateOf(j *job.Job) sched.Rate {
	gpu := gpuRate(j.Attempt.GPUs)
	return sched.Rate{GPU: gpu, Charge: max(gpu, j.Charge, j.Shared)}
}

// gpuRate is what counts of GPUs that a job holds.
func gpuRate(gpus []job.Allocation) (milli int) {
	for _, g := range gpus {
		milli += max(g.ChargeMilli, g.Share())
	}
	return milli
}

// LargestShare is the largest of the parts of the machine that a job asks to have, its
// GPUs, CPUs and host memory, in thousandths of a GPU (dominant resource: Ghodsi et
// al., NSDI 2011): who holds all of the memory keeps all GPUs from others. A machine
// without GPUs counts as one, and so does one of which they are not known yet: see
// ChargeMachine.
func (b *Book) LargestShare(j *job.Job) int {
	p, all := b.policy, max(1, b.gpus.Count())*job.WholeGPU
	mem, cpus := partOf(all, j.Request.MemBytes, p.HostMemBytes), partOf(all, int64(j.CPUs()), int64(p.HostCPUs))
	return max(gpuRate(j.Attempt.GPUs), mem, cpus)
}

// partOf is as much of all as n is of most, rounded up; all for more than that.
func partOf(all int, n, most int64) int {
	if most <= 0 || n <= 0 {
		return 0
	}
	return int(math.Ceil(float64(all) * min(1, float64(n)/float64(most))))
}

// count puts a running job on an account. Before the first listing it is not known
// for how long it has run: see StartCharging.
func (b *Book) count(l *tracked.Job, a *sched.Account, now time.Time) {
	if milli, rate := l.QuotaMilli(), RateOf(l.Job); b.shell.Listed() {
		a.Start(milli, rate, sched.At(now), b.policy.Sched.HalfLife)
	} else {
		a.CountRunning(milli, rate)
	}
	a.Promise(l.Request.MemBytes, l.CPUs())
}

// Charge counts a job that holds what it asked for since its placement.
func (b *Book) Charge(l *tracked.Job, now time.Time) {
	for _, acc := range l.Accounts() {
		b.count(l, acc, now)
	}
	if b.shell.Listed() {
		b.chargePast(l, now)
	}
	b.countGuarded(l, 1, now)
}

// StartCharging begins to count use: what jobs on record have used since then is charged
// by how long their units have run.
func (b *Book) StartCharging(now time.Time) {
	b.lane.at = now
	b.open(now, b.policy.Sched.HalfLife)
	for l := range b.jobs.Live() {
		b.chargePast(l, now)
	}
}

// chargePast charges a job for the time since its placement, up to its end if it has ended.
func (b *Book) chargePast(l *tracked.Job, now time.Time) {
	for _, acc := range l.Accounts() {
		b.chargeSincePlacement(acc, l, now)
	}
}

func (b *Book) chargeSincePlacement(acc *sched.Account, l *tracked.Job, now time.Time) {
	until := b.shell.RanUntil(l, now)
	acc.Charge(RateOf(l.Job), until.Sub(l.Attempt.PlacedAt), now.Sub(until), sched.At(now), b.policy.Sched.HalfLife)
}

// startChargingEarly charges all jobs of an account up to now, where one of them ends before
// open: what is recorded of an account is of those that run, too.
func (b *Book) startChargingEarly(acc *sched.Account, now time.Time) {
	acc.Open(sched.At(now), b.policy.Sched.HalfLife)
	for l := range b.jobs.Live() {
		if slices.Contains(l.Accounts(), acc) {
			b.chargeSincePlacement(acc, l, now)
		}
	}
	acc.Counted(sched.At(now))
}

// Settle undoes charge at the end of an attempt and records the use.
func (b *Book) Settle(l *tracked.Job, now time.Time) {
	b.countGuarded(l, -1, now)
	half := b.policy.Sched.HalfLife
	for _, acc := range l.Accounts() {
		if !b.shell.Listed() {
			b.startChargingEarly(acc, now)
		}
		acc.Finish(l.QuotaMilli(), RateOf(l.Job), sched.At(now), half)
		acc.Promise(-l.Request.MemBytes, -l.CPUs())
		if RateOf(l.Job).Charge > 0 {
			b.recordUsage(acc, now)
		}
	}
	l.Beyond = 0
}

// recordUsage puts on record what is counted of an account up to now.
func (b *Book) recordUsage(a *sched.Account, now time.Time) {
	at, half := sched.At(now), b.policy.Sched.HalfLife
	u := &job.Usage{Account: keyOf(a), Micro: a.GPUTime(at, half).Microseconds(), At: now}
	u.Counts.Charge = a.Used(at, half).Microseconds()
	u.Counts.Capped, u.Counts.Sizes = a.CappedTimes(at)
	b.shell.Record(job.Record{Usage: u})
}

// CountBeyond counts what jobs use above their budgets in quotas of GPUs, from when they are
// over until they are within again: a part whose memory is all of a GPU's keeps everybody
// from that GPU, whatever it asked for.
func (b *Book) CountBeyond() {
	for l := range b.jobs.Live() {
		more := b.gpus.Beyond(l)
		if more == l.Beyond {
			continue
		}
		for _, a := range l.Accounts() {
			a.Milli += more - l.Beyond
		}
		l.Beyond = more
	}
}

// CountCapped notes after a pass which jobs wait for their own account, of those that wait.
func (b *Book) CountCapped(waiting iter.Seq[*sched.Account], now time.Time) {
	if !b.shell.Listed() {
		return
	}
	var news []*sched.Account
	for a := range waiting {
		if a.CountCapped(sched.At(now), b.policy.Sched.FIFO) {
			news = append(news, a)
		}
	}
	slices.SortFunc(news, func(a, b *sched.Account) int { return cmp.Compare(a.UID, b.UID) })
	for _, a := range news {
		b.recordUsage(a, now)
	}
}

// Of a GPU of which a part is given out no job gets the whole. While a job waits that
// asks whole GPUs and could have it, fair share therefore counts all of the GPU for
// those who share it, in proportion to their parts. What is counted is on record with
// each job, and so is, whenever it changes, what its accounts have used up to then: a
// restart changes nothing.

// rechargeEvery is how often what is counted of shared GPUs may change: each change is written.
const rechargeEvery = time.Minute

// ChargeSharers has fair share count what the GPUs that jobs share cost the others now, by which
// of them waiting jobs want whole. It returns when that may change again; zero: whenever.
func (b *Book) ChargeSharers(wanted func(memory []bool) []bool, now time.Time) (next time.Time) {
	sums := b.jobs.ChargedOfParts()
	if !b.shell.Listed() || b.gpus.Count() == 0 || len(sums) == 0 {
		return time.Time{}
	}
	if at := b.sharesAt.Add(rechargeEvery); at.After(now) && !now.Before(b.sharesAt) { // else the clock was set back
		return at
	}
	b.sharesAt, b.wanted = now, wanted(slices.Grow(b.wanted[:0], 16))
	b.recharge(func(j *job.Job) (int, int) { return j.Charge, b.sharedRate(j, sums, b.wanted) }, now)
	return time.Time{}
}

// sharedRate is what the GPUs of a job count with its part of what is left of those
// that others want whole; 0 where that is what they count anyway.
func (b *Book) sharedRate(j *job.Job, sums map[string]int, wanted []bool) int {
	rate := 0
	for _, g := range j.Attempt.GPUs {
		own := max(g.ChargeMilli, g.Share())
		at := b.gpus.Position(&g)
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

// ChargeMachine has fair share count what running jobs have of the machine by the GPUs that
// there are now. Jobs that start before the first sample after a start of the daemon are
// charged as on a machine without GPUs, and would be until they end.
func (b *Book) ChargeMachine(now time.Time) {
	if n := b.gpus.Count(); b.shell.Listed() && n != 0 && n != b.machine {
		b.machine = n
		b.recharge(func(j *job.Job) (int, int) { return b.LargestShare(j), j.Shared }, now)
	}
}

// recharge counts other rates of running jobs from now on, of the machine and of the GPUs that
// they share, and puts the accounts on record for which that makes a difference.
func (b *Book) recharge(rates func(j *job.Job) (charge, shared int), now time.Time) {
	var changed []*sched.Account
	for l := range b.jobs.Live() {
		was := RateOf(l.Job)
		charge, shared := rates(l.Job)
		if charge == l.Charge && shared == l.Shared {
			continue
		}
		l.Charge, l.Shared = charge, shared
		b.shell.Mark(l)
		more := RateOf(l.Job).Charge - was.Charge
		for _, a := range l.Accounts() {
			if more == 0 {
				break
			}
			a.Recharge(more, sched.At(now), b.policy.Sched.HalfLife)
			if !slices.Contains(changed, a) {
				changed = append(changed, a)
			}
		}
	}
	for _, a := range changed {
		b.recordUsage(a, now)
	}
}

// lane is the account of jobs that go first since they have waited long
// (Policy.GuardAfter). It earns a part of the machine's time and pays for what
// such jobs hold. While it owes nothing they go first and make no room for
// others. A daemon that starts again forgets the debt.
type lane struct {
	credit time.Duration // GPU time, at most 0
	at     time.Time     // up to which it has earned and paid
	milli  int           // that such jobs hold
}

// advance earns and pays up to now.
func (l *lane) advance(gpus int, p *sched.Policy, now time.Time) {
	passed := now.Sub(l.at)
	if passed <= 0 {
		return // a clock that went back changes nothing
	}
	if gpus == 0 {
		l.at = now // no sample yet, so what it earns is unknown
		return
	}
	rate := float64(gpus)*float64(p.GuardPercent)/100 - float64(l.milli)/job.WholeGPU
	l.credit = time.Duration(min(0, float64(l.credit)+rate*float64(passed)))
	l.at = now
}

// countGuarded counts what a job that went first comes to hold, or no longer does.
func (b *Book) countGuarded(l *tracked.Job, sign int, now time.Time) {
	if !l.Guarded {
		return
	}
	if b.shell.Listed() {
		b.lane.advance(b.gpus.Count(), &b.policy.Sched, now)
	}
	b.lane.milli += sign * l.Request.GPUMilli
}

// LaneOpen reports whether the lane owes nothing by now.
func (b *Book) LaneOpen(now time.Time) bool {
	b.lane.advance(b.gpus.Count(), &b.policy.Sched, now)
	return b.lane.credit >= 0
}
