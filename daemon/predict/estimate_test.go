package predict

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

const (
	minute = time.Minute
	gib    = int64(1) << 30
)

// noon is the time at which everything in these tests is learned.
var noon = time.Unix(1_700_000_000, 0)

// Total is the median of the runs that are longer than the job has run already. Four in five of
// these runs take at most Late. If the run time is certain, Total and Late both equal it.
func TestTotal(t *testing.T) {
	e := Estimate{Median: time.Hour, Spread: 1}
	rng := rand.New(rand.NewPCG(1, 1))
	for _, ran := range []time.Duration{0, 10 * time.Minute, time.Hour, 3 * time.Hour} {
		longer, above, late := 0, 0, 0
		for range 100_000 {
			run := time.Duration(float64(time.Hour) * math.Exp(rng.NormFloat64()))
			if run <= ran {
				continue
			}
			longer++
			if run > e.Total(ran) {
				above++
			}
			if run > e.Late(ran) {
				late++
			}
		}
		if part := float64(above) / float64(longer); math.Abs(part-0.5) > 0.02 {
			t.Errorf("after %s: %.3f of the runs take longer than %s", ran, part, e.Total(ran))
		}
		if part := float64(late) / float64(longer); math.Abs(part-LateTail) > 0.02 {
			t.Errorf("after %s: %.3f of the runs take longer than %s, and one in five should", ran, part, e.Late(ran))
		}
	}
	for _, c := range []Estimate{{Median: time.Minute}, {Median: time.Minute, Spread: 0.01}, {Median: time.Minute, Spread: 3}} {
		for ran := time.Duration(0); ran < 1000*time.Hour; ran = 2*ran + time.Second {
			if got, late := c.Total(ran), c.Late(ran); got <= ran || late < got {
				t.Errorf("%+v after %s: %s, late %s", c.Median, ran, got, late)
			}
		}
	}
}

// kindOf returns the estimate of a kind after the given number of drawn runs.
func kindOf(runs int, draw func(*rand.Rand) time.Duration) Estimate {
	p, k, rng := NewPredictor(nil), Kind{UID: 1, Milli: 1000, Shape: "a"}, rand.New(rand.NewPCG(1, 2))
	for range runs {
		p.Observe(k, draw(rng), true, noon)
	}
	return p.Estimate(k)
}

// If run times are alike, a job that has run takes less effort than a new job, and the longer it
// has run, the less effort it takes. If run times have a heavy tail, a job that has run takes more
// effort. If jobs take either minutes or half a day, a job that has run for more than minutes takes
// more effort than a new job.
func TestEffort(t *testing.T) {
	const slice = 30 * time.Minute
	alike := kindOf(100, func(r *rand.Rand) time.Duration { return time.Duration(1+r.IntN(180))*time.Minute + time.Hour })
	heavy := kindOf(100, func(r *rand.Rand) time.Duration {
		return time.Duration(float64(10*time.Minute) * math.Exp(2.5*r.NormFloat64()))
	})
	two := kindOf(100, func(r *rand.Rand) time.Duration { return []time.Duration{5 * time.Minute, 10 * time.Hour}[r.IntN(2)] })
	for _, c := range []struct {
		name    string
		of      Estimate
		ran     time.Duration
		yields  bool
		unknown bool
	}{
		{"alike, an hour", alike, time.Hour, false, false}, {"alike, two", alike, 2 * time.Hour, false, false},
		{"alike, three and a half", alike, 210 * time.Minute, false, false},
		{"heavy, an hour", heavy, time.Hour, true, false}, {"heavy, ten", heavy, 10 * time.Hour, true, false},
		{"two, half an hour", two, slice, true, false}, {"two, six", two, 6 * time.Hour, true, false},
	} {
		if runs, waits := c.of.Effort(c.ran, slice), c.of.Effort(0, slice); (runs > waits) != c.yields {
			t.Errorf("%s: the effort is %s, of a new one %s", c.name, runs, waits)
		}
	}
	known := Estimate{Median: time.Hour}
	if got := known.Effort(45*time.Minute, slice); got != 15*time.Minute {
		t.Errorf("of an hour that is known 45m are over: the effort is %s", got)
	}
}
