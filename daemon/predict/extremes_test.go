package predict

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// These are extreme spreads and run times. Computations with them subtract numbers that are nearly
// equal.
var (
	extremeSpreads = []float64{1e-12, 1e-3, 0.1, 1, 3, 6.5, 8, maxSpread}
	extremeRuns    = []time.Duration{
		0, 1, time.Second, 30 * time.Second, time.Hour, 24 * time.Hour, 365 * 24 * time.Hour, longestRun, 10 * longestRun,
		math.MaxInt64 / 2, math.MaxInt64,
	}
)

// The expected run time is longer than the job has run already, and results that are computed from
// it stay in range.
func TestEstimatesAtExtremes(t *testing.T) {
	for _, spread := range append(extremeSpreads, 0) {
		for _, median := range extremeRuns {
			e := Lognormal(max(median, shortestRun), spread)
			for _, ran := range extremeRuns {
				if got := e.Total(ran); got <= ran && ran < math.MaxInt64 || got <= 0 {
					t.Errorf("%s ± %g: a job that ran %s is to run %s", median, spread, ran, got)
				}
				for _, slice := range extremeRuns {
					got := e.Effort(ran, slice)
					if got < 0 || got == 0 && spread > 0 {
						t.Errorf("%s ± %g, ran %s, slice %s: effort %s", median, spread, ran, slice, got)
					}
				}
			}
		}
	}
}

// Effort agrees with a direct calculation from runs of every length. This calculation adds up the
// time until each run ends or is given up, and divides the sum by the number of runs that end.
func TestEffortBySteps(t *testing.T) {
	const slice = 30 * time.Minute
	for _, spread := range extremeSpreads[2:] {
		for _, median := range []time.Duration{time.Minute, 5 * time.Hour} {
			e := Lognormal(median, spread)
			var lengths []time.Duration // spread evenly within each bin, as the distribution assumes
			for i, part := range e.trials {
				for k := range int(part * stepRuns) {
					at := edge(i) + (edge(i+1)-edge(i))*(float64(k)+0.5)/float64(int(part*stepRuns))
					lengths = append(lengths, time.Duration(at*float64(time.Second)))
				}
			}
			for _, ran := range []time.Duration{0, time.Minute, time.Hour, 30 * time.Hour} {
				want, ok := effortBySteps(lengths, ran, slice)
				if got := e.Effort(ran, slice); ok && math.Abs(float64(got)/float64(want)-1) > 0.02 {
					t.Errorf("%s ± %g after %s: effort %s, by steps %s", median, spread, ran, got, want)
				}
			}
		}
	}
}

const stepRuns = 20_000

// effortBySteps tries each bin edge as the moment to give up. If too few runs are that long, it
// returns false.
func effortBySteps(lengths []time.Duration, ran, slice time.Duration) (best time.Duration, ok bool) {
	best = longestRun
	for i := range len(Estimate{}.trials) {
		until := time.Duration(edge(i+1) * float64(time.Second))
		if until < ran+slice {
			continue
		}
		spent, ended, left := time.Duration(0), 0, 0
		for _, d := range lengths {
			if d < ran {
				continue
			}
			if left++; d < until {
				ended++
			}
			spent += (min(d, until) - ran) / 1000
		}
		if ok = left > stepRuns/20; !ok {
			return 0, false
		}
		if ended > 10 {
			best = min(best, spent/time.Duration(ended)*1000)
		}
	}
	return best, ok
}

// Estimates stay in range whatever is learned, even from wrong records.
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
				p.Observe(Kind{UID: uid}, first, true, noon)
				p.Observe(Kind{UID: uid}, math.MaxInt64-first, true, noon)
				p.Observe(Kind{UID: uid}, first, false, noon)
			}
			e := p.Estimate(Kind{UID: uid})
			if !(e.Spread > 0 && e.Spread <= maxSpread) || e.Median < shortestRun || e.Median > longestRun {
				t.Fatalf("user %d after %s: %s ± %g", uid, first, e.Median, e.Spread)
			}
			sum := 0.0
			for i := range e.forms {
				sum += (e.forms[i] + e.trials[i]) / 2
			}
			if math.Abs(sum-1) > 0.1 && uid > 9 {
				t.Fatalf("user %d after %s: the parts are %g in all", uid, first, sum)
			}
			if effort := e.Effort(time.Hour, time.Minute); effort < time.Second || effort > longestRun {
				t.Fatalf("user %d after %s: effort %s", uid, first, effort)
			}
		}
	}
}
