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
	ahead      foresights
	snap       sched.Snapshot // of the last pass; its memory is used again
	replanTime time.Time      // when to plan again though nothing happens
}

func newPlanning(past []job.Prediction) planning {
	known := beliefs{Predictor: sched.NewPredictor(past)}
	return planning{Queue: sched.NewQueue(), Planner: sched.NewPlanner(), beliefs: known}
}

// blank is a snapshot to fill in, with the memory of the last one.
func (p *planning) blank() *sched.Snapshot {
	p.snap.GPUs, p.snap.Running = p.snap.GPUs[:0], p.snap.Running[:0]
	return &p.snap
}

// replanAt is when to plan again though nothing happens; zero: not.
func (p *planning) replanAt() time.Time { return p.replanTime }

func (p *planning) setReplanAt(at time.Time) { p.replanTime = at }

// replanBy has it be planned again by then at the latest.
func (p *planning) replanBy(at time.Time) {
	if p.replanTime.IsZero() || at.Before(p.replanTime) {
		p.replanTime = at
	}
}
