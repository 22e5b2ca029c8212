package predict

import (
	"math"
	"time"
)

// Estimate is a distribution of the run times of a kind of jobs. It has two parts: a lognormal
// distribution, and the shape of the distribution of the kind's last runs. The zero value means
// that there is no estimate.
type Estimate struct {
	Median time.Duration
	Spread float64 // standard deviation of the natural logarithm; 0: the run time is certain
	Ended  int     // number of jobs of the kind that have ended
	Known  bool    // a job of the same program has run to its end, so ends can be predicted
	forms  lengths
	trials lengths // the distribution that Effort uses; without runs it is logUniform
}

// minTail is a probability. By its estimate, a job that has run for very long should have ended. If
// the estimate gives less than minTail for the case that it still runs, the estimate was wrong and
// does not count.
const minTail = 1e-6

// longestRun keeps durations far from the end of their range. If all runs take between a second and
// longestRun, the spread is at most 9.8. maxSpread keeps results that are computed from a spread
// within the range of floating-point numbers.
const (
	longestRun = 10 * 365 * 24 * time.Hour
	maxSpread  = 10
)

// Total returns the median of the total run time of a job that has run for the given time already.
// The result is longer than that time.
func (e *Estimate) Total(elapsed time.Duration) time.Duration {
	if elapsed <= 0 {
		return e.Median
	}
	return e.totalTime(elapsed, 0.5)
}

// LateTail is the probability that a job runs longer than Late.
const LateTail = 0.2

// Late returns a total run time for a job that has run for the given time already. One such job in
// five runs longer than the result.
func (e *Estimate) Late(elapsed time.Duration) time.Duration {
	return max(e.totalTime(elapsed, LateTail), e.Total(elapsed))
}

// totalTime returns a total run time for a job that has run for the given time already. The
// argument chance is the probability that the job runs longer than the result.
func (e *Estimate) totalTime(elapsed time.Duration, chance float64) time.Duration {
	elapsed = max(elapsed, 0)
	switch {
	case e.Spread <= 0:
		return doubleUntil(e.Median, elapsed)
	case elapsed >= longestRun:
		return doubleUntil(longestRun, elapsed)
	}
	tail := e.tail(float64(elapsed))
	if tail < minTail {
		return min(2*elapsed, longestRun)
	}
	total := float64(e.Median) * math.Exp(e.Spread*math.Sqrt2*math.Erfcinv(2*chance*tail))
	return max(time.Duration(min(total, float64(longestRun))), elapsed+time.Second)
}

// tail returns the probability that a run takes longer than the given number of nanoseconds.
func (e *Estimate) tail(run float64) float64 {
	if run <= 0 {
		return 1
	}
	return math.Erfc(math.Log(run/float64(e.Median))/e.Spread/math.Sqrt2) / 2
}

// doubleUntil doubles an expected run time until it is longer than the time for which the job has
// run.
func doubleUntil(expected, elapsed time.Duration) time.Duration {
	expected = max(expected, time.Second)
	for expected <= elapsed {
		if expected > math.MaxInt64/2 {
			return math.MaxInt64
		}
		expected *= 2
	}
	return expected
}

// Remaining returns how much longer a job is expected to run. The argument expected is the run time
// that was expected when it started, and elapsed is the time for which it has run so far.
func Remaining(expected, elapsed time.Duration) time.Duration {
	return doubleUntil(expected, elapsed) - elapsed
}

// Effort returns how much run time jobs of the kind cost for each job that ends. Each of these jobs
// has run for the given time already, and may be stopped for good after at least a slice. Effort
// assumes that they are stopped at the best time. It is the inverse of the Gittins index (J.
// Gittins, Bandit Processes and Dynamic Allocation Indices, 1979; Tiresias, NSDI 2019, for GPUs).
// If run times are alike, Effort is what is left of the run time. If they differ by orders of
// magnitude, Effort grows with the time for which the job has run.
func (e *Estimate) Effort(elapsed, slice time.Duration) time.Duration {
	if e.Spread <= 0 {
		return doubleUntil(e.Median, elapsed) - elapsed
	}
	effort := e.trials.effort(elapsed, max(slice, time.Second))
	return time.Duration(min(max(effort, float64(time.Second)), float64(longestRun)))
}

// Draw returns the total run time at quantile u of the estimate, for a job that has run for the
// given time already.
func (e *Estimate) Draw(u float64, elapsed time.Duration) time.Duration {
	if e.Spread <= 0 {
		return e.Total(elapsed)
	}
	if d, ok := e.forms.draw(u, elapsed); ok {
		return max(d, elapsed+time.Second)
	}
	return min(2*elapsed, longestRun)
}
