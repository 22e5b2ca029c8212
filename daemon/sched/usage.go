package sched

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Rate is the use that a running job is charged for each unit of time, in thousandths of a GPU. It
// consists of whole numbers, so that Finish subtracts exactly what Start added.
type Rate struct {
	GPU    int // for quotas of GPU time: the job's parts of GPUs, or of the GPUs' memory if that is more
	Charge int // for fair share: the job's largest share of any resource, expressed in GPUs
}

// usage is the decayed GPU time of all jobs up to a moment, in GPU-nanoseconds. The decay is d(t) =
// 2^(-t/H), where H is the half-life. After a time t, past use is worth d times as much as before.
// A rate of GPUs held over that time adds rate·(H/ln 2)·(1 - d). So the result depends neither on
// when a job began nor on any clock.
type usage struct {
	at    Instant
	known Instant // the moment up to which Restore or Counted has charged running jobs
	gpu   float64
	all   float64 // use of all resources, for fair share
	rate  Rate
}

// forget applies a decay.
func (u *usage) forget(d float64) { u.gpu, u.all = u.gpu*d, u.all*d }

// add adds the use at a rate over a lifetime.
func (u *usage) add(r Rate, life float64) {
	u.gpu += float64(r.GPU) / job.WholeGPU * life
	u.all += float64(r.Charge) / job.WholeGPU * life
}

// decay returns the part of past use that is left after the given time, with the given half-life.
func decay(passed, half time.Duration) float64 {
	if half <= 0 {
		return 1
	}
	return math.Exp2(-max(0, float64(passed)) / float64(half))
}

// lifetime returns the integral of the decay over the given time.
func lifetime(passed time.Duration, rest float64, half time.Duration) float64 {
	if half <= 0 {
		return max(0, float64(passed))
	}
	return float64(half) / math.Ln2 * (1 - rest)
}

func (u *usage) move(now Instant, half time.Duration) {
	if now <= u.at {
		return // the clock went back a little; Shift handles larger steps
	}
	passed := time.Duration(now - u.at)
	d := decay(passed, half)
	u.forget(d)
	u.add(u.rate, lifetime(passed, d, half))
	u.at = now
}

// Restore sets the GPU time that the account had used at the given moment. It includes the GPU time
// of the account's running jobs.
func (a *Account) Restore(gpu time.Duration, at Instant) {
	a.usage.at, a.usage.known = at, at
	a.usage.gpu, a.usage.all = float64(gpu), float64(gpu)
}

// RestoreUsed restores what Used returned at the moment that was given to Restore. A value that is
// less than the GPU time is ignored.
func (a *Account) RestoreUsed(used time.Duration) { a.usage.all = max(a.usage.all, float64(used)) }

// Open makes the account count again after a restart, once the time is known. It decays the
// restored use. It charges nothing for the jobs that CountRunning counted. If the restored moment
// lies in the future, Open corrects it.
func (a *Account) Open(now Instant, half time.Duration) {
	u := &a.usage
	u.forget(decay(time.Duration(now-u.at), half))
	u.at, u.known = now, min(u.known, now)
	a.clock.at = min(a.clock.at, now)
}

// Counted notes that running jobs have been charged up to now. Charge then leaves that time out.
func (a *Account) Counted(now Instant) { a.usage.known = now }

// Shift adjusts the account's moments after the clock was set.
func (a *Account) Shift(by time.Duration) {
	a.usage.at += Instant(by)
	a.usage.known += Instant(by)
	a.clock.at += Instant(by)
}

// CountRunning counts a job that runs already. Callers must call it before Open.
func (a *Account) CountRunning(milli int, rate Rate) {
	a.Jobs++
	a.Milli += milli
	a.usage.rate.GPU += rate.GPU
	a.usage.rate.Charge += rate.Charge
}

// Rate returns the sum of the running jobs' rates.
func (a *Account) Rate() Rate { return a.usage.rate }

// Promise adds a running job's host resources to the account. Negative values subtract them.
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

// Recharge adds the argument extra to the rate at which running jobs are charged from now on.
func (a *Account) Recharge(extra Rate, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.usage.rate.GPU += extra.GPU
	a.usage.rate.Charge += extra.Charge
}

// Charge adds the use of a job that has ended. The argument runTime is the job's run time, and ago
// is the time since its end. Charge leaves out what Restore or Counted has charged already.
func (a *Account) Charge(rate Rate, runTime, ago time.Duration, now Instant, half time.Duration) {
	u := &a.usage
	u.move(now, half)
	runTime = min(runTime, time.Duration(now-u.known)-ago)
	u.add(rate, lifetime(runTime, decay(runTime, half), half)*decay(ago, half))
}

// Finish reverts Start or CountRunning, which must have been called with the same values. What the
// job has used by now still counts.
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

// GPUTime returns the decayed GPU time that quotas limit.
func (a *Account) GPUTime(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return asDuration(u.gpu)
}

// asDuration converts a sum of GPU time. It returns at most half of the longest duration, which is
// 146 years. Without decay, 64 GPUs use that much in two and a half years.
func asDuration(sum float64) time.Duration { return time.Duration(min(sum, math.MaxInt64/2)) }
