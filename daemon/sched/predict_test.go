package sched

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// TestExpect asks for the run time of a job of user 1 after some have ended.
// Narrower keys count the more, the more of their runs were seen.
func TestExpect(t *testing.T) {
	ask := job.Request{GPUMilli: 1000, Derived: job.Derived{Shape: "train", Script: "run.sh"}}
	ended := func(uid, milli int, shape, script string, times int, minutes float64) func(*Predictor) {
		return func(p *Predictor) {
			for range times {
				p.Observe(uid, &job.Request{GPUMilli: milli, Derived: job.Derived{Shape: shape, Script: script}}, time.Duration(minutes*float64(minute)), noon.Time())
			}
		}
	}
	type history []func(*Predictor)
	for name, c := range map[string]struct {
		seen history
		want time.Duration
	}{
		"nothing is known": {nil, time.Hour},
		// An hour stands for one run: the mean of 60 and 15 is 30.
		"one job of somebody":  {history{ended(2, 4000, "", "", 1, 15)}, 30 * time.Minute},
		"many of somebody":     {history{ended(2, 4000, "", "", 1000, 15)}, 15 * time.Minute},
		"the user's are long":  {history{ended(2, 4000, "", "", 1000, 15), ended(1, 4000, "", "", 10, 60)}, 47 * time.Minute},
		"those of this size":   {history{ended(1, 4000, "", "", 1000, 15), ended(1, 1000, "", "", 10, 60)}, 47 * time.Minute},
		"the same script":      {history{ended(1, 4000, "x", "run.sh", 1000, 40)}, 40 * time.Minute},
		"the same command":     {history{ended(1, 1000, "train", "", 1000, 20), ended(1, 4000, "x", "run.sh", 1000, 40)}, 20 * time.Minute},
		"a size of its own":    {history{ended(1, 2000, "train", "", 1000, 20), ended(1, 1000, "", "", 1000, 40)}, 40 * time.Minute},
		"least":                {history{ended(1, 1000, "train", "", 1000, 0)}, 30 * time.Second},
		"others' same command": {history{ended(2, 1000, "train", "run.sh", 1000, 5), ended(1, 1000, "", "", 1000, 50)}, 50 * time.Minute},
	} {
		p := NewPredictor(nil)
		for _, f := range c.seen {
			f(p)
		}
		if got := p.Expect(1, &ask); got < c.want*9/10 || got > c.want*11/10 {
			t.Errorf("%s: %s, want about %s", name, got, c.want)
		}
	}
}

// A geometric mean: of runs of 1 and 100 minutes it is 10. Of many runs the last
// weighs a tenth.
func TestTypical(t *testing.T) {
	p := NewPredictor(nil)
	for i, want := range []time.Duration{time.Minute, 10 * time.Minute} {
		list := p.Observe(1, &job.Request{}, []time.Duration{time.Minute, 100 * time.Minute}[i], noon.Time())
		if got := list[0]; got.Typical != want || got.Runs != i+1 {
			t.Errorf("after %d runs: %+v, want %s", i+1, got, want)
		}
	}
	for range 200 {
		p.Observe(1, &job.Request{}, time.Minute, noon.Time())
	}
	// e^(ln(1024)/10) is 2.
	if got := p.Observe(1, &job.Request{}, 1024*time.Minute, noon.Time())[0].Typical; got.Round(time.Second) != 2*time.Minute {
		t.Errorf("after a run of 1024 minutes among many of one: %s, want 2m", got)
	}
}

// The limit bounds what is expected, also below the shortest that is.
func TestExpectWithinTheLimit(t *testing.T) {
	p := NewPredictor(nil)
	for limit, want := range map[time.Duration]time.Duration{0: time.Hour, 2 * time.Hour: time.Hour, 10 * time.Minute: 10 * time.Minute, time.Second: time.Second} {
		if got := p.Expect(1, &job.Request{TimeLimit: job.Span(limit)}); got != want {
			t.Errorf("limit %s: %s, want %s", limit, got, want)
		}
	}
}

// What Observe returns, put on record and read again, makes a predictor that
// knows the same. Without shape and script there are three keys.
func TestPredictionsOnRecord(t *testing.T) {
	p := NewPredictor(nil)
	var known []job.Prediction
	for i, r := range []job.Request{{GPUMilli: 1000, Derived: job.Derived{Shape: "a", Script: "s"}}, {GPUMilli: 1000}, {GPUMilli: 500, Derived: job.Derived{Shape: "a"}}} {
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
		for _, r := range []job.Request{{}, {GPUMilli: 1000}, {GPUMilli: 500}, {GPUMilli: 1000, Derived: job.Derived{Shape: "a"}}, {Derived: job.Derived{Script: "s"}}} {
			if a, b := p.Expect(uid, &r), again.Expect(uid, &r); a != b {
				t.Errorf("user %d %+v: %s, after reading again %s", uid, r, a, b)
			}
		}
	}
}

// The kind that was first seen longest ago is forgotten when there are too many,
// and then the next, as often as it takes.
func TestPredictionsAreBounded(t *testing.T) {
	p := NewPredictor(nil)
	const n = 2*maxPredictions + 2
	for i := range n {
		p.put(strconv.Itoa(i), runHistory{time.Minute, 1})
	}
	for i := range n {
		if _, known := p.seen[strconv.Itoa(i)]; known != (i >= n-maxPredictions) {
			t.Fatalf("kind %d of %d is known: %t", i, n, known)
		}
	}
	if len(p.seen) != maxPredictions || len(p.ring) != maxPredictions {
		t.Errorf("%d kinds are remembered in %d places", len(p.seen), len(p.ring))
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
