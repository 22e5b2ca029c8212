package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// planning is the queue of jobs that may start as soon as they fit, and what
// decides in which order and where they do.
type planning struct {
	*sched.Queue
	*sched.Planner
	beliefs    beliefs
	candid     map[int]*candour // by user
	candidAll  candour
	ahead      foresights
	snap       sched.Snapshot // of the last pass; its memory is used again
	replanTime time.Time      // when to plan again though nothing happens
	passes     uint64         // made so far
}

func newPlanning(past []job.Prediction) planning {
	known := beliefs{Predictor: sched.NewPredictor(past)}
	return planning{Queue: sched.NewQueue(), Planner: sched.NewPlanner(), beliefs: known, candid: map[int]*candour{}}
}

// blank is a snapshot to fill in, with the memory of the last one.
func (p *planning) blank() *sched.Snapshot {
	p.snap.GPUs, p.snap.Running = p.snap.GPUs[:0], p.snap.Running[:0]
	return &p.snap
}

// Passes is how often the queue has been planned.
func (c *Core) Passes() uint64 { return c.planning.passesMade() }

func (p *planning) countPass()         { p.passes++ }
func (p *planning) passesMade() uint64 { return p.passes }

// replanAt is when to plan again though nothing happens; zero: not.
func (p *planning) replanAt() time.Time { return p.replanTime }

func (p *planning) setReplanAt(at time.Time) { p.replanTime = at }

// replanBy has it be planned again by then at the latest.
func (p *planning) replanBy(at time.Time) {
	if p.replanTime.IsZero() || at.Before(p.replanTime) {
		p.replanTime = at
	}
}

// ran takes in how long an attempt ran that is over, of which so much was expected.
func (p *planning) ran(run, expected time.Duration, l *trackedJob) {
	milli := l.job.Request.GPUMilli
	if milli == 0 {
		return
	}
	u := p.candid[l.account.UID]
	if u == nil {
		u = &candour{}
		p.candid[l.account.UID] = u
	}
	u.observe(run, expected, milli)
	p.candidAll.observe(run, expected, milli)
}

// corrected is what to expect of a waiting job of a user, see candour.
func (p *planning) corrected(expected time.Duration, uid int) time.Duration {
	return p.candid[uid].correct(expected, &p.candidAll)
}
