package sched

import (
	"math"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// integral adds up, in small steps, what accounts hold during a loop.
type integral struct {
	*loop
	half time.Duration
	last Instant
	held map[*Account]float64
	sum  map[*Account]float64
}

// move adds what was held since the last step, and applies the decay.
func (x *integral) move() {
	passed := time.Duration(x.s.Now - x.last)
	for a := range x.held {
		x.sum[a] += 0 // so that a new account is in the map
	}
	rest, gained := 1.0, float64(passed)
	if x.half > 0 {
		lambda := math.Ln2 / float64(x.half)
		rest, gained = math.Exp(-lambda*float64(passed)), -math.Expm1(-lambda*float64(passed))/lambda
	}
	for a := range x.sum {
		x.sum[a] = x.sum[a]*rest + x.held[a]*gained
	}
	x.last = x.s.Now
	clear(x.held)
	for _, j := range x.running {
		for _, a := range append([]*Account{j.Account}, j.Account.Groups...) {
			x.held[a] += j.gpus()
		}
	}
}

// At every moment, the use of an account is the decayed integral of what the account held. Without
// a half-life, nothing decays. The use of a group is the sum of the use of its members.
func TestUsageIsTheIntegral(t *testing.T) {
	for seed := range drawing(30) {
		half := []time.Duration{0, 3 * time.Hour, week}[seed%3]
		l := newLoop(t, seed, 4, Policy{HalfLife: half, ReservationDepth: 1, Slice: 30 * time.Minute})
		lab := &Account{UID: -1}
		users := []*Account{{UID: 1, Groups: []*Account{lab}}, {UID: 2, Groups: []*Account{lab}}, {UID: 3}}
		for i := range 60 {
			l.anyJob(time.Duration(i)*10*time.Minute, users)
		}
		x := &integral{loop: l, half: half, last: noon, held: map[*Account]float64{}, sum: map[*Account]float64{}}
		for len(l.coming)+len(l.running)+l.q.Len() > 0 {
			l.step()
			x.move()
			for a, want := range x.sum {
				got := float64(a.Used(l.s.Now, half))
				if math.Abs(got-want) > 1e-6*want+float64(time.Millisecond) {
					t.Fatalf("half-life %s, seed %d: user %d has used %g s, the integral is %g s", half, seed, a.UID, got/1e9, want/1e9)
				}
			}
		}
		l.addsUp()
	}
}

// addsUp checks that each job had its GPUs for as long as the job runs. It also checks that a job's
// waits and runs add up to the time from its arrival to its end.
func (l *loop) addsUp() {
	for _, j := range l.jobs {
		waited := time.Duration(j.start - j.Since) // runs that were cut short have moved Since, so they are left out
		if cut := time.Duration(j.Since - j.came); j.served != j.run || waited+cut+time.Duration(j.end-j.start) != time.Duration(j.end-j.came) || cut+time.Duration(j.end-j.start) != j.run {
			l.Errorf("%s waited %s and ran %s from +%s to +%s", j, waited, j.served, time.Duration(j.came-noon), time.Duration(j.end-noon))
		}
	}
}

// Use is halved in each half-life, even while a job runs. A clock that goes back changes nothing.
func TestUsageDecays(t *testing.T) {
	const half = 10 * time.Hour
	var a Account
	a.Restore(8*time.Hour, noon)
	if got := a.Used(noon.Add(2*half), half); got != 2*time.Hour {
		t.Errorf("8 h are %s after two half-lives", got)
	}
	if got := a.Used(ago(time.Hour), half); got != 8*time.Hour {
		t.Errorf("8 h were %s an hour ago", got)
	}
	var b Account
	b.Start(2000, gpuRate(2000), noon, half) // this job never ends
	limit := 2 * float64(half) / math.Ln2
	if got := float64(b.Used(noon.Add(1000*half), half)); math.Abs(got-limit)/limit > 1e-9 {
		t.Errorf("two GPUs for ever are %g, want %g", got, limit)
	}
	used := b.Used(noon.Add(half), half)
	b.Finish(2000, gpuRate(2000), noon.Add(half), half)
	if got := b.Used(noon.Add(half), half); used != got || b.Jobs != 0 || b.Milli != 0 || b.Rate() != (Rate{}) {
		t.Errorf("it has used %s, and when it ends %s", used, got)
	}
}

// gpuRate returns the rate of a job that asks only for GPUs.
func gpuRate(milli int) Rate { return Rate{milli, milli} }

// Fair share and quotas of GPU time count different rates of a job.
func TestUsageOfTwoKinds(t *testing.T) {
	var a Account
	a.Start(500, Rate{500, 4000}, noon, 0)
	a.Finish(500, Rate{500, 4000}, noon.Add(time.Hour), 0)
	a.Start(0, Rate{0, 8000}, noon.Add(time.Hour), 0)
	now := noon.Add(2 * time.Hour)
	if used, gpu := a.Used(now, 0), a.GPUTime(now, 0); used != 12*time.Hour || gpu != 30*time.Minute || a.Rate() != (Rate{0, 8000}) {
		t.Errorf("used %s, of GPUs %s, and goes on with %v", used, gpu, a.Rate())
	}
	var b Account
	b.Restore(30*time.Minute, now)
	if b.RestoreUsed(0); b.Used(now, 0) != 30*time.Minute {
		t.Errorf("on record was GPU time alone, and %s are used", b.Used(now, 0))
	}
	if b.RestoreUsed(12 * time.Hour); b.Used(now, 0) != 12*time.Hour || b.GPUTime(now, 0) != 30*time.Minute {
		t.Errorf("restored are %s, of GPUs %s", b.Used(now, 0), b.GPUTime(now, 0))
	}
}

// An account's use is the same, whether the scheduler counted all the time or was restarted while
// jobs ran. Use that was on record is not charged twice. Time that exists only because a clock was
// wrong is not charged at all.
func TestUsageAfterARestart(t *testing.T) {
	const half = 10 * time.Hour
	for name, off := range map[string]time.Duration{"a right clock": 0, "years behind": -56 * 365 * 24 * time.Hour, "a year ahead": 365 * 24 * time.Hour} {
		var through, again Account
		at := func(d time.Duration) Instant { return noon.Add(d) }
		through.Start(1000, gpuRate(1000), at(0), half)
		through.Start(2000, gpuRate(2000), at(time.Hour), half)
		through.Finish(2000, gpuRate(2000), at(2*time.Hour), half) // the record that is restored below contains this use
		again.Restore(through.Used(at(2*time.Hour), half), at(2*time.Hour))
		again.CountRunning(1000, gpuRate(1000))
		now := at(5*time.Hour) + Instant(off)
		again.Open(now, half)
		again.Charge(gpuRate(1000), 5*time.Hour, 0, now, half)
		again.Shift(-off)
		got, want := again.Used(at(6*time.Hour), half), through.Used(at(6*time.Hour), half)
		if off == 0 && (got-want).Abs() > time.Second || got < time.Hour*9/10 || got > want+2*time.Hour {
			t.Errorf("%s: used %s, want %s", name, got, want)
		}
	}
}

// If a clock is set ahead and back while jobs run and end, nobody is charged for the jump, and
// later use counts as it should.
func TestUsageWithAClockThatJumps(t *testing.T) {
	const half, year = week, 365 * 24 * time.Hour
	var a Account
	now := noon
	set := func(by time.Duration) { now += Instant(by); a.Shift(by) }
	run := func(d time.Duration, meanwhile func()) {
		a.Start(1000, gpuRate(1000), now, half)
		meanwhile()
		now = now.Add(d)
		a.Finish(1000, gpuRate(1000), now, half)
	}
	run(time.Minute, func() { set(year) })
	set(-year)
	for range 10 {
		run(time.Minute, func() {})
	}
	run(time.Minute, func() { set(-year) })
	set(year)
	if got := a.Used(now, half); got > 12*time.Minute || got < 11*time.Minute {
		t.Errorf("used %s in 12 minutes", got)
	}
}

// Without decay, the use of a large machine exceeds the range of a duration.
func TestUseOfYears(t *testing.T) {
	a, now := &Account{}, noon
	a.Start(1000*job.WholeGPU, Rate{GPU: 1000 * job.WholeGPU, Charge: 1000 * job.WholeGPU}, now, 0)
	last := time.Duration(0)
	for range 20 {
		now += Instant(365 * 24 * time.Hour)
		used, gpu := a.Used(now, 0), a.GPUTime(now, 0)
		if used < last || gpu != used {
			t.Fatalf("%s are used, and were %s; of GPUs %s", used, last, gpu)
		}
		last = used
	}
}
