package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestOrder tests the rules of the order one by one. In most rows, the jobs that should come first
// have the higher ids. If a rule had no effect, the ids would decide, lowest first, and its row
// would fail.
func TestOrder(t *testing.T) {
	prio := func(c job.Class, n int) func(*Waiting) {
		return asks(func(r *job.Request) { r.Priority = job.Priority{Class: c, Number: n} })
	}
	since := func(d time.Duration) func(*Waiting) { return func(w *Waiting) { w.Since = ago(d) } }
	heavy := &Account{UID: 5}
	heavy.Restore(100*24*time.Hour, noon)
	fair := Policy{HalfLife: week, GuardAfter: 10 * time.Hour, GuardPercent: 50}
	checkOrders(t, map[string]orderCase{
		"class":                       {fair, []func(*Waiting){prio(job.Scavenger, 0), prio(job.Low, 0), prio(job.Normal, 0), prio(job.High, 0), prio(job.Interactive, 0)}, "[5 4 3 2 1]"},
		"class before number":         {fair, []func(*Waiting){prio(job.Normal, 9), prio(job.High, -9)}, "[2 1]"},
		"number":                      {fair, []func(*Waiting){prio(job.Normal, -1), prio(job.Normal, 0), prio(job.Normal, 1)}, "[3 2 1]"},
		"response ratio":              {fair, []func(*Waiting){since(0), since(time.Hour), since(2 * time.Hour)}, "[3 2 1]"},
		"a short one soon":            {fair, []func(*Waiting){since(2 * time.Hour), func(w *Waiting) { w.Since, w.Expected = ago(10*time.Minute), minute }}, "[2 1]"},
		"use of the machine":          {fair, []func(*Waiting){func(w *Waiting) { w.Account, w.Since = heavy, ago(1000*time.Second) }, since(1000 * time.Second)}, "[2 1]"},
		"the guarded, as they came":   {fair, []func(*Waiting){func(w *Waiting) { w.Since, w.Expected = ago(9*time.Hour), minute }, since(11 * time.Hour), since(12 * time.Hour)}, "[3 2 1]"},
		"a number is above the guard": {fair, []func(*Waiting){prio(job.Normal, 1), func(w *Waiting) { w.Since = ago(1000 * time.Hour) }}, "[1 2]"},
		"strict: as they came":        {Policy{FIFO: true}, []func(*Waiting){since(0), func(w *Waiting) { w.Since, w.Expected = ago(time.Hour), minute }, since(2 * time.Hour)}, "[3 2 1]"},
		"strict: class and number":    {Policy{FIFO: true}, []func(*Waiting){since(9 * time.Hour), prio(job.Normal, 1), prio(job.High, 0)}, "[3 2 1]"},
		"ids among equals":            {fair, []func(*Waiting){since(1), since(1), since(1)}, "[1 2 3]"},
	})
}

// orderCase has jobs and the order that they should have.
type orderCase struct {
	policy Policy
	jobs   []func(*Waiting) // their ids are 1, 2 and so on
	want   string
}

func checkOrders(t *testing.T, cases map[string]orderCase) {
	for name, c := range cases {

		t.Run(name, func(t *testing.T) {
			sc := newScene(t, 1)
			sc.s.Policy, sc.s.GuardOpen = c.policy, true
			for i, change := range c.jobs {
				sc.queueJob(job.ID(i+1), 1000, change)
			}
			if got := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, -1)); got != c.want {
				t.Errorf("order %s, want %s", got, c.want)
			}
		})
	}
}

// While the guard is in debt, jobs that have waited long rank by their scores.
func TestGuardInDebt(t *testing.T) {
	for open, want := range map[bool]string{true: "[2 1]", false: "[1 2]"} {
		sc := newScene(t, 1)
		sc.s.Policy = Policy{GuardAfter: 10 * time.Hour, GuardPercent: 50}
		sc.s.GuardOpen = open
		sc.queueJob(1, 1000, expected(minute), func(w *Waiting) { w.Since = ago(time.Hour) })
		sc.queueJob(2, 1000, expected(100*time.Hour), func(w *Waiting) { w.Since = ago(11 * time.Hour) })
		if got := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, -1)); got != want {
			t.Errorf("open %v: order %s, want %s", open, got, want)
		}
		if got := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, 1)); got != want[:2]+"]" {
			t.Errorf("open %v: the first is %s of %s", open, got, want)
		}
	}
}

// The queue keeps its order whatever is added and removed.
func TestQueue(t *testing.T) {
	sc := newScene(t, 1)
	for _, id := range []job.ID{3, 1, 5, 2, 4} {
		sc.queueJob(id, 1000)
	}
	sc.q.Remove(3)
	sc.q.Remove(3) // job 3 was removed already
	sc.q.Take(5)
	sc.queueJob(7, 1000, func(w *Waiting) { w.Count = 2 })
	sc.q.Take(7)
	if got, want := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, -1)), "[1 2 4 7]"; got != want || sc.q.Len() != 4 || !sc.q.Has(7) {
		t.Errorf("order %s of %d, want %s", got, sc.q.Len(), want)
	}
	for _, id := range []job.ID{1, 2, 4, 7} {
		sc.q.Take(id)
	}
	if sc.q.Len() != 0 || sc.q.Has(7) || len(sc.q.buckets)+len(sc.q.shapes)+len(sc.q.accounts)+len(sc.q.byKey) != 0 {
		t.Errorf("an empty queue keeps %+v", sc.q)
	}
}

// On random states, the first n jobs are the beginning of the whole order. If some of the jobs are
// arranged without the others, their order is the same as in the whole order.
func TestHeadOfTheOrder(t *testing.T) {
	p := NewPlanner()
	for seed := range drawing(1000) {
		d := draw(seed)
		all := p.Ordered(&d.s, d.q, -1)
		if len(all) != len(d.waiting) {
			t.Fatalf("seed %d: %d of %d jobs are in the order", seed, len(all), len(d.waiting))
		}
		n := d.IntN(len(all) + 2)
		if got := p.Ordered(&d.s, d.q, n); !slices.Equal(got, all[:min(n, len(all))]) {
			t.Fatalf("seed %d: the first %d are %v of %v", seed, n, got, all)
		}
		var want, some []job.ID
		for _, id := range all {
			if d.chance(5) {
				want = append(want, id)
			}
		}
		for _, id := range want {
			some = slices.Insert(some, d.IntN(len(some)+1), id)
		}
		if got := p.Arrange(&d.s, d.q, append(some, 12345)); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v in order are %v, want %v", seed, some, got, want)
		}
	}
}

// Two jobs are alike, but came at different times. The first would delay a reservation. The second
// would not, since it ranks low enough to be preempted in time.
func TestLaterOfBucketYields(t *testing.T) {
	stoppable := func(milli int) func(*Waiting) {
		return func(w *Waiting) { w.Request.GPUMilli, w.Request.Preemptible = milli, true }
	}
	since := func(ago time.Duration) func(*Waiting) { return func(w *Waiting) { w.Since = noon - Instant(ago) } }
	both := asks(func(r *job.Request) { r.GPUIDs = []int{0, 1} })
	for name, c := range map[string]struct {
		guard                time.Duration
		milli                int
		first, second, third time.Duration
	}{
		"not guarded":    {90 * time.Minute, 1000, 3 * time.Hour, 2 * time.Hour, time.Hour},
		"much later":     {0, 4000, 10 * time.Hour, 9 * time.Hour, time.Hour},
		"of three, last": {90 * time.Minute, 1000, 3 * time.Hour, 2 * time.Hour, time.Hour},
	} {
		sc := newScene(t, 5)
		sc.s.GuardOpen = c.guard > 0
		sc.s.Policy = Policy{ReservationDepth: 1, Slice: 5 * time.Minute, GuardAfter: c.guard}
		sc.runJob(101, 10*time.Minute, onGPUs(0)...)
		if c.milli == job.WholeGPU {
			sc.runJob(102, 10*time.Minute, onGPUs(2, 3, 4)...)
		}
		sc.queueJob(1, 2000, both, since(c.first))
		sc.queueJob(2, 0, stoppable(c.milli), since(c.second))
		want := "start 3 on 1, keep 0+1 for 1 at +10m0s"
		if c.milli == 4000 {
			want = "start 3 on 1+2+3+4, keep 0+1 for 1 at +10m0s"
		}
		if name == "of three, last" {
			sc.queueJob(4, 0, stoppable(c.milli), since(c.second-time.Minute))
		}
		sc.queueJob(3, 0, stoppable(c.milli), since(c.third))
		if got := sc.plan(); got != want {
			t.Errorf("%s: planned: %s\n   want: %s", name, got, want)
		}
	}
}

// halfOctave never rounds down.
func TestHalfOctave(t *testing.T) {
	const longest = 10 * 365 * 24 * time.Hour
	for d := time.Duration(1); d < longest; d += d/7 + 1 {
		if up := halfOctave(d); up < d || d > time.Second && float64(up) > 1.5*float64(d)+1e9 {
			t.Errorf("%s is rounded up to %s", d, up)
		}
	}
}

// A run time is rounded up to a power of two seconds.
func TestRunTime(t *testing.T) {
	for expected, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Second: time.Second, time.Second + 1: 2 * time.Second, 2 * time.Second: 2 * time.Second, time.Hour: 4096 * time.Second,
	} {
		if got := runTime(runLog(expected), 0); got != want || powerOfTwo(expected) != want {
			t.Errorf("%s is taken as %s, want %s", expected, got, want)
		}
	}
}
