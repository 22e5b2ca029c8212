package sched

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The extremes that run times are tried at: of a second to a hundred years, from all
// alike to spread over their whole range, where figures that are nearly equal are
// subtracted.
var (
	extremeSpreads = []float64{1e-12, 1e-3, 0.1, 1, 3, 6.5, 8, maxSpread}
	extremeRuns    = []time.Duration{
		0, 1, time.Second, 30 * time.Second, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour, longestRun, 10 * longestRun,
		math.MaxInt64 / 2, math.MaxInt64,
	}
)

// What is expected is longer than what a job ran, and what is computed with it stays
// in range.
func TestEstimatesAtExtremes(t *testing.T) {
	for _, spread := range append(extremeSpreads, 0) {
		for _, median := range extremeRuns {
			e := Estimate{Median: max(median, shortestRun), Spread: spread}
			e.forms = e.lognormal()
			for _, ran := range extremeRuns {
				if got := e.Total(ran); got <= ran && ran < math.MaxInt64 || got <= 0 {
					t.Errorf("%s ± %g: a job that ran %s is to run %s", median, spread, ran, got)
				}
				for _, slice := range extremeRuns {
					for _, runs := range []bool{true, false} {
						got := e.Effort(ran, slice, runs)
						if got < 0 || got == 0 && spread > 0 {
							t.Errorf("%s ± %g, ran %s, slice %s: effort %s", median, spread, ran, slice, got)
						}
						if up := halfOctave(got); up < min(got, longestRun) {
							t.Errorf("%s is rounded up to %s", got, up)
						}
					}
				}
			}
		}
	}
}

// The effort by the lognormal is what integrating the tail in small steps says.
func TestEffortBySteps(t *testing.T) {
	for _, spread := range extremeSpreads[2:] {
		for _, median := range []time.Duration{time.Minute, 5 * time.Hour} {
			e := Estimate{Median: median, Spread: spread}
			for _, ran := range []time.Duration{0, time.Minute, time.Hour, 30 * time.Hour} {
				const slice = 30 * time.Minute
				if e.tail(float64(ran)) < 1e-3 {
					continue
				}
				want := effortBySteps(&e, float64(ran), float64(slice))
				if got := e.effort(float64(ran), float64(slice)); math.Abs(got/want-1) > 0.01 {
					t.Errorf("%s ± %g after %s: effort %g, by steps %g", median, spread, ran, got, want)
				}
			}
		}
	}
}

// effortBySteps adds up the tail over a grid that grows with the distance.
func effortBySteps(e *Estimate, ran, slice float64) float64 {
	const fine = 1.0005
	best, spent, at, step := math.Inf(1), 0.0, ran, slice/1e5
	ahead := slice
	for range effortSteps {
		for at < ran+ahead {
			to := min(at+step, ran+ahead)
			spent += (e.tail(at) + e.tail(to)) / 2 * (to - at)
			at, step = to, step*fine
		}
		if ends := e.tail(ran) - e.tail(at); ends > leastTail {
			best = min(best, spent/ends)
		}
		ahead *= effortStep
	}
	return best
}

// Whatever is learned, also from what is on record by mistake, estimates stay in range.
func TestLearningAtExtremes(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	var known []job.Prediction
	for i, x := range []float64{nan, inf, -inf, -1, 1e300} {
		known = append(known, job.Prediction{
			Key: strconv.Itoa(i), Typical: time.Duration(math.MinInt64), Spread: x, Weight: x, Runs: -5,
			Lengths: []job.LengthShare{{Bin: -1, Part: x}, {Bin: 3, Part: x}, {Bin: 48, Part: x}},
		}, job.Prediction{Key: strconv.Itoa(10 + i), Typical: math.MaxInt64, Spread: 1, Weight: 1, Runs: math.MaxInt64})
	}
	p := NewPredictor(known)
	for uid := range 16 {
		for _, first := range extremeRuns {
			for range 40 {
				p.Observe(Kind{UID: uid}, first, true, noon.Time())
				p.Observe(Kind{UID: uid}, math.MaxInt64-first, true, noon.Time())
				p.Observe(Kind{UID: uid}, first, false, noon.Time())
			}
			e := p.Estimate(Kind{UID: uid})
			if !(e.Spread > 0 && e.Spread <= maxSpread) || e.Median < shortestRun || e.Median > longestRun {
				t.Fatalf("user %d after %s: %s ± %g", uid, first, e.Median, e.Spread)
			}
			sum := 0.0
			for _, part := range e.forms {
				sum += part
			}
			if math.Abs(sum-1) > 0.1 && uid > 9 {
				t.Fatalf("user %d after %s: the parts are %g in all", uid, first, sum)
			}
			if effort := e.Effort(time.Hour, time.Minute, true); effort < time.Second || effort > longestRun {
				t.Fatalf("user %d after %s: effort %s", uid, first, effort)
			}
		}
	}
}

// Where nothing is forgotten a large machine uses more than a duration holds.
func TestUseOfYears(t *testing.T) {
	a, now := &Account{}, At(noon.Time())
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
