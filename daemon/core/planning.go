package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// planning is the queue of jobs that may start as soon as they fit, and what
// decides in which order and where they do.
type planning struct {
	planner    *sched.Planner
	queue      *sched.Queue
	snap       sched.Snapshot // of the last pass; its memory is used again
	grants     []sched.Grant  // of its running jobs
	replanTime time.Time      // when to plan again though nothing happens
	predictor  *sched.Predictor
}

func newPlanning(past []job.Prediction) planning {
	return planning{planner: sched.NewPlanner(), queue: sched.NewQueue(), predictor: sched.NewPredictor(past)}
}

// blank is a snapshot to fill in, with the memory of the last one.
func (p *planning) blank() *sched.Snapshot {
	s := &p.snap
	s.GPUs, s.Running, p.grants = s.GPUs[:0], s.Running[:0], p.grants[:0]
	return s
}

// grant keeps what a running job has of a GPU in the snapshot's memory.
func (p *planning) grant(g sched.Grant) { p.grants = append(p.grants, g) }

// granted is how many grants there are, grantedSince those after so many.
func (p *planning) granted() int { return len(p.grants) }

func (p *planning) grantedSince(first int) []sched.Grant {
	return p.grants[first:len(p.grants):len(p.grants)]
}

// The queue.
func (p *planning) push(w sched.Waiting) { p.queue.Push(w) }
func (p *planning) remove(id job.ID)     { p.queue.Remove(id) }
func (p *planning) take(id job.ID)       { p.queue.Take(id) }
func (p *planning) has(id job.ID) bool   { return p.queue.Has(id) }
func (p *planning) waiting() int         { return p.queue.Len() }

// What the planner says of the queue.
func (p *planning) plan(s *sched.Snapshot) *sched.Plan { return p.planner.Plan(s, p.queue) }

func (p *planning) forecast(s *sched.Snapshot) map[job.ID]sched.Instant {
	return p.planner.Forecast(s, p.queue)
}

func (p *planning) foretold(s *sched.Snapshot, id job.ID) bool {
	return p.planner.InForecast(s, p.queue, id)
}

func (p *planning) arrange(s *sched.Snapshot, ids []job.ID) []job.ID {
	return p.planner.Arrange(s, p.queue, ids)
}

func (p *planning) ordered(s *sched.Snapshot, most int) []job.ID {
	return p.planner.Ordered(s, p.queue, most)
}

func (p *planning) isPlaced(id job.ID) bool               { return p.planner.Placed(id) }
func (p *planning) explain(w *sched.Waiting) []job.Reason { return p.planner.Explain(w) }

// The time at which to plan again.
func (p *planning) replanAt() time.Time      { return p.replanTime }
func (p *planning) setReplanAt(at time.Time) { p.replanTime = at }

// Run times.
func (p *planning) expect(uid int, r *job.Request) time.Duration { return p.predictor.Expect(uid, r) }

func (p *planning) observe(uid int, r *job.Request, ran time.Duration, now time.Time) []job.Prediction {
	return p.predictor.Observe(uid, r, ran, now)
}
