package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestForecastKeepsForWideJobs: who would stand in the way of the first job that
// does not fit is foretold behind it, as the pass will have it.
func TestForecastKeepsForWideJobs(t *testing.T) {
	sc := newScene(t, 2)
	sc.s.Policy.ReservationDepth = 1
	sc.runs(101, 10*minute, on(0)...)
	sc.runs(102, 30*minute, on(1)...)
	sc.waits(1, 2000, expected(1024*time.Second))
	sc.waits(2, 1000, expected(2048*time.Second))
	sc.waits(3, 1000, expected(512*time.Second))
	want := map[job.ID]time.Duration{1: 30 * minute, 2: 30*minute + 1024*time.Second, 3: 10 * minute}
	for id, at := range sc.p.Forecast(&sc.s, sc.q) {
		if at != noon.Add(want[id]) {
			t.Errorf("job %d at +%s, want +%s", id, time.Duration(at-noon), want[id])
		}
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("not foretold: %v", want)
	}
}

// foretold says when jobs start, such as "1 at +10m0s, 3 at +0s".
func (sc *scene) foretold() string {
	var list []string
	starts := sc.p.Forecast(&sc.s, sc.q)
	for _, id := range slices.Sorted(maps.Keys(starts)) {
		list = append(list, fmt.Sprintf("%d at +%s", id, time.Duration(starts[id]-noon)))
	}
	return strings.Join(list, ", ")
}

// Of jobs at a quota or at the limit of their array nothing is foretold, nor of those
// that only a load keeps waiting, as nobody knows for how long.
func TestWhatIsNotForetold(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*scene)
		want string
	}{
		"all":          {func(*scene) {}, "1 at +0s, 2 at +10m0s"},
		"at a quota":   {func(sc *scene) { sc.user("ann").MaxJobs, sc.user("ann").Jobs = 1, 1 }, ""},
		"at its limit": {func(sc *scene) { sc.q.entries[1].Throttle = &Throttle{} }, "2 at +0s"},
		"within it":    {func(sc *scene) { sc.q.entries[1].Throttle = &Throttle{Left: 1} }, "1 at +0s, 2 at +10m0s"},
		"a load":       {func(sc *scene) { sc.s.Policy.MaxLoadPercent, sc.s.GPUs[1].LoadPercent = 50, 60 }, ""},
		"a load of a job": {func(sc *scene) {
			sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 50, 60
		}, "1 at +0s, 2 at +10m0s"},
	} {
		sc := newScene(t, 2)
		sc.runs(101, 10*minute, on(0)...)
		sc.waits(1, 1000)
		sc.waits(2, 1000)
		c.set(sc)
		if got := sc.foretold(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// That one user's job does not fit beside a reservation says nothing of those for
// whom it is made.
func TestForecastOfWhatIsReserved(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.ReservationDepth = 0
	bob := sc.user("bob")
	sc.reserve(0, time.Hour, "for bob", 0).UIDs = []int{bob.UID}
	sc.waits(1, 1000)
	sc.waits(2, 1000, of(bob))
	if got, want := sc.foretold(), "1 at +1h8m16s, 2 at +0s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestForecastComesTrue: where everything runs as long as expected, nothing new
// comes and the order stays, each job starts when it was foretold.
func TestForecastComesTrue(t *testing.T) {
	a := &Account{UID: 1}
	for seed := range drawing(500) {
		l := newLoop(t, seed, 4, Policy{FIFO: true, ReservationDepth: int(seed % 4)})
		for range 1 + l.IntN(30) {
			l.add(0, a, job.Request{GPUMilli: (1 + l.IntN(8)) * job.WholeGPU / 2}, time.Second<<l.IntN(8))
		}
		var foretold map[job.ID]Instant
		l.passed = func(*Plan, []job.ID) {
			if foretold == nil {
				p := NewPlanner()
				foretold = p.Forecast(&l.s, l.q)
			}
		}
		l.toTheEnd()
		for _, j := range l.jobs {
			if foretold[j.ID] != j.first {
				t.Errorf("seed %d: job %d on %s GPUs for %s was foretold at +%s and started at +%s", seed, j.ID, job.FormatGPUs(j.Request.GPUMilli),
					j.run, time.Duration(foretold[j.ID]-noon), time.Duration(j.first-noon))
			}
		}
		if t.Failed() {
			return
		}
	}
}

// BenchmarkForecast foretells the first 200 starts on 64 GPUs that are all held.
func BenchmarkForecast(b *testing.B) {
	s, q := crowded(100_000)
	p := NewPlanner()
	for b.Loop() {
		if len(p.Forecast(s, q)) == 0 {
			b.Fatal("nothing is foretold")
		}
	}
}
