package predict

import (
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestEstimate asks for the run time of a job of user 1 after some jobs have ended. The more runs
// are known of a narrower key, the more that key counts.
func TestEstimate(t *testing.T) {
	ask := Kind{UID: 1, Milli: 1000, Script: "run.sh", Shape: "train"}
	ended := func(uid, milli int, shape, script string, times int, minutes float64) func(*Predictor) {
		return func(p *Predictor) {
			for range times {
				p.Observe(Kind{uid, milli, script, shape}, time.Duration(minutes*float64(minute)), true, noon)
			}
		}
	}
	type history []func(*Predictor)
	for name, c := range map[string]struct {
		seen  history
		want  time.Duration
		ended int
	}{
		"nothing is known":     {nil, time.Hour, 0},
		"somebody's":           {history{ended(2, 4000, "", "", 1, 15)}, 15 * time.Minute, 0},
		"one voice each":       {history{ended(2, 4000, "", "", 1000, 16), ended(3, 4000, "", "", 1, 4)}, 8 * time.Minute, 0},
		"the user's are long":  {history{ended(2, 4000, "", "", 1000, 15), ended(1, 4000, "", "", 10, 60)}, 58 * time.Minute, 0},
		"those of this size":   {history{ended(1, 4000, "", "", 1000, 15), ended(1, 1000, "", "", 10, 60)}, 58 * time.Minute, 0},
		"the same script":      {history{ended(1, 1000, "x", "run.sh", 1000, 40)}, 40 * time.Minute, 0},
		"the same command":     {history{ended(1, 1000, "train", "", 1000, 20), ended(1, 1000, "x", "run.sh", 1000, 40)}, 20 * time.Minute, 1000},
		"a size of its own":    {history{ended(1, 2000, "train", "run.sh", 1000, 20), ended(1, 1000, "", "", 1000, 40)}, 40 * time.Minute, 0},
		"least":                {history{ended(1, 1000, "train", "", 1000, 0)}, 30 * time.Second, 1000},
		"others' same command": {history{ended(2, 1000, "train", "run.sh", 1000, 5), ended(1, 1000, "", "", 1000, 50)}, 50 * time.Minute, 0},
	} {
		p := NewPredictor(nil)
		for _, f := range c.seen {
			f(p)
		}
		if got := p.Estimate(ask); got.Median < c.want*9/10 || got.Median > c.want*11/10 || got.Ended != c.ended {
			t.Errorf("%s: %s, %d ended, want about %s and %d", name, got.Median, got.Ended, c.want, c.ended)
		}
	}
}

// A job's end can't be predicted from other users' runs, from other programs of the same user, or
// from runs that were stopped. If the program is unknown, jobs of the same size count as alike.
func TestKnown(t *testing.T) {
	ask := Kind{UID: 1, Milli: 1000, Script: "run.sh", Shape: "train"}
	for name, c := range map[string]struct {
		ask, seen Kind
		ended     bool
		want      bool
	}{
		"the same command":  {ask, ask, true, true},
		"the same script":   {ask, Kind{1, 1000, "run.sh", "eval"}, true, true},
		"another script":    {ask, Kind{1, 1000, "other.sh", "eval"}, true, false},
		"another size":      {ask, Kind{1, 2000, "run.sh", "train"}, true, false},
		"another user":      {ask, Kind{2, 1000, "run.sh", "train"}, true, false},
		"it was stopped":    {ask, ask, false, false},
		"no program, size":  {Kind{UID: 1, Milli: 1000}, ask, true, true},
		"no program, other": {Kind{UID: 1, Milli: 2000}, ask, true, false},
	} {
		p := NewPredictor(nil)
		p.Observe(c.seen, time.Hour, c.ended, noon)
		if got := p.Estimate(c.ask).Known; got != c.want {
			t.Errorf("%s: known %t", name, got)
		}
	}
}

// The typical run time is the geometric mean: 10 minutes for runs of 1 and 100 minutes. If there
// are many runs, the last run has a weight of a tenth. The spread is that of the logarithms.
func TestTypical(t *testing.T) {
	p := NewPredictor(nil)
	for i, want := range []time.Duration{time.Minute, 10 * time.Minute} {
		list := p.Observe(Kind{UID: 1}, []time.Duration{time.Minute, 100 * time.Minute}[i], true, noon)
		if got := list[0]; got.Typical != want || got.Runs != i+1 || math.Abs(got.Spread-float64(i)*math.Log(10)) > 1e-9 {
			t.Errorf("after %d runs: %+v, want %s", i+1, got, want)
		}
	}
	for range 200 {
		p.Observe(Kind{UID: 1}, time.Minute, true, noon)
	}
	// In minutes, all earlier logarithms are 0, and the last has a weight of a tenth:
	// e^(ln(1024)/10) is 2.
	got := p.Observe(Kind{UID: 1}, 1024*time.Minute, true, noon)[0]
	if got.Typical.Round(time.Second) != 2*time.Minute {
		t.Errorf("after a run of 1024 minutes among many of one: %s, want 2m", got.Typical)
	}
}

// A job that was stopped raises the estimate. The more runs are known, the less the estimate rises.
// The job does not count as ended.
func TestBoundsTeach(t *testing.T) {
	p, kind := NewPredictor(nil), Kind{UID: 1, Milli: 1000, Shape: "a"}
	before := p.Estimate(kind).Median
	for range 10 {
		p.Observe(kind, 10*time.Hour, false, noon)
	}
	if after := p.Estimate(kind); after.Median < 2*before || after.Ended != 0 {
		t.Errorf("after ten jobs that ran 10h: %s, %d ended", after.Median, after.Ended)
	}
	for range 100 {
		p.Observe(kind, time.Minute, true, noon)
	}
	p.Observe(kind, time.Hour, false, noon)
	if after := p.Estimate(kind); after.Median > 2*time.Minute || after.Ended != 100 {
		t.Errorf("after many of a minute and a longer one: %s, %d ended", after.Median, after.Ended)
	}
}

// A predictor that is made from the records that Observe returned knows the same as the original,
// even if the original has nearly forgotten a run. A job without a known command and program has
// two keys.
func TestPredictionsOnRecord(t *testing.T) {
	p := NewPredictor(nil)
	var known []job.Prediction
	kinds := []Kind{{1, 1000, "s", "a"}, {1, 1000, "", ""}, {1, 500, "", "a"}, {2, 1000, "", ""}}
	for i, k := range kinds {
		list := p.Observe(k, time.Duration(i+1)*time.Minute, i != 1, noon)
		if want := []int{4, 2, 3, 2}[i]; len(list) != want {
			t.Errorf("%+v: %d keys, want %d", k, len(list), want)
		}
		for _, k := range list {
			known = slices.DeleteFunc(known, func(o job.Prediction) bool { return o.Key == k.Key })
			known = append(known, k)
		}
	}
	for range 500 {
		known = append(known, p.Observe(kinds[0], time.Hour, true, noon)...)
	}
	again := NewPredictor(known)
	for _, k := range append(kinds, Kind{UID: 3}, Kind{1, 500, "s", ""}) {
		if a, b := p.Estimate(k), again.Estimate(k); a != b {
			t.Errorf("%+v: %+v, after reading again %+v", k, a, b)
		}
	}
}

// Invalid keys are skipped. They may come from a file that somebody changed.
func TestKeysThatAreNone(t *testing.T) {
	p := NewPredictor([]job.Prediction{
		{Key: "all", Typical: time.Minute, Runs: 9}, {Key: "7 script x", Typical: time.Minute, Runs: 9},
		{Key: "7 nothing 5", Typical: time.Minute, Runs: 9}, {Key: "7 size x", Typical: time.Minute, Runs: 9},
		{Key: "7 shape 1000 ab", Typical: 8 * time.Hour, Runs: 50, Weight: 50, Spread: 1},
	})
	got := p.Estimate(Kind{UID: 7, Milli: 1000, Shape: "ab"})
	if got.Median < 7*time.Hour || got.Median > 9*time.Hour || got.Ended != 50 || p.keys != 1 {
		t.Errorf("%d keys, %s ± %g, %d ended", p.keys, got.Median, got.Spread, got.Ended)
	}
}

// For each user, a predictor remembers a limited number of kinds: those that were used most
// recently. The kinds of other users stay.
func TestPredictionsAreBounded(t *testing.T) {
	p := NewPredictor(nil)
	p.Observe(Kind{UID: 2, Shape: "x"}, time.Minute, true, noon)
	kind := func(i int) Kind { return Kind{UID: 1, Milli: 1000, Shape: strconv.Itoa(i)} }
	for i := range 2 * maxUserKeys {
		p.Observe(kind(i), time.Minute, true, noon)
		p.Observe(kind(0), time.Minute, true, noon)
	}
	if n := len(p.users[1].seen); n != maxUserKeys || p.users[1].order.Len() != n || p.keys != n+3 {
		t.Errorf("%d kinds of user 1 are remembered, %d of all", n, p.keys)
	}
	for i, want := range map[int]int{0: maxRuns, 1: 0, 2*maxUserKeys - 1: 1} {
		if got := p.Estimate(kind(i)).Ended; got != want {
			t.Errorf("of kind %d %d are known to have ended, want %d", i, got, want)
		}
	}
	if p.Estimate(Kind{UID: 2, Shape: "x"}).Ended != 1 {
		t.Error("another user's kind is forgotten")
	}
}

// The expected run time doubles until it is longer than the time for which the job has run.
func TestOverrun(t *testing.T) {
	for _, c := range [][3]time.Duration{
		{10 * minute, 0, 10 * minute}, {10 * minute, 9 * minute, 10 * minute}, {10 * minute, 10 * minute, 20 * minute},
		{10 * minute, 75 * minute, 80 * minute}, {0, 0, time.Second},
	} {
		if got := doubleUntil(c[0], c[1]); got != c[2] {
			t.Errorf("expected %s, ran %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
