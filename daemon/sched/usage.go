package sched

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Rate is what a running job counts for while it runs, in thousandths of a GPU: whole
// numbers, so that what Start adds Finish takes away.
type Rate struct {
	GPU    int // its parts of GPUs, or of their memory where that is more: for quotas of GPU time
	Charge int // for fair share: the largest of its shares of any resource, as so many GPUs
}

// usage is decayed time of GPUs in GPU-nanoseconds, of all jobs up to a moment. With
// decay d(t) = 2^(-t/H) what was there is worth d times as much after a time t,
// and what holds a rate of GPUs over it adds rate·(H/ln 2)·(1 - d). So nothing
// depends on when a job began, by which clock ever.
type usage struct {
	at    Instant
	known Instant // up to which what runs was counted when the account was restored, or by Counted
	gpu   float64
	all   float64 // of all resources
	rate  Rate
}

// forget lets what was used decay.
func (u *usage) forget(d float64) { u.gpu, u.all = u.gpu*d, u.all*d }

// add counts what a rate has used over a lifetime.
func (u *usage) add(r Rate, life float64) {
	u.gpu += float64(r.GPU) / job.WholeGPU * life
	u.all += float64(r.Charge) / job.WholeGPU * life
}

// decay returns what is left after a time of something with a half-life.
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
		return // a clock that was put back a little; for more there is Shift
	}
	passed := time.Duration(now - u.at)
	d := decay(passed, half)
	u.forget(d)
	u.add(u.rate, lifetime(passed, d, half))
	u.at = now
}

// Restore sets the GPU time that the account had used at a moment, of running jobs too.
func (a *Account) Restore(gpu time.Duration, at Instant) {
	a.usage.at, a.usage.known = at, at
	a.usage.gpu, a.usage.all = float64(gpu), float64(gpu)
}

// RestoreUsed sets what Used said then, where that was more than the GPU time.
func (a *Account) RestoreUsed(used time.Duration) { a.usage.all = max(a.usage.all, float64(used)) }

// Open begins to count after a restart, when it is known what the time is: what
// was restored decays, and of the jobs counted by CountRunning nothing is charged yet. A
// moment to come is not believed.
func (a *Account) Open(now Instant, half time.Duration) {
	u := &a.usage
	u.forget(decay(time.Duration(now-u.at), half))
	u.at, u.known = now, min(u.known, now)
	a.clock.at = min(a.clock.at, now)
}

// Counted says that what runs is charged up to now, so that no Charge adds it again.
func (a *Account) Counted(now Instant) { a.usage.known = now }

// Shift moves the account's time with a clock that was set.
func (a *Account) Shift(by time.Duration) {
	a.usage.at += Instant(by)
	a.usage.known += Instant(by)
	a.clock.at += Instant(by)
}

// CountRunning counts a job of a size that runs, before Open.
func (a *Account) CountRunning(milli int, rate Rate) {
	a.Jobs++
	a.Milli += milli
	a.usage.rate.GPU += rate.GPU
	a.usage.rate.Charge += rate.Charge
}

// Rate is what all that runs counts for.
func (a *Account) Rate() Rate { return a.usage.rate }

// Promise counts what a job that runs has of the machine besides GPUs, and with the
// same below 0 what one has no more.
func (a *Account) Promise(mem int64, cpus int) {
	a.host.mem += mem
	a.host.cpus += cpus
}

// Promised is what running jobs of the account have of the machine besides GPUs.
func (a *Account) Promised() (mem int64, cpus int) { return a.host.mem, a.host.cpus }

// Start counts a job that runs from now on.
func (a *Account) Start(milli int, rate Rate, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.CountRunning(milli, rate)
}

// Recharge counts so much more for what runs, from now on.
func (a *Account) Recharge(more int, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.usage.rate.Charge += more
}

// Charge adds what a job of a rate has used that ran for a time up to a while ago, but for
// what was counted when the account was restored, or by Counted.
func (a *Account) Charge(rate Rate, ran, ago time.Duration, now Instant, half time.Duration) {
	u := &a.usage
	u.move(now, half)
	ran = min(ran, time.Duration(now-u.known)-ago)
	u.add(rate, lifetime(ran, decay(ran, half), half)*decay(ago, half))
}

// Finish undoes Start or CountRunning with the same values and keeps the use.
func (a *Account) Finish(milli int, rate Rate, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.Jobs--
	a.Milli -= milli
	a.usage.rate.GPU -= rate.GPU
	a.usage.rate.Charge -= rate.Charge
}

// Used returns what fair share counts, decayed, by now.
func (a *Account) Used(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return asDuration(u.all)
}

// GPUTime returns the decayed GPU time used by now, which quotas bound.
func (a *Account) GPUTime(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return asDuration(u.gpu)
}

// asDuration is what a sum of GPU time is, or half of the longest duration, 146 years, where
// nothing is forgotten and it is more: 64 GPUs use that in two years and a half.
func asDuration(sum float64) time.Duration { return time.Duration(min(sum, math.MaxInt64/2)) }
