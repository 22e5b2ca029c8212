package sched

import (
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
