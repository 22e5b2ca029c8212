package core

import (
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check verifies invariants 1 to 4 of the package and returns every breach.
// Tests call it after each step.
func (c *Core) Check() error {
	var p job.Problems
	breach := func(format string, args ...any) { p = append(p, fmt.Sprintf(format, args...)) }
	queued, holders := 0, map[string]job.ID{}
	for id, l := range c.jobs {
		j := &l.job
		if j.ID != id || !j.State.Valid() || j.State.Terminal() {
			breach("job %d is kept as %d in state %s", id, j.ID, j.State)
		}
		if j.State == job.Queued {
			queued++
			if l.busy != idle || (j.Attempt != nil && j.Attempt.EndedAt.IsZero()) {
				breach("job %d is queued with an open attempt or action", id)
			}
			continue
		}
		if j.Attempt == nil || !j.Attempt.EndedAt.IsZero() {
			breach("job %d is %s without an open attempt", id, j.State)
			continue
		}
		if len(j.Attempt.GPUs) != j.Request.GPUMilli/job.WholeGPU {
			breach("job %d holds %d GPUs and asked %d milli", id, len(j.Attempt.GPUs), j.Request.GPUMilli)
		}
		for _, r := range j.Attempt.GPUs {
			if other, taken := holders[r.UUID]; taken {
				breach("GPU %s is held by jobs %d and %d", r.UUID, other, id)
			}
			holders[r.UUID] = id
		}
	}
	if queued != len(c.queue) || !slices.IsSortedFunc(c.queue, before) {
		breach("the queue has %d entries for %d queued jobs, or is out of order", len(c.queue), queued)
	}
	return p.Err()
}
