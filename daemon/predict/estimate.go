package predict

import (
	"math"
	"time"
)

// Estimate is a distribution of run times: a lognormal one, and the shape that the last runs of the
// kind had. The zero value is none.
type Estimate struct {
	Median time.Duration
	Spread float64 // standard deviation of the natural logarithm; 0: the run time is known
	Ended  int     // number of jobs of the kind that have ended
	Known  bool    // a job of the same program has run to its end, so an end can be predicted
	forms  lengths
	trials lengths // the shape for Effort, which begins as logUniform
}

// minTail is the probability of still running below which an estimate was wrong and counts no more.
const minTail = 1e-6

// longestRun keeps durations far from the end of their range. The spread of runs between a second
// and longestRun is at most 9.8. maxSpread keeps what is computed from a spread in the range of
// floating point.
const (
	longestRun = 10 * 365 * 24 * time.Hour
	maxSpread  = 10
)

// Total returns the median run time of a job that has already run for ran. It is longer than ran.
func (e *Estimate) Total(ran time.Duration) time.Duration {
	if ran <= 0 {
		return e.Median
	}
	return e.total(ran, 0.5)
}

// LateTail is the probability that a job runs longer than Late.
const LateTail = 0.2

// Late returns the run time that a job that has already run for ran exceeds in one case of five.
func (e *Estimate) Late(ran time.Duration) time.Duration {
	return max(e.total(ran, LateTail), e.Total(ran))
}

// total returns the run time that a job that has already run for ran exceeds with this probability.
func (e *Estimate) total(ran time.Duration, chance float64) time.Duration {
	ran = max(ran, 0)
	switch {
	case e.Spread <= 0:
		return overrun(e.Median, ran)
	case ran >= longestRun:
		return overrun(longestRun, ran)
	}
	tail := e.tail(float64(ran))
	if tail < minTail {
		return min(2*ran, longestRun)
	}
	total := float64(e.Median) * math.Exp(e.Spread*math.Sqrt2*math.Erfcinv(2*chance*tail))
	return max(time.Duration(min(total, float64(longestRun))), ran+time.Second)
}

// tail returns the probability that a run takes longer than so many nanoseconds.
func (e *Estimate) tail(run float64) float64 {
	if run <= 0 {
		return 1
	}
	return math.Erfc(math.Log(run/float64(e.Median))/e.Spread/math.Sqrt2) / 2
}

// overrun doubles an expected run time until it is longer than what the job ran.
func overrun(expected, ran time.Duration) time.Duration {
	expected = max(expected, time.Second)
	for expected <= ran {
		if expected > math.MaxInt64/2 {
			return math.MaxInt64
		}
		expected *= 2
	}
	return expected
}

// Remaining returns how much longer a job runs that was expected to run for one time and has
// already run for another.
func Remaining(expected, ran time.Duration) time.Duration { return overrun(expected, ran) - ran }

// Effort returns the expected run time to spend on jobs of the kind for each one that ends. It is
// the minimum over all plans to stop a job again after at least a slice, for jobs that already ran
// for ran: the inverse of the Gittins index (J. Gittins, Bandit Processes and Dynamic Allocation
// Indices, 1979; Tiresias, NSDI 2019, for GPUs). If run times are alike, it is what is left of one.
// If they differ by orders of magnitude, it grows with what the job has had.
func (e *Estimate) Effort(ran, slice time.Duration) time.Duration {
	if e.Spread <= 0 {
		return overrun(e.Median, ran) - ran
	}
	effort := e.trials.effort(ran, max(slice, time.Second))
	return time.Duration(min(max(effort, float64(time.Second)), float64(longestRun)))
}

// Draw returns a run time for a job that has already run for ran: the quantile u of the estimate.
func (e *Estimate) Draw(u float64, ran time.Duration) time.Duration {
	if e.Spread <= 0 {
		return e.Total(ran)
	}
	if d, ok := e.forms.draw(u, ran); ok {
		return max(d, ran+time.Second)
	}
	return min(2*ran, longestRun)
}
