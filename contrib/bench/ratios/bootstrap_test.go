package ratios

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rounds draws rounds of two figures of a known ratio of medians. What slows a round down does so for both.
func rounds(chance *rand.Rand, n int, ratio, together, apart float64) (pairs []Pair) {
	for range n {
		slow := math.Exp(together * chance.NormFloat64())
		own := func() float64 { return slow * math.Exp(apart*chance.NormFloat64()) }
		pairs = append(pairs, Pair{ratio * own(), own()})
	}
	return pairs
}

// Invariant 1: of many runs with a known ratio, about 95 % have it in their interval.
func TestIntervalsCoverTheTruth(t *testing.T) {
	const runs, ratio = 100, 2.5
	for _, c := range []struct {
		n               int
		together, apart float64
	}{{5, .1, .1}, {8, .3, .1}, {20, .1, .2}, {40, .3, .3}} {
		chance := rand.New(rand.NewPCG(7, uint64(c.n)))
		covered := 0
		for range runs {
			if i := Of(rounds(chance, c.n, ratio, c.together, c.apart)); i.Low <= ratio && ratio <= i.High {
				covered++
			}
		}
		if covered < runs*88/100 || c.n >= 20 && covered == runs {
			t.Errorf("%d rounds: %d of %d intervals hold the true ratio", c.n, covered, runs)
		}
	}
}

// More rounds make the interval narrower, about as their root.
func TestIntervalsNarrow(t *testing.T) {
	width := func(n int) float64 {
		i := Of(rounds(rand.New(rand.NewPCG(3, 3)), n, 2, .1, .2))
		return math.Log(i.High / i.Low)
	}
	if few, many := width(20), width(320); many > few/2 || many < few/8 {
		t.Errorf("an interval of width %.3f becomes %.3f with 16 times the rounds", few, many)
	}
}

// What slows both of a round down is not taken for noise: the same values in other pairs are surer of less.
func TestRoundsArePairs(t *testing.T) {
	pairs := rounds(rand.New(rand.NewPCG(5, 5)), 21, 2, .5, .01)
	shuffled := slices.Clone(pairs)
	for i := range pairs {
		shuffled[i].Theirs = pairs[(i+7)%len(pairs)].Theirs
	}
	own, other := Of(pairs), Of(shuffled)
	if own.Ratio != other.Ratio || own.High-own.Low > (other.High-other.Low)/2 {
		t.Errorf("in pairs %s, in others %s", own, other)
	}
}

// One round that went wrong does not move the ratio.
func TestOutlier(t *testing.T) {
	pairs := rounds(rand.New(rand.NewPCG(5, 5)), 21, 2, 0, .01)
	pairs[4].Ours *= 50
	if i := Of(pairs); i.Ratio < 1.98 || i.Ratio > 2.02 || i.Low < 1.95 || i.High > 2.05 {
		t.Errorf("%s", i)
	}
}

func TestFewRounds(t *testing.T) {
	if i := Of(nil); i != (Interval{}) {
		t.Errorf("of no rounds: %+v", i)
	}
	if i := Of([]Pair{{3, 2}}); i != (Interval{1.5, 1.5, 1.5}) {
		t.Errorf("of one round: %+v", i)
	}
	if i := Of([]Pair{{2, 2}, {4, 2}}); i != (Interval{1.5, 1, 2}) {
		t.Errorf("of two rounds: %+v", i)
	}
	if i := Of([]Pair{{2, 0}, {4, 0}}); i != (Interval{}) {
		t.Errorf("against nothing: %+v", i)
	}
}

// The quantiles of Student's distribution, from tables.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 10: 2.228, 11: 2.201, 20: 2.086, 60: 2.000, 1000: 1.962} {
		if got := student(freedom); math.Abs(got-want) > .003 {
			t.Errorf("of %d: %.4f, want %.3f", freedom, got, want)
		}
	}
}
