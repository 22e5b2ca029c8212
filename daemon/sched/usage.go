package sched

import (
	"math"
	"time"
)

// usage is decayed GPU time in GPU-nanoseconds, of all jobs up to a moment. With
// decay d(t) = 2^(-t/H) what was there is worth d times as much after a time t,
// and what holds a rate of GPUs over it adds rate·(H/ln 2)·(1 - d). So nothing
// depends on when a job began, by which clock ever.
type usage struct {
	at    Instant
	known Instant // up to which what runs was counted when the account was restored, or by Counted
	gpu   float64
	rate  float64
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
	u.gpu, u.at = u.gpu*d+u.rate*lifetime(passed, d, half), now
}

// Restore sets what the account had used at a moment, of running jobs too.
func (a *Account) Restore(used time.Duration, at Instant) {
	a.usage.at, a.usage.known, a.usage.gpu = at, at, float64(used)
}

// Open begins to count after a restart, when it is known what the time is: what
// was restored decays, and of the jobs counted by CountRunning nothing is charged yet. A
// moment to come is not believed.
func (a *Account) Open(now Instant, half time.Duration) {
	u := &a.usage
	u.gpu *= decay(time.Duration(now-u.at), half)
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

// CountRunning counts a job of a size that runs, before Open. Rate is the GPUs it is
// charged for.
func (a *Account) CountRunning(milli int, rate float64) {
	a.Jobs++
	a.Milli += milli
	a.usage.rate += rate
}

// Start counts a job that runs from now on.
func (a *Account) Start(milli int, rate float64, now Instant, half time.Duration) {
	a.usage.move(now, half)
	a.CountRunning(milli, rate)
}

// Charge adds what a job of a rate has used that runs since a while ago, but for
// what was counted when the account was restored, or by Counted.
func (a *Account) Charge(rate float64, ran time.Duration, now Instant, half time.Duration) {
	u := &a.usage
	u.move(now, half)
	ran = min(ran, time.Duration(now-u.known))
	u.gpu += rate * lifetime(ran, decay(ran, half), half)
}

// Finish undoes Start or CountRunning with the same values and keeps the use. It returns
// what has been used by now, by running jobs too.
func (a *Account) Finish(milli int, rate float64, now Instant, half time.Duration) time.Duration {
	u := &a.usage
	u.move(now, half)
	a.Jobs--
	a.Milli -= milli
	if u.rate -= rate; a.Jobs == 0 {
		u.rate = 0 // what rounding left
	}
	return time.Duration(u.gpu)
}

// Used returns the decayed GPU time used by now.
func (a *Account) Used(now Instant, half time.Duration) time.Duration {
	u := a.usage
	u.move(now, half)
	return time.Duration(u.gpu)
}
