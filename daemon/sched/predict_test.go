package sched

import (
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestExpect asks for the run time of a job of user 1 after some have ended. The
// narrowest key of which something is known counts: the command's shape and
// size, the script, the size, the user, all.
func TestExpect(t *testing.T) {
	ask := job.Request{GPUMilli: 1000, Shape: "train", Script: "run.sh"}
	ended := func(uid, milli int, shape, script string, minutes ...int) func(*Predictor) {
		return func(p *Predictor) {
			for _, m := range minutes {
				p.Observe(uid, &job.Request{GPUMilli: milli, Shape: shape, Script: script}, time.Duration(m)*time.Minute, noon.Time())
			}
		}
	}
	for name, c := range map[string]struct {
		seen []func(*Predictor)
		want time.Duration
	}{
		"nothing is known":          {nil, time.Hour},
		"somebody's job":            {[]func(*Predictor){ended(2, 4000, "", "", 7)}, 7 * time.Minute},
		"the user's":                {[]func(*Predictor){ended(1, 4000, "", "", 5), ended(2, 1000, "train", "run.sh", 9)}, 5 * time.Minute},
		"of this size":              {[]func(*Predictor){ended(1, 1000, "", "", 4), ended(1, 4000, "train", "", 5)}, 4 * time.Minute},
		"of this script":            {[]func(*Predictor){ended(1, 4000, "x", "run.sh", 3), ended(1, 1000, "", "", 4)}, 3 * time.Minute},
		"of this shape":             {[]func(*Predictor){ended(1, 1000, "train", "", 2), ended(1, 4000, "x", "run.sh", 3)}, 2 * time.Minute},
		"the mean of two":           {[]func(*Predictor){ended(1, 1000, "train", "", 2, 4)}, 3 * time.Minute},
		"of the last two":           {[]func(*Predictor){ended(1, 1000, "train", "", 100, 2, 4)}, 3 * time.Minute},
		"never below half a minute": {[]func(*Predictor){ended(1, 1000, "train", "", 0)}, 30 * time.Second},
		"a shape of its own size":   {[]func(*Predictor){ended(1, 2000, "train", "", 2), ended(1, 1000, "", "", 4)}, 4 * time.Minute},
	} {
		p := NewPredictor(nil)
		for _, f := range c.seen {
			f(p)
		}
		if got := p.Expect(1, &ask); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The limit bounds what is expected, also below the shortest that is.
func TestExpectWithinTheLimit(t *testing.T) {
	p := NewPredictor(nil)
	for limit, want := range map[time.Duration]time.Duration{0: time.Hour, 2 * time.Hour: time.Hour, 10 * time.Minute: 10 * time.Minute, time.Second: time.Second} {
		if got := p.Expect(1, &job.Request{TimeLimit: limit}); got != want {
			t.Errorf("limit %s: %s, want %s", limit, got, want)
		}
	}
}

// What Observe returns, put on record and read again, makes a predictor that
// knows the same. Without shape and script there are three keys.
func TestPredictionsOnRecord(t *testing.T) {
	p := NewPredictor(nil)
	var known []job.Prediction
	for i, r := range []job.Request{{GPUMilli: 1000, Shape: "a", Script: "s"}, {GPUMilli: 1000}, {GPUMilli: 500, Shape: "a"}} {
		list := p.Observe(1, &r, time.Duration(i+1)*time.Minute, noon.Time())
		if want := []int{5, 3, 4}[i]; len(list) != want {
			t.Errorf("%+v: %d keys, want %d", r, len(list), want)
		}
		for _, k := range list {
			known = slices.DeleteFunc(known, func(o job.Prediction) bool { return o.Key == k.Key })
			known = append(known, k)
		}
	}
	again := NewPredictor(known)
	for uid := range 3 {
		for _, r := range []job.Request{{}, {GPUMilli: 1000}, {GPUMilli: 500}, {GPUMilli: 1000, Shape: "a"}, {Script: "s"}} {
			if a, b := p.Expect(uid, &r), again.Expect(uid, &r); a != b {
				t.Errorf("user %d %+v: %s, after reading again %s", uid, r, a, b)
			}
		}
	}
}

// The kind that was first seen longest ago is forgotten when there are too many.
func TestPredictionsAreBounded(t *testing.T) {
	p := NewPredictor(nil)
	p.put("first", pair{last: time.Minute})
	for i := range maxPredictions {
		p.put(time.Duration(i).String(), pair{last: time.Minute})
	}
	if _, known := p.seen["first"]; known || len(p.seen) != maxPredictions {
		t.Errorf("%d kinds are remembered, the first among them: %v", len(p.seen), known)
	}
}

// On overrun what is expected doubles until it is longer than what the job ran.
func TestOverrun(t *testing.T) {
	for _, c := range [][3]time.Duration{
		{10 * minute, 0, 10 * minute}, {10 * minute, 9 * minute, 10 * minute}, {10 * minute, 10 * minute, 20 * minute},
		{10 * minute, 75 * minute, 80 * minute}, {0, 0, time.Second},
	} {
		if got := overrun(c[0], c[1]); got != c[2] {
			t.Errorf("expected %s, ran %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
	for expected, want := range map[time.Duration]time.Duration{
		0: time.Second, time.Second: time.Second, time.Second + 1: 2 * time.Second, 2 * time.Second: 2 * time.Second, time.Hour: 4096 * time.Second,
	} {
		if got := runTime(runLog(expected), 0); got != want || powerOfTwo(expected) != want {
			t.Errorf("%s is taken as %s, want %s", expected, got, want)
		}
	}
}
