package sched

import (
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

// Predictor learns how long jobs run: for each of several keys, from the
// narrowest to the widest, the mean of the last two run times. It is never a
// reason to stop a job.
type Predictor struct {
	seen map[string]pair
	ring []string // keys in the order first seen
	next int
}

type pair struct{ last, previous time.Duration }

// NewPredictor returns one that knows what is on record, the oldest first.
func NewPredictor(known []job.Prediction) *Predictor {
	p := &Predictor{seen: map[string]pair{}}
	for _, k := range known {
		p.put(k.Key, pair{k.Last, k.Previous})
	}
	return p
}

// predictionKeys are tried in order.
func predictionKeys(uid int, r *job.Request) [5]string {
	user, size := strconv.Itoa(uid), strconv.Itoa(r.GPUMilli)
	keys := [5]string{2: user + " size " + size, 3: user, 4: "all"}
	if r.Shape != "" {
		keys[0] = user + " shape " + size + " " + r.Shape
	}
	if r.Script != "" {
		keys[1] = user + " script " + r.Script
	}
	return keys
}

// Expect predicts the run time of a user's job, at most its limit.
func (p *Predictor) Expect(uid int, r *job.Request) time.Duration {
	run := unknownRun
	for _, key := range predictionKeys(uid, r) {
		if known, ok := p.seen[key]; ok && key != "" {
			run = known.mean()
			break
		}
	}
	run = max(run, shortestRun)
	if r.TimeLimit > 0 {
		run = min(run, r.TimeLimit)
	}
	return run
}

func (p pair) mean() time.Duration {
	if p.previous == 0 {
		return p.last
	}
	return (p.last + p.previous) / 2
}

// Observe learns from a job that ended by itself and returns what to record.
func (p *Predictor) Observe(uid int, r *job.Request, run time.Duration, now time.Time) []job.Prediction {
	var out []job.Prediction
	run = max(run, time.Second)
	for _, key := range predictionKeys(uid, r) {
		if key == "" {
			continue
		}
		v := pair{last: run, previous: p.seen[key].last}
		p.put(key, v)
		out = append(out, job.Prediction{Key: key, Last: v.last, Previous: v.previous, At: now})
	}
	return out
}

// put remembers a pair; the kind first seen longest ago is forgotten for it
// where there is no more room.
func (p *Predictor) put(key string, v pair) {
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
