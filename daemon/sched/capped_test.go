package sched

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The time in which a quota held a job back does not count as waiting, and all jobs of a bucket
// lose the same time (invariant 9).
func TestQuotaIsNoWaiting(t *testing.T) {
	sc := newScene(t, 4)
	sc.s.Policy = Policy{GuardAfter: 10 * time.Hour, ReservationDepth: 1}
	ann, bob := sc.user("ann"), sc.user("bob")
	ann.MaxMilli, ann.Milli = 2000, 2000
	ann.CountCapped(ago(20*time.Hour), false)
	since := func(d time.Duration) func(*Waiting) { return func(w *Waiting) { w.Since = ago(d) } }
	sc.queueJob(1, 1000, since(20*time.Hour))
	sc.queueJob(2, 1000, since(3*time.Hour), func(w *Waiting) { w.Capped = 17 * time.Hour })
	sc.queueJob(3, 1000, since(2*time.Hour), of(bob))
	ann.Milli = 1000
	ann.CountCapped(ago(time.Hour), false) // after that, one of the jobs could have started
	sc.expectOrder("[3 1 2]")
	sc.s.Policy.GuardAfter, sc.s.GuardOpen = 90*time.Minute, true
	sc.expectOrder("[3 1 2]")
	sc.s.Now = noon.Add(45 * time.Minute) // each job has waited for longer than GuardAfter
	sc.queueJob(4, 1000, func(w *Waiting) { w.Since, w.Expected = noon, time.Second })
	sc.expectOrder("[3 1 2 4]")
}

func (sc *scene) expectOrder(want string) {
	sc.Helper()
	if got := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, -1)); got != want {
		sc.Errorf("the order is %s, want %s", got, want)
	}
}

// The clock of each size counts the time in which no job of that size could start, whichever quota
// held the jobs back. It never shows more than the clock of a larger size.
func TestClockOfCappedTime(t *testing.T) {
	group := &Account{UID: -1, Name: "lab", MaxMilli: 4000}
	for seed := range drawing(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		a := &Account{UID: 1, Groups: []*Account{group}, MaxMilli: 3000, MaxJobs: 3}
		sizes := []int{0, 10, 990, 1000, 2000, 3000, 4000, 20_000}
		want := map[int]time.Duration{}
		now := noon
		for range 40 {
			a.Milli, a.Jobs, group.Milli = r.IntN(4)*1000, r.IntN(4), r.IntN(5)*1000
			a.Barred, a.over = "", r.IntN(10) == 0
			if r.IntN(10) == 0 {
				a.Barred = "it has expired"
			}
			a.newJobs, group.newMilli = 1, 1000 // the job that the pass started runs now
			a.CountCapped(now, false)
			passed := time.Duration(r.IntN(100)) * time.Minute
			for _, milli := range sizes {
				left := min(3000-a.Milli, 4000-group.Milli)
				if a.Barred != "" || a.Jobs == 3 || milli > 0 && (a.over || milli > left) {
					want[milli] += passed
				}
			}
			now = now.Add(passed)
			for _, milli := range sizes {
				if got := a.Capped(milli, now); got != want[milli] {
					t.Fatalf("seed %d: jobs of %s GPUs were capped for %s, want %s", seed, job.GPUs(milli), got, want[milli])
				}
			}
		}
	}
}

// If the clock is set, the capped time does not grow. The same is true if the time goes back a
// little.
func TestClockOfCappedTimeIsSet(t *testing.T) {
	a := &Account{Barred: "it has expired"}
	a.CountCapped(noon, false)
	a.Shift(time.Hour)
	if got := a.Capped(0, noon.Add(time.Hour+time.Minute)); got != time.Minute {
		t.Errorf("%s", got)
	}
	a.CountCapped(noon.Add(time.Hour+time.Minute), false)
	a.CountCapped(noon, false)
	if got := a.Capped(0, noon.Add(time.Hour+2*time.Minute)); got != 2*time.Minute {
		t.Errorf("%s after the clock went back", got)
	}
	a.CountCapped(noon.Add(2*time.Hour), true)
	if got := a.Capped(0, noon.Add(9*time.Hour)); got != time.Hour {
		t.Errorf("under FIFO %s", got)
	}
}

// A restored clock continues from the recorded totals.
func TestClockOfCappedTimeIsRestored(t *testing.T) {
	a := &Account{MaxMilli: 1000, Milli: 1000}
	a.CountCapped(noon, false)
	a.CountCapped(noon.Add(time.Minute), false)
	times, sizes := a.CappedTimes(noon.Add(time.Hour))
	for name, b := range map[string]*Account{"read": {}, "opened": {}} {
		b.RestoreCapped(times, sizes, noon.Add(time.Hour))
		if name == "opened" {
			b.Open(noon.Add(90*time.Minute), time.Hour)
		}
		if b.Capped(0, noon.Add(2*time.Hour)) != 0 || b.Capped(1000, noon.Add(2*time.Hour)) != 2*time.Hour {
			t.Errorf("%s: %v of %d sizes", name, b.clock.total, b.clock.sizes)
		}
	}
	if times, sizes = (&Account{}).CappedTimes(noon); times != nil || sizes != 0 {
		t.Errorf("of nothing %v, %d", times, sizes)
	}
}

// While a quota of host memory or CPUs holds back every waiting job of a size, time does not count
// as waiting for that size. The same is true of a quota of GPUs.
func TestQuotaOfMemoryIsNoWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		waits func(sc *scene)
		want  [3]bool // whether time does not count for a job without GPUs, with one GPU and with two
	}{
		"all":               {func(*scene) {}, [3]bool{false, true, true}},
		"a smaller does":    {func(sc *scene) { sc.queueJob(2, 500, asks(func(r *job.Request) { r.MemBytes = gib })) }, [3]bool{}},
		"a larger does":     {func(sc *scene) { sc.queueJob(2, 3000, asks(func(r *job.Request) { r.MemBytes = gib })) }, [3]bool{}},
		"one without a GPU": {func(sc *scene) { sc.queueJob(2, 0, asks(func(r *job.Request) { r.MemBytes = 16 * gib })) }, [3]bool{true, true, true}},
		"of these one does": {func(sc *scene) {
			sc.queueJob(2, 0, asks(func(r *job.Request) { r.MemBytes = 16 * gib }))
			sc.queueJob(3, 0, asks(func(r *job.Request) { r.MemBytes = gib }))
		}, [3]bool{false, true, true}},
	} {
		sc := newScene(t, 2)
		sc.s.Policy = Policy{ReservationDepth: 1}
		sc.s.Host = Host{GPUsSeen: true, MaxRunning: 1, Running: 1}
		ann := sc.user("ann")
		ann.MaxMem = 64 * gib
		ann.Promise(60*gib, 0)
		sc.queueJob(1, 1000, asks(func(r *job.Request) { r.MemBytes = 16 * gib }))
		c.waits(sc)
		sc.p.Plan(&sc.s, sc.q)
		ann.CountCapped(noon, false)
		for i, milli := range []int{0, 1000, 2000} {
			if got := ann.Capped(milli, noon.Add(time.Hour)) > 0; got != c.want[i] {
				t.Errorf("%s: that a job of %d is kept back is %t", name, milli, got)
			}
		}
	}
}
