package ratios

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Pair is one round: a figure, and what it is compared with, measured right before or after it.
type Pair struct{ Ours, Theirs float64 }

// An Interval is a ratio with the interval of 95 % around it.
type Interval struct {
	Ratio float64 `toml:"ratio"`
	Low   float64 `toml:"low"`
	High  float64 `toml:"high"`
}

// resamples is how often the rounds are drawn again: with more, the ends of the interval
// hardly move.
const resamples = 2000

// Of is the ratio of the medians of the pairs, ours to theirs. Its interval is a bootstrap over whole rounds, so that
// what slowed both of a round down counts for neither. Of one round it is the ratio alone; of none it is zero.
func Of(pairs []Pair) Interval {
	ratio := digits(ofMedians(pairs))
	if len(pairs) < 2 {
		return Interval{ratio, ratio, ratio}
	}
	chance := rand.New(rand.NewPCG(1, 2)) // the same rounds give the same interval
	drawn, again := make([]float64, resamples), make([]Pair, len(pairs))
	for i := range drawn {
		for k := range again {
			again[k] = pairs[chance.IntN(len(pairs))]
		}
		drawn[i] = ofMedians(again)
	}
	slices.Sort(drawn)
	tail := tailOf(len(pairs))
	return Interval{ratio, digits(at(drawn, tail)), digits(at(drawn, 1-tail))}
}

// tailOf is what is cut off at each end. 2.5 % would be too much for a few rounds: this is the correction of T.
// Hesterberg, What Teachers Should Know about the Bootstrap (2015), section 5.3.
func tailOf(rounds int) float64 {
	n := float64(rounds)
	z := math.Sqrt(n/(n-1)) * student(rounds-1)
	return math.Erfc(z/math.Sqrt2) / 2
}

// student is the quantile 0.975 of Student's distribution.
func student(freedom int) float64 {
	few := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	if freedom <= len(few) {
		return few[freedom-1]
	}
	const z = 1.959964 // the normal one, and the first terms of what is to add (Abramowitz and Stegun, 26.7.5)
	n := float64(freedom)
	return z + (z*z*z+z)/(4*n) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*n*n)
}

func ofMedians(pairs []Pair) float64 {
	ours, theirs := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		ours[i], theirs[i] = p.Ours, p.Theirs
	}
	of := Median(theirs)
	if of == 0 {
		return 0
	}
	return Median(ours) / of
}

// Median is the middle one, or between the two in the middle; of none it is zero. It sorts the values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// digits keeps four of a number.
func digits(f float64) float64 {
	if f == 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(f)))-3)
	return math.Round(f/unit) * unit
}

// at is a quantile of sorted values.
func at(sorted []float64, q float64) float64 {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
