package predict

import (
	"math"
	"time"
)

// lengths is a distribution of run times in half octaves of seconds: element i is the share of runs
// that take at least 2^(i/2) seconds and less than 2^((i+1)/2).
type lengths [48]float64

// edge returns the lower end of bin i, in seconds.
func edge(i int) float64 { return math.Exp2(float64(i) / 2) }

func binOf(run time.Duration) int {
	return min(int(2*math.Log2(max(run.Seconds(), 1))), len(lengths{})-1)
}

// learn adds a run to the distribution, of which the run then makes up 1/weight.
func (l *lengths) learn(run time.Duration, weight float64) {
	for i := range l {
		l[i] *= 1 - 1/weight
	}
	l[binOf(run)] += 1 / weight
	for i := range l { // negligible parts are dropped, since records leave them out
		if l[i] <= minTail {
			l[i] = 0
		}
	}
}

// Lognormal returns an estimate whose run times are exactly lognormal.
func Lognormal(median time.Duration, spread float64) Estimate {
	e, before := Estimate{Median: median, Spread: spread}, 0.0
	for i := range e.forms {
		upTo := 1.0
		if i < len(e.forms)-1 {
			upTo = 1 - e.tail(edge(i+1)*float64(time.Second))
		}
		e.forms[i], before = upTo-before, upTo
	}
	e.trials = e.forms
	return e
}

// longestTrial is the upper end of logUniform.
const longestTrial = 72 * time.Hour

// logUniform is the distribution for jobs about which nothing is known. It extends from shortestRun
// to longestTrial, and each order of magnitude is equally likely.
var logUniform = func() (l lengths) {
	first, last := binOf(shortestRun), binOf(longestTrial)
	for i := first; i <= last; i++ {
		l[i] = 1 / float64(last-first+1)
	}
	return l
}()

// mix moves a distribution towards another one, which was learned from the given number of runs.
func (l *lengths) mix(other *lengths, runs float64) {
	for i := range l {
		l[i] = (runs*other[i] + priorRuns*l[i]) / (runs + priorRuns)
	}
}

// effort computes Estimate.Effort for this distribution, in nanoseconds.
func (l *lengths) effort(elapsed, slice time.Duration) float64 {
	a, left := elapsed.Seconds(), 0.0
	first := binOf(elapsed)
	part := func(i int) float64 {
		if i > first || a <= edge(i) {
			return l[i]
		}
		return l[i] * (edge(i+1) - a) / (edge(i+1) - edge(i))
	}
	for i := first; i < len(l); i++ {
		left += part(i)
	}
	if left < minTail {
		return float64(max(elapsed, slice))
	}
	best, ends, spent := math.Inf(1), 0.0, 0.0
	for i := first; i < len(l); i++ {
		from, to := max(edge(i), a), edge(i+1)
		ends += part(i)
		spent += part(i) * ((from+to)/2 - a)
		if to-a >= slice.Seconds() && ends > minTail {
			best = min(best, (spent+(left-ends)*(to-a))/ends)
		}
	}
	return best * float64(time.Second)
}

// draw returns the run time at quantile u among the run times that are longer than the argument
// elapsed. If there are none, it returns false.
func (l *lengths) draw(u float64, elapsed time.Duration) (time.Duration, bool) {
	a, left := elapsed.Seconds(), 0.0
	first := binOf(elapsed)
	from := func(i int) float64 { return max(edge(i), a) }
	part := func(i int) float64 {
		return l[i] * math.Log(edge(i+1)/from(i)) / math.Log(edge(i+1)/edge(i))
	}
	for i := first; i < len(l); i++ {
		left += part(i)
	}
	if left < minTail {
		return 0, false
	}
	rest := u * left
	for i := first; i < len(l); i++ {
		p := part(i)
		if rest <= p && p > 0 {
			return time.Duration(from(i) * math.Pow(edge(i+1)/from(i), rest/p) * float64(time.Second)), true
		}
		rest -= p
	}
	return longestRun, true
}
