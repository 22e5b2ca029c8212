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
	stale      []job.ID // waiting jobs of which is to be looked at what is expected of them now, the last first
	staleFor   uint64   // the generation of the estimates that they are looked at for
	ahead      foresights
	snap       sched.Snapshot // of the last pass; its memory is used again
	replanTime time.Time      // when to plan again though nothing happens
	passes     uint64         // made so far
}

func newPlanning() planning { return planning{Queue: sched.NewQueue(), Planner: sched.NewPlanner()} }

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

// replanBy has it be planned again by then at the latest; zero: not for that.
func (p *planning) replanBy(at time.Time) { p.replanTime = job.Earlier(p.replanTime, at) }

// nextStale returns up to so many of the waiting jobs to look at again, which all are when something
// is learned of run times.
func (p *planning) nextStale(most int, generation uint64) []job.ID {
	if len(p.stale) == 0 && p.staleFor != generation {
		p.stale, p.staleFor = p.IDs(p.stale), generation
	}
	rest := max(0, len(p.stale)-most)
	list := p.stale[rest:]
	p.stale = p.stale[:rest]
	return list
}
