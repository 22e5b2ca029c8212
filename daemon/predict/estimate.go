package predict

import (
	"math"
	"time"
)

// Estimate is what is believed of a run time: that it is lognormal, as run times
// spread over many orders of magnitude, and what the last runs of the kind say of its
// form. The zero value is none.
type Estimate struct {
	Median time.Duration
	Spread float64 // standard deviation of the natural logarithm; 0: the run time is known
	Ended  int     // how many jobs of the kind have ended
	Known  bool    // a job like it has run to its end: so it can be told when one ends
	forms  lengths
	trials lengths // the form by which Effort goes, which begins evenly and not as the lognormal
}

// leastTail is the chance of a job to be there still under which a belief counts no
// more: it was wrong.
const leastTail = 1e-6

// longestRun keeps durations far from the end of their range. Runs from a second to that
// spread by 9.8 at most, and maxSpread keeps what is computed with them in the range of
// floating point.
const (
	longestRun = 10 * 365 * 24 * time.Hour
	maxSpread  = 10
)

// Total is the median of the run time of a job that ran so long already, always more
// than that.
func (e *Estimate) Total(ran time.Duration) time.Duration {
	if ran <= 0 {
		return e.Median
	}
	return e.total(ran, 0.5)
}

// LateTail is the chance that a job is still there at the moment that Late gives.
const LateTail = 0.2

// Late is the run time that such a job exceeds in one case of five.
func (e *Estimate) Late(ran time.Duration) time.Duration {
	return max(e.total(ran, LateTail), e.Total(ran))
}

// total is the run time that a job that ran so long exceeds with such a chance.
func (e *Estimate) total(ran time.Duration, chance float64) time.Duration {
	ran = max(ran, 0)
	switch {
	case e.Spread <= 0:
		return overrun(e.Median, ran)
	case ran >= longestRun:
		return overrun(longestRun, ran)
	}
	tail := e.tail(float64(ran))
	if tail < leastTail {
		return min(2*ran, longestRun)
	}
	total := float64(e.Median) * math.Exp(e.Spread*math.Sqrt2*math.Erfcinv(2*chance*tail))
	return max(time.Duration(min(total, float64(longestRun))), ran+time.Second)
}

// tail is the chance that a run takes longer than so many nanoseconds.
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

// Remaining is how much longer a job runs that was expected to run for a time
// and ran for another.
func Remaining(expected, ran time.Duration) time.Duration { return overrun(expected, ran) - ran }

// Effort is how much run time one must expect to give a job of a kind for each that ends, at
// best, if it ran so long and may be stopped again after any time of at least a slice: the
// inverse of its Gittins index (J. Gittins, Bandit Processes and Dynamic Allocation Indices,
// 1979; Tiresias, NSDI 2019, for GPUs). Where run times are alike it is what is left of it, where
// they differ by orders of magnitude it grows with what the job has had.
func (e *Estimate) Effort(ran, slice time.Duration) time.Duration {
	if e.Spread <= 0 {
		return overrun(e.Median, ran) - ran
	}
	effort := e.trials.effort(ran, max(slice, time.Second))
	return time.Duration(min(max(effort, float64(time.Second)), float64(longestRun)))
}

// Draw is the run time of a job that ran so long already: with chance u it is shorter, by
// what is believed.
func (e *Estimate) Draw(u float64, ran time.Duration) time.Duration {
	if e.Spread <= 0 {
		return e.Total(ran)
	}
	if d, ok := e.forms.draw(u, ran); ok {
		return max(d, ran+time.Second)
	}
	return min(2*ran, longestRun)
}
