package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// beliefs is what has been learned of run times, and where a look at all waiting jobs
// stands, which begins when something is learned.
type beliefs struct {
	*sched.Predictor
	left []job.ID // that have not been looked at, the last first
	of   uint64   // the generation of the predictor that they are looked at for

	memo   map[sched.Kind]*sched.Estimate
	memoOf uint64 // the generation that they are of
}

// maxMemo is how many estimates are kept for the next who asks.
const maxMemo = 1024

// estimate is what is believed of the run time of a kind.
func (p *planning) estimate(k sched.Kind) *sched.Estimate {
	b := &p.beliefs
	if g := b.Generation(); b.memoOf != g || len(b.memo) >= maxMemo {
		b.memo, b.memoOf = map[sched.Kind]*sched.Estimate{}, g
	}
	e := b.memo[k]
	if e == nil {
		fresh := b.Estimate(k)
		e = &fresh
		b.memo[k] = e
	}
	return e
}

// nextBelieved returns up to so many of the waiting jobs to look at.
func (p *planning) nextBelieved(most int) []job.ID {
	b := &p.beliefs
	if g := b.Generation(); len(b.left) == 0 && b.of != g {
		b.left, b.of = p.IDs(b.left), g
	}
	rest := max(0, len(b.left)-most)
	list := b.left[rest:]
	b.left = b.left[:rest]
	return list
}

// memory is how much GPU memory runs of a kind are known to take, 0: nothing is known.
func (p *planning) memory(k sched.Kind) int64 { return p.beliefs.Memory(k) }

// observeMemory learns of the GPU memory of an attempt, and returns what to record.
func (p *planning) observeMemory(k sched.Kind, peak int64, ended bool, now time.Time) *job.Prediction {
	return p.beliefs.ObserveMemory(k, peak, ended, now)
}

// most is the most that runs of a kind's command took, as far as that is on record.
func (p *planning) most(k sched.Kind) sched.Most { return p.beliefs.Most(k) }

// observeMost learns what an attempt took, and returns what to record.
func (p *planning) observeMost(k sched.Kind, took sched.Most, now time.Time) []job.Prediction {
	return p.beliefs.ObserveMost(k, took, now)
}

// observe learns of a run, and returns what to record.
func (p *planning) observe(k sched.Kind, ran time.Duration, ended bool, now time.Time) []job.Prediction {
	return p.beliefs.Observe(k, ran, ended, now)
}
