package sched

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Rate is what a running job counts for, in thousandths of a GPU. It is in whole numbers, so that
// Finish subtracts exactly what Start added.
type Rate struct {
	GPU    int // for quotas of GPU time: its parts of GPUs, or of their memory if that is more
	Charge int // for fair share: the largest of its shares of any resource, expressed in GPUs
}

// usage is decayed GPU time, in GPU-nanoseconds, of all jobs up to a moment. With decay d(t) =
// 2^(-t/H), past use is worth d times as much after a time t, and a rate of GPUs held over that
// time adds rate·(H/ln 2)·(1 - d). So the result does not depend on when a job began, nor on any
// clock.
type usage struct {
	at    Instant
	known Instant // running jobs are charged up to here by Restore or Counted
	gpu   float64
	all   float64 // of all resources, for fair share
	rate  Rate
}

// forget applies a decay.
func (u *usage) forget(d float64) { u.gpu, u.all = u.gpu*d, u.all*d }

// add counts what a rate has used over a lifetime.
func (u *usage) add(r Rate, life float64) {
	u.gpu += float64(r.GPU) / job.WholeGPU * life
	u.all += float64(r.Charge) / job.WholeGPU * life
}

// decay returns the part that is left after a time, for a half-life.
func decay(passed, half time.Duration) float64 {
	if half <= 0 {
		return 1
	}
	return math.Exp2(-max(0, float64(passed)) / float64(half))
}

// lifetime is the integral of the decay over a time.
func lifetime(passed time.Duration, rest float64, half time.Duration) float64 {
	if half <= 0 {
		return max(0, float64(passed))
	}
	return float64(half) / math.Ln2 * (1 - rest)
}

func (u *usage) move(now Instant, half time.Duration) {
	if now <= u.at {
		return // a clock that was put back a little; Shift is for more
	}
	passed := time.Duration(now - u.at)
	d := decay(passed, half)
	u.forget(d)
	u.add(u.rate, lifetime(passed, d, half))
	u.at = now
}

// Restore sets the GPU time that the account, with its running jobs, had used at a moment.
func (a *Account) Restore(gpu time.Duration, at Instant) {
	a.usage.at, a.usage.known = at, at
	a.usage.gpu, a.usage.all = float64(gpu), float64(gpu)
}

// RestoreUsed sets what Used returned then, if that was more than the GPU time.
func (a *Account) RestoreUsed(used time.Duration) { a.usage.all = max(a.usage.all, float64(used)) }

// Open begins to count after a restart, once the time is known. It decays what was restored; jobs
// counted by CountRunning are not charged yet. A restored moment in the future is corrected.
func (a *Account) Open(now Instant, half time.Duration) {
	u := &a.usage
	u.forget(decay(time.Duration(now-u.at), half))
	u.at, u.known = now, min(u.known, now)
	a.clock.at = min(a.clock.at, now)
}

// Counted notes that running jobs are charged up to now, so that Charge does not add that time
// again.
func (a *Account) Counted(now Instant) { a.usage.known = now }

// Shift adjusts the account's moments to a clock that was set.
func (a *Account) Shift(by time.Duration) {
	a.usage.at += Instant(by)
	a.usage.known += Instant(by)
	a.clock.at += Instant(by)
}

// CountRunning counts a running job, before Open.
func (a *Account) CountRunning(milli int, rate Rate) {
	a.Jobs++
	a.Milli += milli
	a.usage.rate.GPU += rate.GPU
	a.usage.rate.Charge += rate.Charge
}

// Rate returns the sum of the running jobs' rates.
func (a *Account) Rate() Rate { return a.usage.rate }

// Promise counts a running job's host resources; with negative values it takes them off.
func (a *Account) Promise(mem int64, cpus int) {
	a.host.mem += mem
	a.host.cpus += cpus
}

// Promised returns the host resources of the account's running jobs.
func (a *Account) Promised() (mem int64, cpus int) { return a.host.mem, a.host.cpus }

// Start counts a job that runs from now on.
func (a *Account) Start(milli int, rate Rate, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.CountRunning(milli, rate)
}

// Recharge changes what running jobs are charged from now on.
func (a *Account) Recharge(more int, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.usage.rate.Charge += more
}

// Charge adds what a job has used that ran for the time ran and ended the time ago before now. It
// leaves out what was charged by Restore or Counted.
func (a *Account) Charge(rate Rate, ran, ago time.Duration, now Instant, half time.Duration) {
	u := &a.usage
	u.move(now, half)
	ran = min(ran, time.Duration(now-u.known)-ago)
	u.add(rate, lifetime(ran, decay(ran, half), half)*decay(ago, half))
}

// Finish reverts Start or CountRunning, called with the same values, and keeps the use.
func (a *Account) Finish(milli int, rate Rate, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.Jobs--
	a.Milli -= milli
	a.usage.rate.GPU -= rate.GPU
	a.usage.rate.Charge -= rate.Charge
}

// Used returns the decayed use that fair share counts.
func (a *Account) Used(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return asDuration(u.all)
}

// GPUTime returns the decayed GPU time, which quotas limit.
func (a *Account) GPUTime(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return asDuration(u.gpu)
}

// asDuration converts a sum of GPU time. It returns at most half of the longest duration, 146
// years: where nothing is forgotten, 64 GPUs use that in two and a half years.
func asDuration(sum float64) time.Duration { return time.Duration(min(sum, math.MaxInt64/2)) }
