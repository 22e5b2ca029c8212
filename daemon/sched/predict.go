package sched

import (
	"math"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The bounds of a prediction, and what is expected of a job of which nothing
// is known.
const (
	shortestRun = 30 * time.Second
	unknownRun  = time.Hour
)

// maxPredictions bounds how many kinds of job are remembered.
const maxPredictions = 100_000

// maxWeight is how many runs of one kind count: a later one weighs at least one in
// so many.
const maxWeight = 10

// Predictor learns how long jobs run: for each of several keys, from the
// narrowest to the widest, a geometric mean, since run times spread over many
// orders of magnitude and a mean would follow the longest. It is never a reason
// to stop a job.
type Predictor struct {
	seen map[string]runHistory
	ring []string // keys in the order first seen
	next int
}

// runHistory is what is known of the runs of one kind.
type runHistory struct {
	typical time.Duration
	runs    int
}

// NewPredictor returns one that knows what is on record, the oldest first.
func NewPredictor(known []job.Prediction) *Predictor {
	p := &Predictor{seen: map[string]runHistory{}}
	for _, k := range known {
		p.put(k.Key, runHistory{max(k.Typical, time.Second), max(k.Runs, 1)})
	}
	return p
}

// keys name what a job has in common with others, the widest first; "" where it
// says nothing of it.
type keys [5]string

// priorWeight is for how many runs of a key what the wider keys say counts: the same
// command runs for much the same time again, a user's jobs do not.
var priorWeight = [len(keys{})]float64{1, 10, 10, 1, 1}

func predictionKeys(uid int, r *job.Request) keys {
	user, size := strconv.Itoa(uid), strconv.Itoa(r.GPUMilli)
	k := keys{"all", user, user + " size " + size}
	if r.Script != "" {
		k[3] = user + " script " + r.Script
	}
	if r.Shape != "" {
		k[4] = user + " shape " + size + " " + r.Shape
	}
	return k
}

// Expect predicts the run time of a user's job, at most its limit: what the
// widest key says, drawn towards each narrower one the more runs it has seen.
func (p *Predictor) Expect(uid int, r *job.Request) time.Duration {
	run := unknownRun
	for i, key := range predictionKeys(uid, r) {
		if known, ok := p.seen[key]; ok && key != "" {
			run = between(run, known.typical, float64(known.runs)/(float64(known.runs)+priorWeight[i]))
		}
	}
	run = max(run, shortestRun)
	if r.TimeLimit > 0 {
		run = min(run, r.TimeLimit.Duration())
	}
	return run
}

// between is the weighted geometric mean of two durations, a at weight 0 and b
// at 1, in whole milliseconds.
func between(a, b time.Duration, weight float64) time.Duration {
	mean := float64(a) * math.Pow(float64(b)/float64(a), weight)
	return time.Duration(mean).Round(time.Millisecond)
}

// Observe learns from a job that ended by itself and returns what to record.
func (p *Predictor) Observe(uid int, r *job.Request, run time.Duration, now time.Time) []job.Prediction {
	var out []job.Prediction
	run = max(run, time.Second)
	for _, key := range predictionKeys(uid, r) {
		if key == "" {
			continue
		}
		v := runHistory{run, 1}
		if known, ok := p.seen[key]; ok {
			v.runs = min(known.runs+1, maxRuns)
			v.typical = between(known.typical, run, max(1.0/maxWeight, 1/float64(v.runs)))
		}
		p.put(key, v)
		out = append(out, job.Prediction{Key: key, Typical: v.typical, Runs: v.runs, At: now})
	}
	return out
}

// maxRuns is up to where runs are counted: more of them change nothing.
const maxRuns = 1000

// put remembers a kind; the one first seen longest ago is forgotten for it where
// there is no more room.
func (p *Predictor) put(key string, v runHistory) {
	if _, known := p.seen[key]; !known {
		if len(p.ring) < maxPredictions {
			p.ring = append(p.ring, key)
		} else {
			delete(p.seen, p.ring[p.next])
			p.ring[p.next] = key
			p.next = (p.next + 1) % maxPredictions
		}
	}
	p.seen[key] = v
}
