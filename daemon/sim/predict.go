package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Prediction says from which source the scheduler knows run times.
type Prediction string

const (
	Learned   Prediction = "learned"    // the run time that the core learns from ended jobs
	UserLimit Prediction = "user-limit" // the time limit, as people set it
	Oracle    Prediction = "oracle"     // the real run time
	Noisy     Prediction = "noisy"      // the real run time multiplied by a lognormal factor with sigma 1
)

// ParsePrediction parses the name of a prediction.
func ParsePrediction(s string) (Prediction, error) {
	all := []string{string(Learned), string(UserLimit), string(Oracle), string(Noisy)}
	if !slices.Contains(all, s) {
		return "", fmt.Errorf("there is no prediction %q: choose among %s", s, strings.Join(all, ", "))
	}
	return Prediction(s), nil
}

// The requested time divided by the real time is lognormal. The median and the 90th percentile (6.9
// and 240) come from a public trace with requested times. As on most sites, the requested time has
// an upper limit.
const (
	limitMedian = 6.9
	limitSigma  = 2.77
	limitMax    = 2 * day
)

// userLimit draws the time limit that a person sets for a job.
func userLimit(run time.Duration, rng *rand.Rand) time.Duration {
	factor := max(1, limitMedian*math.Exp(limitSigma*rng.NormFloat64()))
	limit := time.Duration(min(float64(run)*factor, float64(max(run, limitMax))))
	return limit.Round(time.Second) + time.Second
}

// drawPredictions draws a prediction for each job. If it returns nil, the core makes the
// predictions itself.
func drawPredictions(p Prediction, jobs []Job, seed uint64) []time.Duration {
	if p == Learned || p == "" {
		return nil
	}
	rng := random(seed, streamPrediction)
	told := make([]time.Duration, len(jobs))
	for i := range jobs {
		told[i] = jobs[i].Run
		switch p {
		case UserLimit:
			told[i] = userLimit(told[i], rng)
		case Noisy:
			told[i] = time.Duration(float64(told[i]) * math.Exp(rng.NormFloat64()))
		}
	}
	return told
}

// predictor returns the function that gives the core its predictions. Jobs have ids from 1 on, in
// the order of submission. Other ids have no prediction.
func predictor(told []time.Duration) func(job.ID) time.Duration {
	return func(id job.ID) time.Duration {
		if id < 1 || int(id) > len(told) {
			return 0
		}
		return told[id-1]
	}
}
