package predict

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The bounds of a prediction. If nothing is known, a job is predicted to run for anything between
// minutes and a day.
const (
	shortestRun   = 30 * time.Second
	unknownRun    = time.Hour
	unknownSpread = 2
)

// priorRuns is the number of runs as which the wider keys count when the spread and the shape of a
// narrower key are computed.
const priorRuns = 2

// These constants limit how many runs of one kind count. In the mean, the weight of a new run is at
// least 1/meanRuns, so all runs together count as at most 2·meanRuns - 1 runs. In the shape of the
// distribution, the weight of a new run is at least 1/formRuns.
const (
	meanRuns = 10
	formRuns = 30
)

// boundWeight is the weight of a job that was stopped, if a run that ended has weight 1. The
// stopped job counts as a run of the length that was expected when it was stopped.
const boundWeight = 0.1

// Kind identifies jobs that are expected to run alike. The zero value identifies no jobs.
type Kind struct {
	UID    int
	Milli  int
	Script string // hash of the program; "": unknown
	Shape  string // hash of the command; "": unknown
}

// KindOf returns the kind of a user's job.
func KindOf(uid int, r *job.Request) Kind {
	return Kind{UID: uid, Milli: r.GPUMilli, Script: r.Script, Shape: r.Shape}
}

// Predictor learns how long jobs run, see the package comment.
type Predictor struct {
	generation uint64 // grows when something is learned
	users      map[int]*userHistory
	keys       int // the number of keys of all users

	common   moments // the mean and spread of all users' jobs
	commonOf uint64  // the value of the field generation when the field common was computed

	lognormals map[medianSpread]lengths // a cache, see lognormal
}

// medianSpread identifies a lognormal distribution. Kinds without runs share a few such
// distributions.
type medianSpread struct {
	median time.Duration
	spread float64
}

// maxLognormals is the size of the cache of lognormal distributions. It is larger than the number
// of users, so that no distribution is computed twice.
const maxLognormals = 256

// lognormal returns the shape that Lognormal computes, from a cache if possible. It is expensive to
// compute a shape, and when the scheduler starts, each kind of job in a long queue needs one.
func (p *Predictor) lognormal(e *Estimate) lengths {
	k := medianSpread{e.Median, e.Spread}
	forms, known := p.lognormals[k]
	if !known {
		if len(p.lognormals) >= maxLognormals || p.lognormals == nil {
			p.lognormals = map[medianSpread]lengths{}
		}
		forms = Lognormal(e.Median, e.Spread).forms
		p.lognormals[k] = forms
	}
	return forms
}

// moments is a mean and a spread of logarithms of nanoseconds, with the number of runs as which
// they count.
type moments struct{ mean, spread, weight float64 }

// NewPredictor returns a Predictor that knows the given records. The oldest record must come first.
func NewPredictor(known []job.Prediction) *Predictor {
	p := &Predictor{generation: 1, users: map[int]*userHistory{}}
	for i := range known {
		if uid, key, ok := parseKey(known[i].Key); ok {
			p.userOf(uid).touch(p, key).restore(&known[i])
		}
	}
	return p
}

// Generation returns a number that changes whenever something is learned.
func (p *Predictor) Generation() uint64 { return p.generation }

// levelVariances say how much the mean of a narrower key varies around the mean of the wider key,
// as variances of logarithms. Runs of the same command take similar times. Other jobs of a user do
// not.
var levelVariances = [levels]float64{1, 0.5, 1, 4}

// commonVariance says how much the mean of all users' jobs varies around unknownRun, as a variance
// of logarithms.
const commonVariance = 100

// programLevel is the first level at which jobs count as alike: they have the same program. Run
// times of a user's other programs help to decide which jobs to try first, but not to predict when
// a job ends.
const programLevel = 2

// Estimate predicts the run time of jobs of a kind. It ignores time limits.
func (p *Predictor) Estimate(k Kind) Estimate {
	p.updateCommon()
	b := moments{math.Log(float64(unknownRun)), unknownSpread, 0}
	b.moveTowards(p.common, commonVariance)
	u, ended, like := p.users[k.UID], 0, false
	for level := range levels {
		if h, ok := u.historyAt(k, level); ok {
			ended, like = 0, like && level > programLevel
			if h != nil {
				b.moveTowards(h.moments(), levelVariances[level])
				ended = h.runs
				like = like || h.runs > 0
			}
		}
	}
	median := time.Duration(math.Exp(b.mean)).Round(time.Millisecond)
	e := Estimate{Median: max(median, shortestRun), Spread: b.spread, Ended: ended, Known: like}
	e.forms, e.trials = p.lognormal(&e), logUniform
	for level := range levels {
		if h, _ := u.historyAt(k, level); h != nil {
			runs := min(float64(h.runs), formRuns)
			e.forms.mix(&h.forms, runs)
			e.trials.mix(&h.forms, runs)
		}
	}
	return e
}

// moveTowards moves b, the moments of a wider key, towards those of a narrower key. The more runs
// the narrower key has, the further b moves. The argument variance says how much the means of such
// narrower keys vary around the mean of b. The more they vary, the further the mean of b moves.
func (b *moments) moveTowards(narrow moments, variance float64) {
	if narrow.weight <= 0 {
		return
	}
	own := (priorRuns*b.spread*b.spread + narrow.weight*narrow.spread*narrow.spread) / (priorRuns + narrow.weight)
	b.mean += narrow.weight / (narrow.weight + own/variance) * (narrow.mean - b.mean)
	b.spread = math.Sqrt(own)
}

// runsPerUser is the number of runs as which each user counts in the mean and spread of all users'
// jobs.
const runsPerUser = 5

// updateCommon computes the mean and spread of all users' jobs. All jobs of one user together count
// as one value. The sums are in whole millionths, so that the result does not depend on the order
// of the users.
func (p *Predictor) updateCommon() {
	if p.commonOf == p.generation {
		return
	}
	p.commonOf, p.common = p.generation, moments{}
	var n, sum, squares int64
	for _, u := range p.users {
		if h, _ := u.historyAt(Kind{}, 0); h != nil {
			b := h.moments()
			n++
			sum += int64(b.mean * 1e6)
			squares += int64((b.mean*b.mean + b.spread*b.spread) * 1e6)
		}
	}
	if n == 0 {
		return
	}
	mean := float64(sum) / float64(n) / 1e6
	spread := math.Sqrt(max(0, float64(squares)/float64(n)/1e6-mean*mean))
	p.common = moments{mean, spread, min(runsPerUser*float64(n), 2*meanRuns-1)}
}

// Observe learns from a job's run time, and returns the records to store. If finished is false, the
// job was stopped before its end. Its full run time would have been longer.
func (p *Predictor) Observe(k Kind, run time.Duration, finished bool, now time.Time) []job.Prediction {
	var out []job.Prediction
	run = min(max(run, time.Second), longestRun)
	if !finished {
		e := p.Estimate(k)
		run = e.Total(run)
	}
	u := p.userOf(k.UID)
	for level := range levels {
		if key, ok := k.key(level); ok {
			h := u.touch(p, key)
			h.learn(run, finished)
			out = append(out, h.record(key.record(k.UID), now))
		}
	}
	p.generation++
	return out
}
