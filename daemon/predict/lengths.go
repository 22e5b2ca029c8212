package predict

import (
	"math"
	"time"
)

// lengths is a distribution of run times in half octaves of seconds: what part of the runs is at
// least 2^(i/2) seconds long, and shorter than the next.
type lengths [48]float64

// edge is where bin i begins, in seconds.
func edge(i int) float64 { return math.Exp2(float64(i) / 2) }

func binOf(run time.Duration) int {
	return min(int(2*math.Log2(max(run.Seconds(), 1))), len(lengths{})-1)
}

// learn lets a run weigh one in so many.
func (l *lengths) learn(run time.Duration, weight float64) {
	for i := range l {
		l[i] *= 1 - 1/weight
	}
	l[binOf(run)] += 1 / weight
	for i := range l { // what is too little to count isn't kept on record, and so a restart forgets nothing
		if l[i] <= leastTail {
			l[i] = 0
		}
	}
}

// lognormal is the distribution of an estimate.
func (e *Estimate) lognormal() (l lengths) {
	before := 0.0
	for i := range l {
		upTo := 1.0
		if i < len(l)-1 {
			upTo = 1 - e.tail(edge(i+1)*float64(time.Second))
		}
		l[i], before = upTo-before, upTo
	}
	return l
}

// longestTrial is up to where evenly reaches.
const longestTrial = 72 * time.Hour

// evenly is what a job may run for of which nothing is known: anything from shortestRun to
// longestTrial, one order of magnitude as likely as another.
var evenly = func() (l lengths) {
	first, last := binOf(shortestRun), binOf(longestTrial)
	for i := first; i <= last; i++ {
		l[i] = 1 / float64(last-first+1)
	}
	return l
}()

// mix draws a distribution towards that of so many runs.
func (l *lengths) mix(other *lengths, runs float64) {
	for i := range l {
		l[i] = (runs*other[i] + priorRuns*l[i]) / (runs + priorRuns)
	}
}

// effort is Estimate.Effort by the distribution, in nanoseconds.
func (l *lengths) effort(ran, slice time.Duration) float64 {
	a, left := ran.Seconds(), 0.0
	first := binOf(ran)
	part := func(i int) float64 {
		if i > first || a <= edge(i) {
			return l[i]
		}
		return l[i] * (edge(i+1) - a) / (edge(i+1) - edge(i))
	}
	for i := first; i < len(l); i++ {
		left += part(i)
	}
	if left < leastTail {
		return float64(max(ran, slice))
	}
	best, ends, spent := math.Inf(1), 0.0, 0.0
	for i := first; i < len(l); i++ {
		from, to := max(edge(i), a), edge(i+1)
		ends += part(i)
		spent += part(i) * ((from+to)/2 - a)
		if to-a >= slice.Seconds() && ends > leastTail {
			best = min(best, (spent+(left-ends)*(to-a))/ends)
		}
	}
	return best * float64(time.Second)
}

// draw is the run time, of those longer than ran, than which a part u is shorter; false: there are none.
func (l *lengths) draw(u float64, ran time.Duration) (time.Duration, bool) {
	a, left := ran.Seconds(), 0.0
	first := binOf(ran)
	from := func(i int) float64 { return max(edge(i), a) }
	part := func(i int) float64 {
		return l[i] * math.Log(edge(i+1)/from(i)) / math.Log(edge(i+1)/edge(i))
	}
	for i := first; i < len(l); i++ {
		left += part(i)
	}
	if left < leastTail {
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
