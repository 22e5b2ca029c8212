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

// RateOf returns the rate at which a job's current attempt is charged. It is at least the rate for
// the attempt's GPUs, even if no charge is on record.
func RateOf(j *job.Job) sched.Rate {
	gpu := gpuRate(j.HeldGPUs())
	return sched.Rate{GPU: gpu, Charge: max(gpu, j.Charge, j.Shared)}
}

// gpuRate returns the charge for some GPUs of a job.
func gpuRate(gpus []job.Allocation) (milli int) {
	for _, g := range gpus {
		milli += max(g.ChargeMilli, g.Share())
	}
	return milli
}

// LargestShare returns the largest of a job's shares of the machine's GPUs, CPUs and host memory,
// in thousandths of a GPU (dominant resource: Ghodsi et al., NSDI 2011). A job that holds all of
// the memory keeps other jobs from all GPUs. A machine without GPUs counts as one GPU. So does a
// machine whose GPUs are not known yet: see ChargeMachine.
func (b *Book) LargestShare(j *job.Job) int {
	p, all := b.policy, max(1, b.gpus.Count())*job.WholeGPU
	mem, cpus := partOf(all, j.PromisedMem(), p.HostMemBytes), partOf(all, int64(j.CPUs()), int64(p.HostCPUs))
	return max(gpuRate(j.HeldGPUs()), mem, cpus)
}

// partOf returns total*n/limit, rounded up and at most total. If n or limit is not positive, it
// returns 0.
func partOf(total int, n, limit int64) int {
	if limit <= 0 || n <= 0 {
		return 0
	}
	return int(math.Ceil(float64(total) * min(1, float64(n)/float64(limit))))
}

// count adds a running job to an account. Before the first listing, the time for which the job ran
// is unknown: see StartCharging.
func (b *Book) count(l *tracked.Job, a *sched.Account, now time.Time) {
	if milli, rate := l.QuotaMilli(), RateOf(l.Job); b.shell.Listed() {
		a.Start(milli, rate, sched.At(now), b.policy.Sched.HalfLife)
	} else {
		a.CountRunning(milli, rate)
	}
	a.Promise(l.PromisedMem(), l.CPUs())
}

// Charge makes a job's resources count for the job's accounts, from the job's placement on.
func (b *Book) Charge(l *tracked.Job, now time.Time) {
	for _, acc := range l.Accounts() {
		b.count(l, acc, now)
	}
	if b.shell.Listed() {
		b.chargePast(l, now)
	}
	b.countHeld(l, 1, now)
}

// StartCharging begins to count use. It charges the jobs on record for their use so far. Their
// units show for how long they ran.
func (b *Book) StartCharging(now time.Time) {
	b.lane.at, b.stops.at, b.charging = now, now, true
	b.startCounting(now, b.policy.Sched.HalfLife)
	for l := range b.jobs.Live() {
		b.chargePast(l, now)
	}
}

// chargePast charges a job for the time from its placement until now, or until its end if it has
// ended.
func (b *Book) chargePast(l *tracked.Job, now time.Time) {
	for _, acc := range l.Accounts() {
		b.chargeSincePlacement(acc, l, now)
	}
}

func (b *Book) chargeSincePlacement(acc *sched.Account, l *tracked.Job, now time.Time) {
	until := b.shell.RanUntil(l, now)
	acc.Charge(RateOf(l.Job), until.Sub(l.Attempt.PlacedAt), now.Sub(until), sched.At(now), b.policy.Sched.HalfLife)
}

// startChargingEarly charges all jobs of an account up to now. It is needed if one of these jobs
// ends before startCounting is called: the account's record must also include the jobs that still
// run.
func (b *Book) startChargingEarly(acc *sched.Account, now time.Time) {
	acc.Open(sched.At(now), b.policy.Sched.HalfLife)
	for l := range b.jobs.Live() {
		if slices.Contains(l.Accounts(), acc) {
			b.chargeSincePlacement(acc, l, now)
		}
	}
	acc.Counted(sched.At(now))
}

// Settle undoes Charge at the end of an attempt, and records the use of the job's accounts.
func (b *Book) Settle(l *tracked.Job, now time.Time) {
	b.countHeld(l, -1, now)
	half := b.policy.Sched.HalfLife
	for _, acc := range l.Accounts() {
		if !b.shell.Listed() {
			b.startChargingEarly(acc, now)
		}
		acc.Finish(l.QuotaMilli(), RateOf(l.Job), sched.At(now), half)
		acc.Promise(-l.PromisedMem(), -l.CPUs())
		if RateOf(l.Job).Charge > 0 {
			b.recordUsage(acc, now)
		}
	}
	l.Beyond = 0
}

// recordUsage records an account's use up to now.
func (b *Book) recordUsage(a *sched.Account, now time.Time) {
	at, half := sched.At(now), b.policy.Sched.HalfLife
	u := &job.Usage{Account: keyOf(a), Micro: a.GPUTime(at, half).Microseconds(), At: now}
	u.Counts.Charge = a.Used(at, half).Microseconds()
	u.Counts.Capped, u.Counts.Sizes = a.CappedTimes(at)
	b.shell.Record(job.Record{Usage: u})
}

// CountBeyond makes the memory that a job uses above its budget count towards quotas of GPUs, as
// long as the job uses it: a job that uses all of a GPU's memory keeps everybody from that GPU,
// even if the job asked for a small part.
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

// CountCapped is called after a pass, with the accounts that have waiting jobs. For each account it
// notes the sizes of the jobs that the account's quotas hold back from now on. If these sizes have
// changed, it records the account's use.
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

// While jobs share a GPU, no job gets the whole GPU. So while a waiting job wants the whole of such
// a GPU, fair share charges all of it to the jobs that share it, in proportion to their parts. The
// charge is recorded with each job. Whenever a charge changes, the use of the job's accounts up to
// then is recorded as well, so that a restart changes nothing.

// rechargeEvery is the shortest time between two changes of the charge for shared GPUs. The time is
// not shorter because each change is stored.
const rechargeEvery = time.Minute

// ChargeSharers charges the jobs on shared GPUs for what sharing now costs others. The function
// wanted reports the GPUs that waiting jobs want as a whole. The result is the time at which the
// charge may change again. Zero means at any time.
func (b *Book) ChargeSharers(wanted func(memory []bool) []bool, now time.Time) (next time.Time) {
	sums := b.jobs.ChargedOfParts()
	if !b.shell.Listed() || b.gpus.Count() == 0 || len(sums) == 0 {
		return time.Time{}
	}
	if at := b.sharesAt.Add(rechargeEvery); at.After(now) && !now.Before(b.sharesAt) { // otherwise the clock was set back
		return at
	}
	b.sharesAt, b.wanted = now, wanted(slices.Grow(b.wanted[:0], 16))
	b.recharge(func(j *job.Job) (int, int) { return j.Charge, b.sharedRate(j, sums, b.wanted) }, now)
	return time.Time{}
}

// sharedRate returns a job's charge while others want its shared GPUs as a whole: the job then also
// pays for its part of the unused rest of these GPUs. If that does not change the charge, it
// returns 0.
func (b *Book) sharedRate(j *job.Job, sums map[string]int, wanted []bool) int {
	rate := 0
	for _, g := range j.HeldGPUs() {
		own := max(g.ChargeMilli, g.Share())
		at := b.gpus.Position(&g)
		if all := sums[g.UUID]; g.Milli > 0 && at >= 0 && wanted[at] && all < job.WholeGPU {
			own = (own*job.WholeGPU + all - 1) / all
		}
		rate += own
	}
	if rate <= gpuRate(j.HeldGPUs()) {
		return 0
	}
	return rate
}

// ChargeMachine recomputes the charges of running jobs for the present number of GPUs. Without it,
// a job that starts before the daemon's first sample would be charged as on a machine without GPUs
// until it ends.
func (b *Book) ChargeMachine(now time.Time) {
	if n := b.gpus.Count(); b.shell.Listed() && n != 0 && n != b.machine {
		b.machine = n
		b.recharge(func(j *job.Job) (int, int) { return b.LargestShare(j), j.Shared }, now)
	}
}

// ChangeHolding changes what a running job holds: its host memory, or its GPUs, which it leaves when
// it is parked and gets back later. The argument change makes the change.
func (b *Book) ChangeHolding(l *tracked.Job, change func(), now time.Time) {
	mem, cpus, was := l.PromisedMem(), l.CPUs(), RateOf(l.Job)
	b.countHeld(l, -1, now)
	change()
	b.countHeld(l, 1, now)
	for _, a := range l.Accounts() {
		a.Promise(l.PromisedMem()-mem, l.CPUs()-cpus)
	}
	if !b.charging { // the first sample of the GPUs changes the charge
		b.countEarly(l, was)
		return
	}
	if l.Park == job.IsParked {
		l.Shared = 0
	}
	l.Charge = b.LargestShare(l.Job)
	b.shell.Mark(l)
	for _, a := range b.countRate(l, was, now) {
		b.recordUsage(a, now)
	}
}

// countEarly makes the accounts of a job count its present rate, before anything is charged.
func (b *Book) countEarly(l *tracked.Job, was sched.Rate) {
	now := RateOf(l.Job)
	for _, a := range l.Accounts() {
		a.Jobs-- // the job is counted already
		a.CountRunning(0, sched.Rate{GPU: now.GPU - was.GPU, Charge: now.Charge - was.Charge})
	}
}

// recharge sets new rates for running jobs from now on. If the charge of an account changes,
// recharge records the account's use.
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
		for _, a := range b.countRate(l, was, now) {
			if !slices.Contains(changed, a) {
				changed = append(changed, a)
			}
		}
	}
	for _, a := range changed {
		b.recordUsage(a, now)
	}
}

// countRate makes the accounts of a job count its present rate instead of an earlier one. It returns
// the accounts whose rate has changed.
func (b *Book) countRate(l *tracked.Job, was sched.Rate, now time.Time) []*sched.Account {
	more := RateOf(l.Job)
	more.GPU, more.Charge = more.GPU-was.GPU, more.Charge-was.Charge
	if more == (sched.Rate{}) {
		return nil
	}
	for _, a := range l.Accounts() {
		a.Recharge(more, sched.At(now), b.policy.Sched.HalfLife)
	}
	return l.Accounts()
}

// bucket contains GPU time that one kind of decision may take. It fills at a rate that its owner
// gives.
type bucket struct {
	credit time.Duration // below 0 it is a debt
	at     time.Time     // the time up to which credit is computed
	milli  int           // what the jobs hold at whose expense it empties or fills
}

// advance adds what has come in, or subtracts what has gone out, up to now.
func (b *bucket) advance(rate float64, most time.Duration, now time.Time) {
	if passed := now.Sub(b.at); passed > 0 { // otherwise the clock was set back
		if !b.at.IsZero() {
			b.credit = min(most, b.credit+time.Duration(rate*float64(passed)))
		}
		b.at = now
	}
}

// The lane is the bucket of guarded jobs, which go first because they have waited long
// (Policy.GuardAfter). The lane earns a part of the machine's time, and pays for what guarded jobs
// hold. While it owes nothing, jobs that have waited long go first and are not preempted. After a
// restart of the daemon, it has no debt.
//
// The other bucket pays for stops among jobs of one class and number. It earns stopPercent of the
// GPU time that all jobs have, and holds at most what a day can bring, or what one stop of every GPU
// can cost if that is more: otherwise a job with a long grace could never be stopped. After a
// restart of the daemon, it is half full.
const stopPercent = 3

// advance brings both buckets up to date.
func (b *Book) advance(now time.Time) {
	gpus := float64(b.gpus.Count())
	rate := gpus*float64(b.policy.Sched.GuardPercent)/100 - float64(b.lane.milli)/job.WholeGPU
	if gpus == 0 { // before the first sample, nobody knows what the lane earns
		rate = 0
	}
	b.lane.advance(rate, 0, now)
	if gpus == 0 {
		return
	}
	longest := b.policy.Sched.RestartCost + 2*b.policy.MaxGrace // a warning and the grace take that long
	most := time.Duration(gpus * max(stopPercent*float64(24*time.Hour)/100, float64(longest)))
	if b.stops.advance(float64(b.stops.milli)/job.WholeGPU*stopPercent/100, most, now); !b.stopsFilled {
		b.stops.credit, b.stopsFilled = most/2, true
	}
}

// ForStops returns the GPU time that stops may cost now.
func (b *Book) ForStops(now time.Time) time.Duration {
	b.advance(now)
	return b.stops.credit
}

// PayStop takes what a stop costs.
func (b *Book) PayStop(cost time.Duration) { b.stops.credit -= cost }

// countHeld adds the GPUs of a job to what the jobs of the buckets hold, or subtracts them.
func (b *Book) countHeld(l *tracked.Job, sign int, now time.Time) {
	if b.shell.Listed() {
		b.advance(now)
	}
	if b.stops.milli += sign * l.HeldMilli(); l.Guarded {
		b.lane.milli += sign * l.HeldMilli()
	}
}

// LaneOpen reports whether the lane owes nothing now.
func (b *Book) LaneOpen(now time.Time) bool {
	b.advance(now)
	return b.lane.credit >= 0
}
