package predict

import (
	"math"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// The bounds of a prediction, and what is expected of a job of which nothing
// is known: anything between minutes and a day.
const (
	shortestRun   = 30 * time.Second
	unknownRun    = time.Hour
	unknownSpread = 2
)

// priorRuns is for how many runs counts what the wider keys say of the spread and of the form.
const priorRuns = 2

// How many runs of one kind count: in the mean a later one weighs at least one in
// meanRuns, so that they count as 2·meanRuns - 1, and in the form one in formRuns.
const (
	meanRuns = 10
	formRuns = 30
)

// boundWeight is what part of a run's weight a job has that is known to run at
// least so long: it counts as one of the length that is then to be expected.
const boundWeight = 0.1

// Kind is what jobs have in common that are expected to run alike. The zero value is
// none.
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

// Predictor learns how long jobs run: for each of several keys, from the
// widest to the narrowest, the mean and the spread of the logarithm, since run times
// spread over many orders of magnitude. In what all users share each has one
// voice. It is never a reason to stop a job.
type Predictor struct {
	generation uint64 // grows when something is learned
	users      map[int]*userHistory
	keys       int // of all users

	common   belief // of all users
	commonOf uint64 // the generation of which it is

	bells map[bell]lengths // the last that were computed
}

// bell is a lognormal distribution, of which the kinds that have not run have few.
type bell struct {
	median time.Duration
	spread float64
}

// maxBells is how many are remembered: with as many as users and some more nothing is computed twice.
const maxBells = 256

// lognormal is Estimate.lognormal, which is dear: of a long queue at the start of the scheduler each
// kind asks for one.
func (p *Predictor) lognormal(e *Estimate) lengths {
	k := bell{e.Median, e.Spread}
	forms, known := p.bells[k]
	if !known {
		if len(p.bells) >= maxBells || p.bells == nil {
			p.bells = map[bell]lengths{}
		}
		forms = e.lognormal()
		p.bells[k] = forms
	}
	return forms
}

// belief is a mean and a spread of logarithms of nanoseconds, that so many runs tell.
type belief struct{ mean, spread, weight float64 }

// NewPredictor returns one that knows what is on record, the oldest first.
func NewPredictor(known []job.Prediction) *Predictor {
	p := &Predictor{generation: 1, users: map[int]*userHistory{}}
	for i := range known {
		if uid, key, ok := parseKey(known[i].Key); ok {
			p.of(uid).touch(p, key).restore(&known[i])
		}
	}
	return p
}

// Generation changes whenever something was learned.
func (p *Predictor) Generation() uint64 { return p.generation }

// spreads are how far the means of narrower keys lie from those of the wider one, as variances of
// logarithms: the same command runs for much the same time again, a user's jobs do not.
var spreads = [levels]float64{1, 0.5, 1, 4}

// commonSpread is the same for what is believed of all users, and what is known of nothing.
const commonSpread = 100

// likeLevel is from where a key says that jobs are like each other: the program is the same. What
// else a user runs, or other users do, tells in what order to try things, but not when one ends.
const likeLevel = 2

// Estimate predicts the run time of jobs of a kind, without regard to limits: what all
// users' jobs say, drawn towards each narrower key the more runs it has seen.
func (p *Predictor) Estimate(k Kind) Estimate {
	p.agree()
	b := belief{math.Log(float64(unknownRun)), unknownSpread, 0}
	b.draw(p.common, commonSpread)
	u, ended, like := p.users[k.UID], 0, false
	for level := range levels {
		if h, ok := u.at(k, level); ok {
			ended, like = 0, like && level > likeLevel
			if h != nil {
				b.draw(h.belief(), spreads[level])
				ended = h.runs
				like = like || h.runs > 0
			}
		}
	}
	median := time.Duration(math.Exp(b.mean)).Round(time.Millisecond)
	e := Estimate{Median: max(median, shortestRun), Spread: b.spread, Ended: ended, Known: like}
	e.forms, e.trials = p.lognormal(&e), evenly
	for level := range levels {
		if h, _ := u.at(k, level); h != nil {
			runs := min(float64(h.runs), formRuns)
			e.forms.mix(&h.forms, runs)
			e.trials.mix(&h.forms, runs)
		}
	}
	return e
}

// draw moves a belief towards a narrower one, whose means lie so far from it.
func (b *belief) draw(narrow belief, variance float64) {
	if narrow.weight <= 0 {
		return
	}
	own := (priorRuns*b.spread*b.spread + narrow.weight*narrow.spread*narrow.spread) / (priorRuns + narrow.weight)
	b.mean += narrow.weight / (narrow.weight + own/variance) * (narrow.mean - b.mean)
	b.spread = math.Sqrt(own)
}

// voiceRuns is how many runs a user's voice counts for in what all users say.
const voiceRuns = 5

// agree finds what all users' jobs say, each user's together being one voice. It adds in whole
// millionths, so that the order does not matter.
func (p *Predictor) agree() {
	if p.commonOf == p.generation {
		return
	}
	p.commonOf, p.common = p.generation, belief{}
	var n, sum, squares int64
	for _, u := range p.users {
		if h, _ := u.at(Kind{}, 0); h != nil {
			b := h.belief()
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
	p.common = belief{mean, spread, min(voiceRuns*float64(n), 2*meanRuns-1)}
}

// Observe learns from a job that ran so long, to its end or, where it did not come to
// its end, at least so long, and returns what to record.
func (p *Predictor) Observe(k Kind, run time.Duration, ended bool, now time.Time) []job.Prediction {
	var out []job.Prediction
	run = min(max(run, time.Second), longestRun)
	if !ended {
		e := p.Estimate(k)
		run = e.Total(run)
	}
	u := p.of(k.UID)
	for level := range levels {
		if key, ok := k.key(level); ok {
			h := u.touch(p, key)
			h.learn(run, ended)
			out = append(out, h.record(key.record(k.UID), now))
		}
	}
	p.generation++
	return out
}
